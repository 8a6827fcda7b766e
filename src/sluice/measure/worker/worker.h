// sluice/measure/worker/worker.h - a subject's process as the supervisor sees it; scripted in
// tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/cpu_list.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::measure {

class Worker {
 public:
  virtual ~Worker() = default;
  /// Sends `request` and waits for its answer. An `error` answer becomes an Error (unsupported or
  /// measurement).
  virtual Result<Json> request(Json request, double timeout_s) = 0;
  /// Stops and continues the whole process group: a stopped worker uses no core while another is
  /// timed.
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// Says `bye`, waits briefly, then makes sure that it is gone. Idempotent.
  virtual void finish() = 0;
  [[nodiscard]] virtual std::int64_t pid() const = 0;
  /// What the kernel counted for all its threads so far; nothing where it does not.
  [[nodiscard]] virtual std::optional<std::int64_t> cpu_ns() const { return std::nullopt; }
  /// Known after finish().
  [[nodiscard]] virtual std::optional<std::int64_t> peak_rss_bytes() const = 0;
};

struct LaunchOptions {
  std::vector<std::string> command;  // argv of the worker program
  std::filesystem::path log_file;    // its stdout and stderr; appended
  std::size_t environment_padding =
      0;         // bytes of an extra variable: shifts the stack, so that layout luck is noise
  CpuList cpus;  // empty: not pinned
  std::map<std::string, std::string> environment;  // added to ours; replaces what is there
  int cancel_fd = -1;  // waits for answers end when this becomes readable
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual Result<std::unique_ptr<Worker>> launch(const LaunchOptions& options) = 0;
};

/// Real processes.
class ProcessLauncher final : public Launcher {
 public:
  Result<std::unique_ptr<Worker>> launch(const LaunchOptions& options) override;
};

}  // namespace sluice::measure
