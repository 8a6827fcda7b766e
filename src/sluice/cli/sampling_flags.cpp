// sluice/cli/sampling_flags.cpp - the same names, ranges and words everywhere.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/sampling_flags.h"

namespace sluice::cli {

void add_runs_flag(CLI::App& command, int& runs, const char* text) {
  command.add_option("--runs", runs, text)->check(CLI::Range(1, 1000))->capture_default_str();
}

void add_samples_flag(CLI::App& command, int& samples, const char* text) {
  command.add_option("--samples", samples, text)
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
}

void add_warmup_flag(CLI::App& command, double& warmup_ms) {
  command.add_option("--warmup-ms", warmup_ms, "untimed work before every sample")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
}

void add_timeout_flag(CLI::App& command, double& timeout_s) {
  command
      .add_option("--timeout", timeout_s,
                  "seconds after which a worker that does not answer is killed")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
}

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  command.add_option("--sample-ms", flags.sample_ms, "least duration of a sample")
      ->check(CLI::Range(0.001, 60'000.0))
      ->capture_default_str();
  add_warmup_flag(command, flags.warmup_ms);
  add_timeout_flag(command, flags.timeout_s);
  command.add_flag("--resume", flags.resume, "continue the folder that --out names");
}

}  // namespace sluice::cli
