// sluice/peers/seat.h - one worker process of a library: started, stopped between its turns, gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/clock.h"
#include "sluice/measure/worker.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::peers {

struct StartOptions {
  measure::LaunchOptions launch;
  Json configure;  // fields of the request
  Json load;       // the same; null: none is sent
  double timeout_s = 600;
};

/// What the worker said about itself.
struct Greeting {
  std::string version;
  Json hello;  // the whole answers
  Json configured;
  int threads_in_force = 1;
};

/// Empty, or a process that is stopped except between resume() and pause().
class Seat {
 public:
  Seat() = default;
  Seat(Seat&&) noexcept = default;
  Seat& operator=(Seat&&) noexcept = default;
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() { leave(); }

  /// Launch, hello, configure, load; then it is stopped. On an Error the seat is empty.
  Status start(const StartOptions& options, measure::Launcher& launcher, measure::Clock& clock,
               Greeting& greeting);
  Result<Json> ask(Json request, double timeout_s);
  void pause(measure::Clock& clock);
  /// Returns the milliseconds since it was stopped.
  double resume(measure::Clock& clock);
  void leave();

  [[nodiscard]] bool taken() const { return worker_ != nullptr; }
  [[nodiscard]] std::int64_t pid() const { return worker_->pid(); }

 private:
  Status greet(const StartOptions& options, Greeting& greeting);

  std::unique_ptr<measure::Worker> worker_;
  std::int64_t paused_ns_ = 0;
};

}  // namespace sluice::peers
