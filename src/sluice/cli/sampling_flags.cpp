// sluice/cli/sampling_flags.cpp - the same names, ranges and words everywhere.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/sampling_flags.h"

namespace sluice::cli {

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  command.add_option("--sample-ms", flags.sample_ms, "least duration of a sample")
      ->check(CLI::Range(0.001, 60'000.0))
      ->capture_default_str();
  command.add_option("--warmup-ms", flags.warmup_ms, "untimed work before every sample")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
  command
      .add_option("--timeout", flags.timeout_s,
                  "seconds after which a worker that does not answer is killed")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  command.add_flag("--resume", flags.resume, "continue the folder that --out names");
}

}  // namespace sluice::cli
