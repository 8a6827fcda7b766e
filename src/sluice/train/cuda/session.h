// sluice/train/cuda/session.h - one opened device with the plan's one allocation; errors as Status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/cuda/choices.h"
#include "sluice/train/cuda/lowering.h"
#include "sluice/train/cuda/table.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {
class Communicator;
}

namespace sluice::train::cuda {

/// A captured sequence; it must not outlive its session.
class SessionGraph {
 public:
  SessionGraph(const Table& table, Device* device, Graph* graph)
      : table_(table), device_(device), graph_(graph) {}
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;
  ~SessionGraph() { table_.drop_graph(device_, graph_); }
  [[nodiscard]] Graph* get() const { return graph_; }

 private:
  const Table& table_;
  Device* device_;
  Graph* graph_;
};

class Session {
 public:
  /// Usage errors: device_facts()', KeptChoices::offer()'s, and memory that is not there. 0: what
  /// is needed is allocated.
  static Result<Session> open(int index, std::size_t plan_bytes);
  /// The first two of them, and nothing is opened.
  static Status check_choices(int index);
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  [[nodiscard]] std::byte* memory() const { return static_cast<std::byte*>(plan_); }
  [[nodiscard]] std::size_t bytes() const;  // plan, lists, workspaces
  /// A list that kernels read, kept until the session ends.
  template <class T>
  Result<T*> keep(std::span<const T> values) {
    SLUICE_TRY(void* memory, kept_copy(std::as_bytes(values)));
    return static_cast<T*>(memory);
  }

  /// Given back when the session ends, or before that; null: nothing is.
  Result<void*> allocate(std::size_t bytes);
  void give_back(void* memory);
  Status upload(void* to, std::span<const std::byte> from);
  /// Waits; a device that does not answer for minutes is Errc::measurement.
  Status download(std::span<std::byte> to, const void* from) const;
  Status copy(void* to, const void* from, std::size_t bytes);  // within the device
  /// Functions of the table.
  Status send(void* to, std::span<const std::byte> from, int after, int begun, int sent);
  Status await(int event);
  Status await_other(void* event);
  [[nodiscard]] void* event(int event) const;
  Result<bool> reached(int event, double limit_seconds);
  /// `what`: the op's name, for errors and as an NVTX range (of the capture, where one is made).
  Status issue(const Call& call, const char* what);
  Result<std::unique_ptr<SessionGraph>> capture(const std::function<Status()>& issue_all);
  Status run(const SessionGraph& graph);
  Status record(int event);
  /// Nanoseconds between two that were recorded; after synchronize().
  [[nodiscard]] Result<double> elapsed(int from, int to) const;
  [[nodiscard]] Status synchronize() const;

  /// As one rank of several, which all call it; they wait for each other no longer than `world`
  /// does. `library`: of rank 0, what adds up, "NCCL 2.28.9". Errc::unsupported: there is no NCCL.
  Status join_world(Communicator& world, std::string& library);
  /// The table's.
  Status start_sum(std::span<float> values, int begun);
  Status finish_sums(int done);
  void abandon_world(double limit_s);

 private:
  Session(const Table* table, Device* device) : table_(table), device_(device) {}
  Result<void*> kept_copy(std::span<const std::byte> bytes);
  Result<std::string> world_key(std::string& library);
  [[nodiscard]] Status status(int code, std::string_view what) const;

  const Table* table_;
  Device* device_;
  KeptChoices choices_{};
  void* plan_ = nullptr;
  std::size_t allocated_ = 0;
  double patience_s_ = 120;  // with a device that does not answer: a kernel hangs
  struct Kept {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Kept> kept_;
};

}  // namespace sluice::train::cuda
