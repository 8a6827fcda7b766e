// sluice/cli/sampling_flags.h - how samples are taken: the flags that every measuring command has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace sluice::cli {

struct SamplingFlags {
  double sample_ms = 100;
  double warmup_ms = 50;
  double timeout_s = 60;
  bool resume = false;
};
/// `flags` holds the defaults and must outlive the parse.
void add_sampling_flags(CLI::App& command, SamplingFlags& flags);

}  // namespace sluice::cli
