// sluice/train/world/communicator.h - sums over the ranks that train one model together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <span>
#include <string>

namespace sluice::train {

/// One rank of several. Every rank makes the same calls in the same order, from one thread. An
/// error (a rank that ended or does not answer is named) is final: the world is to be given up.
class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;  // 0 to size() - 1
  [[nodiscard]] virtual int size() const = 0;

  /// Begins values = their sum over all ranks, the same bits on each. The memory is not to be
  /// touched before finish().
  virtual Status start_sum(std::span<float> values) = 0;
  /// Lets what was begun go on, without waiting.
  virtual Status advance() = 0;
  /// Waits for all that was begun.
  virtual Status finish() = 0;

  // For ranks whose devices add up by themselves:
  /// Gives the text of rank 0 to every rank.
  virtual Result<std::string> share(std::string text) = 0;
  /// This rank has done its part of a step, and does not wait for the others here.
  virtual Status arrive() = 0;
  /// Seconds to wait for the slowest rank of a step.
  [[nodiscard]] virtual double patience_s() const = 0;
  /// After so long in vain: who has not arrived.
  virtual Error too_late() = 0;
};

}  // namespace sluice::train
