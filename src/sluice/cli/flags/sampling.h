// sluice/cli/flags/sampling.h - how samples are taken: the flags that every measuring command has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

namespace sluice::cli {

struct SamplingFlags {
  double sample_ms = 100;
  double warmup_ms = 50;
  double timeout_s = 60;
  bool resume = false;
};
/// The single ones, for commands that have not all of them; the value is the default.
void add_runs_flag(CLI::App& command, int& runs, const char* text = "fresh processes per row");
/// --runs, as few as give an answer, and --thorough for who has time: `thorough` of them.
void add_depth_flags(CLI::App& command, int& runs, bool& asked, int thorough,
                     const std::string& text = "");
void add_samples_flag(CLI::App& command, int& samples, const char* text = "timed samples per run");
void add_warmup_flag(CLI::App& command, double& warmup_ms);
void add_timeout_flag(CLI::App& command, double& timeout_s);
/// `flags` holds the defaults and must outlive the parse.
void add_sampling_flags(CLI::App& command, SamplingFlags& flags);

}  // namespace sluice::cli
