// sluice/train/world/world.h - ranks that also talk: rank 0 leads, the others do as it says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/communicator.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

struct WorldOptions {
  double timeout_s = 120;  // for the slowest rank to come to the end of a step
  /// Who writes down what this rank finds, should it be rank 0: where a launcher started the ranks,
  /// the others do not end before it does. 0: this process itself.
  std::int64_t writer_pid = 0;
};

class World : public Communicator {
 public:
  [[nodiscard]] virtual int local_rank() const = 0;       // on its machine
  [[nodiscard]] virtual std::string library() const = 0;  // "Open MPI v4.1.4, ..."
  [[nodiscard]] virtual bool failed() const = 0;          // a call gave an error: it is over
  /// The error of this rank is, or was caused by, what another rank says: nothing is to be printed.
  [[nodiscard]] virtual bool is_spoken_for() const = 0;

  /// What went wrong here alone, while the others wait. Rank 0 names this rank in the error of its
  /// wait; told by rank 0, the waits of all others end. Once; after an error of this world it only
  /// tells them.
  virtual void give_up(const Error& why) = 0;

  /// From rank 0 to every other.
  virtual Status tell(std::string_view text) = 0;
  /// The next text from rank 0, however long it takes.
  virtual Result<std::string> hear() = 0;
  /// To rank 0.
  virtual Status answer(std::string_view text) = 0;
  /// The next answer of every other rank, by rank - 1, within the time limit.
  virtual Result<std::vector<std::string>> answers() = 0;

  Result<std::string> share(std::string text) override;
};

/// What went wrong, as ranks tell each other.
std::string line_of(const Error& error);
Error error_of(const std::string& line);

/// `late`: those of `size` ranks that others wait for; none: the wait is not theirs.
std::string late_text(const std::vector<int>& late, int size, double timeout_s);

}  // namespace sluice::train
