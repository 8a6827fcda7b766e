// sluice/measure/worker/session.h - one worker from its first message to its last, stopped between
// its turns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/claims.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/measure/worker/worker.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::measure {

struct SessionOptions {
  LaunchOptions launch;
  Configure configure{};
  std::optional<Load> load{};  // absent: none is sent
  double timeout_s = 600;      // of each message until it is loaded
};

/// How a worker for `spec` is started; `launch` may then be pinned and padded.
SessionOptions session_options(const SubjectSpec& spec, const RunnerContext& context,
                               double timeout_s, std::uint64_t seed);

/// Empty, or a process, which is killed with this object unless it was stopped before.
class WorkerSession {
 public:
  /// Launch, hello, configure, load. On an Error there is no process.
  Status start(const SessionOptions& options, const RunnerContext& context);
  template <class Message>
  Result<typename Message::Answer> ask(const Message& message, double timeout_s) {
    return measure::ask(*worker_, message, timeout_s);
  }
  /// Times that cannot be are an Error (claims.h); `witness` gets what we saw ourselves.
  Result<Measure::Answer> ask(const Measure& message, double timeout_s, Witness* witness = nullptr);
  /// Between pause() and resume() it uses no core.
  void pause();
  /// Returns the milliseconds since it was stopped.
  double resume();
  /// Says bye and makes sure that it is gone; the memory that it used at most, where it is known.
  std::optional<std::int64_t> stop();
  void kill() { worker_.reset(); }

  [[nodiscard]] bool alive() const { return worker_ != nullptr; }
  [[nodiscard]] std::int64_t pid() const { return worker_->pid(); }
  [[nodiscard]] const Hello::Answer& hello() const { return hello_; }
  [[nodiscard]] const Configure::Answer& configured() const { return configured_; }

 private:
  Status greet(const SessionOptions& options);

  std::unique_ptr<Worker> worker_;
  Clock* clock_ = nullptr;
  Hello::Answer hello_;
  Configure::Answer configured_;
  std::int64_t paused_ns_ = 0;
};

}  // namespace sluice::measure
