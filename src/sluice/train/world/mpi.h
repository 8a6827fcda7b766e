// sluice/train/world/mpi.h - a world of ranks by MPI, on CPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/launcher.h"
#include "sluice/train/world/rank_process.h"
#include "sluice/train/world/world.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct SluiceMpiTable;

namespace sluice::train {

/// One in a process, and once: MPI cannot be begun again. Rank 0 leads: it says what is done, the
/// others hear(). A rank that died, or does not come to the end of a step within the time limit, is
/// named by the error of rank 0, and the others are told to end; should it be rank 0 itself, rank 1
/// names it. After an error the process is to end without destructors' help: MPI then ends the
/// others.
class MpiWorld final : public World {
 public:
  using Options = WorldOptions;
  /// Starts `size` - 1 others as `command`, which call join(). Precondition: size > 1.
  static Result<std::unique_ptr<MpiWorld>> start(int size, const std::vector<std::string>& command,
                                                 const Options& options);
  /// As one of those (with no launcher), or of those that mpirun or srun started. Usage error: MPI
  /// finds another rank or size than a launcher says, as srun without --mpi gives.
  static Result<std::unique_ptr<MpiWorld>> join(const LaunchedRank& launched,
                                                const Options& options);
  ~MpiWorld() override;  // together with the others, unless something failed
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] std::string library() const override;
  [[nodiscard]] bool failed() const override { return failed_; }
  [[nodiscard]] bool is_spoken_for() const override { return spoken_for_; }
  void give_up(const Error& why) override;

  Status start_sum(std::span<float> values) override;
  Status advance() override;
  Status finish() override;

  Status arrive() override;
  [[nodiscard]] double patience_s() const override { return options_.timeout_s; }
  Error too_late() override;

  Status tell(std::string_view text) override;
  Result<std::string> hear() override;  // sleeps while nothing comes
  Status answer(std::string_view text) override;
  Result<std::vector<std::string>> answers() override;

 private:
  MpiWorld(const SluiceMpiTable& table, const Options& options);
  /// What is known of another rank: to rank 0 of all, to the others of rank 0.
  struct Other {
    RankProcess process;
    RankProcess writer;         // of its results; known of rank 0
    std::int64_t heard_ns = 0;  // when it last said that it waits for a sum
    std::int64_t arrivals = 0;  // how often it has arrived
    bool answers = true;        // false: gone or too late, and told nothing more
  };
  class Wait;

  Status check(const char* wrong, const char* doing);
  Status open(int spawned, const std::vector<std::string>& command);
  Status come_together(int spawned, const std::vector<std::string>& command);
  Result<bool> take(int from, int tag, void* bytes, std::size_t count, int& sender);
  Status say_here(char how);
  Status note_arrivals();
  Status hear_failure();
  void send_line(int to, const std::string& line);
  Status look_around();
  [[nodiscard]] std::string name_of(int rank) const;
  Error fail(Errc code, std::string message);
  Error died(int rank);
  void leave(int rank);
  Error late_for_sum();
  Error rank_0_late();
  Result<std::string> receive(int from, int tag, std::int64_t bytes);

  const SluiceMpiTable& table_;
  Options options_;
  bool launched_ = false;  // by mpirun or srun, which ends the others when one ends badly
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  std::int64_t arrived_ = 0;  // how often this rank has
  bool failed_ = false;
  bool spoken_for_ = false;
  bool told_ = false;  // the others, that it is over
  std::vector<Other> others_;
};

}  // namespace sluice::train
