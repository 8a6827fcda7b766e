// sluice/report/torch_line.h - loader settings in the words of PyTorch, to paste.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/summaries.h"

#include <string>

namespace sluice::report {

/// "DataLoader(num_workers=2, prefetch_factor=4, persistent_workers=True)". Without workers torch
/// accepts neither of the other two.
std::string torch_loader_line(const results::TuneSetting& setting);

/// What to do about waiting for data, as a share of a step; empty below a tenth.
std::string waiting_advice(double share);

}  // namespace sluice::report
