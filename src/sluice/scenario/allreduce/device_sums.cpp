// sluice/scenario/allreduce/device_sums.cpp - sums on a GPU, issued to its stream one behind the
// other.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/clock.h"
#include "sluice/scenario/allreduce/rank_sums.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/session.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice::scenario {
namespace {

constexpr int kSumsDone = 0, kSumUntimed = -1;  // events
/// Sums that are issued before they are waited for: a stream that is full waits for a rank that
/// does not come without a limit.
constexpr int kMostIssued = 100;
constexpr double kAbandonSums_s = 10;  // for NCCL to end what waits for a rank that failed

class DeviceSums final : public RankSums {
 public:
  DeviceSums(train::World& world, train::cuda::Session session)
      : world_(world), session_(std::move(session)) {}
  ~DeviceSums() override {
    if (world_.failed()) abandon();
  }

  Status join(std::int64_t bytes) {
    SLUICE_TRY(void* memory, session_.allocate(static_cast<std::size_t>(bytes)));
    memory_ = static_cast<float*>(memory);
    return session_.join_world(world_, library_);
  }

  [[nodiscard]] std::string library() const override { return library_; }
  Status take(std::span<float> values) override {
    values_ = values;
    return checked(session_.upload(memory_, std::as_bytes(values)));
  }
  Status add_up(int times) override {
    for (int left = times; left > 0; left -= kMostIssued)
      SLUICE_CHECK(checked(add_up_at_once(std::min(left, kMostIssued))));
    return ok;
  }
  Status give_back() override {
    return checked(session_.download(std::as_writable_bytes(values_), memory_));
  }

 private:
  Status add_up_at_once(int times) {
    for (int i = 0; i < times; ++i)
      SLUICE_CHECK(session_.start_sum(std::span(memory_, values_.size()), kSumUntimed));
    SLUICE_CHECK(session_.finish_sums(kSumsDone));
    SLUICE_CHECK(world_.arrive());
    return wait();
  }

  /// Asks without sleeping, which would end up to 0.1 ms late.
  Status wait() {
    SystemClock clock;
    const auto limit_ns = static_cast<std::int64_t>(world_.patience_s() * 1e9);
    const std::int64_t start_ns = clock.now_ns();
    for (;;) {
      SLUICE_TRY(const bool done, session_.reached(kSumsDone, 0));
      if (done) return ok;
      if (clock.now_ns() - start_ns > limit_ns)
        return Error{Errc::timeout, "the sums of the GPU did not end"};
      std::this_thread::yield();
    }
  }

  /// A device that waits in vain does so for another rank: who that is.
  Status checked(const Status& status) {
    if (status) return ok;
    const Error error = status.error().code == Errc::timeout ? world_.too_late() : status.error();
    abandon();
    return error;
  }
  /// Sums that wait for each other would keep this process from its end.
  void abandon() { session_.abandon_world(kAbandonSums_s); }

  train::World& world_;
  train::cuda::Session session_;
  float* memory_ = nullptr;
  std::string library_;
  std::span<float> values_;
};

}  // namespace

Result<std::unique_ptr<RankSums>> device_sums(train::World& world, const std::string& device,
                                              std::int64_t bytes) {
  SLUICE_TRY(const int index, train::cuda::device_index(device));
  SLUICE_TRY(train::cuda::Session session, train::cuda::Session::open(index, 0));
  auto sums = std::make_unique<DeviceSums>(world, std::move(session));
  SLUICE_CHECK(sums->join(bytes));
  return std::unique_ptr<RankSums>(std::move(sums));
}

}  // namespace sluice::scenario
