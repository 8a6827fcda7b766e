// sluice/train/world/mpi.h - a world of ranks by MPI, on CPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/communicator.h"
#include "sluice/train/world/launcher.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct SluiceMpiTable;

namespace sluice::train {

/// One in a process, and once: MPI cannot be begun again. Rank 0 leads: it says what is done, the
/// others hear(). A rank that does not come to the end of a step within the time limit is named by
/// rank 0; after an error the process is to end without destructors' help: MPI then ends the
/// others.
class MpiWorld final : public Communicator {
 public:
  struct Options {
    double timeout_s = 120;  // for the slowest rank to come to the end of a step
  };
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
  [[nodiscard]] const char* library() const;
  [[nodiscard]] bool failed() const { return failed_; }  // a call gave an error: it is over

  Status start_sum(std::span<float> values) override;
  Status advance() override;
  Status finish() override;

  /// From rank 0 to every other.
  Status tell(std::string_view text);
  /// The next text from rank 0, however long it takes: sleeps while nothing comes.
  Result<std::string> hear();
  /// To rank 0.
  Status answer(std::string_view text);
  /// The next answer of every other rank, by rank - 1, within the time limit.
  Result<std::vector<std::string>> answers();

 private:
  MpiWorld(const SluiceMpiTable& table, const Options& options);
  Status check(const char* wrong, const char* doing);
  Status open(int spawned, const std::vector<std::string>& command);
  Status note_arrivals();
  Error too_late() const;
  Result<std::string> receive(int from, int tag, std::int64_t bytes);

  const SluiceMpiTable& table_;
  Options options_;
  int rank_ = 0;
  int size_ = 1;
  bool failed_ = false;
  std::int64_t sums_ = 0;               // finished so far
  std::vector<std::int64_t> arrivals_;  // of rank 0: to which finish() each rank has come
};

}  // namespace sluice::train
