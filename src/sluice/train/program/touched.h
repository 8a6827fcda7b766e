// sluice/train/program/touched.h - which tensors an operation reads and which it writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/program/program.h"

#include <vector>

namespace sluice::train {

/// Only tensors that exist. What is added to is in both.
struct Touched {
  std::vector<TensorId> read, written;
};
Touched touched_by(const OpWork& work);

}  // namespace sluice::train
