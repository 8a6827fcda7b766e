// sluice/measure/local_runner.h - what a runner needs of this machine: its clock, real processes,
// Ctrl-C.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/measure/interrupt.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/worker.h"

#include <filesystem>
#include <string>

namespace sluice::measure {

/// From its making on Ctrl-C is remembered. Must outlive the contexts it gives.
class LocalRunner {
 public:
  LocalRunner() = default;
  LocalRunner(const LocalRunner&) = delete;
  LocalRunner& operator=(const LocalRunner&) = delete;

  /// Makes `log_dir`, unless it is empty. `on_block` is left to the caller.
  Result<RunnerContext> context(Progress& progress, std::string session_id,
                                std::filesystem::path log_dir);
  Clock& clock() { return clock_; }
  [[nodiscard]] const Interrupt& interrupt() const { return interrupt_; }

 private:
  Interrupt interrupt_;
  SystemClock clock_;
  ProcessLauncher launcher_;
};

}  // namespace sluice::measure
