// sluice/train/world/tcp.h - a world of ranks by TCP: torchrun's, srun's without PMIx, and those
// that train on GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/process/process.h"
#include "sluice/train/world/launcher.h"
#include "sluice/train/world/link.h"
#include "sluice/train/world/meeting.h"
#include "sluice/train/world/world.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::train {

/// Every rank is connected with rank 0 alone, which adds up in the order of the ranks: right for
/// words and single numbers. GPUs add their gradients up by NCCL; on CPUs MPI does it faster.
class TcpWorld final : public World {
 public:
  /// Starts `size` - 1 others on this machine as `command`, which call join(). They end with this
  /// object.
  static Result<std::unique_ptr<TcpWorld>> start(int size, const std::vector<std::string>& command,
                                                 const WorldOptions& options);
  /// As one of those, or of torchrun's or srun's, where meeting.h says; all ranks have come when it
  /// returns. Usage errors: a port that is taken, or where someone else than rank 0 of this world
  /// listens; a rank that comes twice or counts another number of ranks.
  static Result<std::unique_ptr<TcpWorld>> join(const LaunchedRank& launched,
                                                const WorldOptions& options,
                                                const Variables& variables = process_variables());
  /// Whether start() of another process started this one.
  static bool started(const Variables& variables = process_variables());
  ~TcpWorld() override;
  TcpWorld(const TcpWorld&) = delete;
  TcpWorld& operator=(const TcpWorld&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string library() const override { return "TCP"; }
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] bool is_spoken_for() const override { return spoken_for_; }
  void give_up(const Error& why) override;

  Status start_sum(std::span<float> values) override;
  Status advance() override { return ok; }
  Status finish() override;
  Status arrive() override;
  [[nodiscard]] double patience_s() const override { return options_.timeout_s; }
  Error too_late() override;

  Status tell(std::string_view text) override;
  Result<std::string> hear() override;
  Status answer(std::string_view text) override;
  Result<std::vector<std::string>> answers() override;

 private:
  enum class Kind : std::uint32_t {
    hello,
    told,
    answered,
    summand,
    sum,
    arrived,
    gave_up,
    welcome,
  };
  TcpWorld(int rank, int size, const WorldOptions& options);
  Status let_in(Door& door, const std::string& key);
  Status await_all(Door& door, const std::string& key, std::vector<std::optional<Link>>& come);
  Result<std::size_t> place_of(const Json& hello, Link& link,
                               const std::vector<std::optional<Link>>& come);
  static void say_why(Link& link, const Error& why);
  Status call_rank_0(const Meeting& meeting);
  Status await_welcome(const Meeting& meeting);
  Status send(int to, Kind kind, std::span<const std::byte> bytes);
  Result<std::string> next(int from, Kind kind, double limit_s);
  Error lost(int other, const Error& error);
  Error find_who_is_late();
  Error gave_up(int other, const std::string& line);

  int rank_, size_;
  int local_rank_ = 0;
  WorldOptions options_;
  bool failed_ = false;
  bool spoken_for_ = false;
  bool told_ = false;                      // the others, that it is over
  std::vector<Link> links_;                // rank 0: to rank 1, 2, ...; the others: to rank 0
  std::vector<std::int64_t> arrivals_;     // of rank 0: how often each rank has arrived
  std::int64_t arrived_ = 0;               // how often this rank has
  std::vector<std::span<float>> begun_{};  // sums
  std::vector<Process> started_{};
};

}  // namespace sluice::train
