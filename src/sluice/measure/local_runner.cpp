// sluice/measure/local_runner.cpp - fills a RunnerContext.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/local_runner.h"

#include "sluice/core/file.h"

namespace sluice::measure {

Result<RunnerContext> LocalRunner::context(Progress& progress, std::string session_id,
                                           std::filesystem::path log_dir) {
  if (!log_dir.empty()) SLUICE_CHECK(create_folders(log_dir));
  RunnerContext context;
  context.clock = &clock_;
  context.launcher = &launcher_;
  context.progress = &progress;
  context.session_id = std::move(session_id);
  context.log_dir = std::move(log_dir);
  context.cancel_fd = interrupt_.fd();
  context.interrupted = [this] { return interrupt_.requested(); };
  return context;
}

}  // namespace sluice::measure
