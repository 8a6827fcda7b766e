// sluice/cli/flags/sampling.cpp - the same names, ranges and words everywhere.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/sampling.h"

#include <fmt/format.h>

namespace sluice::cli {

void add_runs_flag(CLI::App& command, int& runs, const char* text) {
  add_number(command, "--runs", runs, 1, 1000, text);
}

void add_depth_flags(CLI::App& command, int& runs, bool& asked, int thorough,
                     const std::string& text) {
  add_runs_flag(command, runs);
  command
      .add_flag("--thorough", asked,
                fmt::format("{} fresh processes per row{}, for narrower intervals", thorough, text))
      ->excludes(command.get_option("--runs"));
}

void add_samples_flag(CLI::App& command, int& samples, const char* text) {
  add_number(command, "--samples", samples, 1, 10'000, text);
}

void add_warmup_flag(CLI::App& command, double& warmup_ms) {
  add_number(command, "--warmup-ms", warmup_ms, 0.0, 60'000.0,
             "milliseconds of untimed work before every sample");
}

void add_timeout_flag(CLI::App& command, double& timeout_s) {
  add_number(command, "--timeout", timeout_s, 0.1, 86'400.0,
             "kill a worker that has not answered for so many seconds");
}

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  add_number(command, "--sample-ms", flags.sample_ms, 0.001, 60'000.0,
             "shortest duration of a sample, in milliseconds");
  add_warmup_flag(command, flags.warmup_ms);
  add_timeout_flag(command, flags.timeout_s);
  command.add_flag("--resume", flags.resume, "continue the run in the folder that --out names");
}

}  // namespace sluice::cli
