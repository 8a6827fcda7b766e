// sluice/peers/seat.cpp - the first four messages of every worker.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/seat.h"

#include "sluice/measure/protocol.h"
#include "sluice/measure/reply.h"

namespace sluice::peers {

using measure::kProtocolVersion;
using measure::Reply;

Status Seat::start(const StartOptions& options, measure::Launcher& launcher, measure::Clock& clock,
                   Greeting& greeting) {
  leave();
  SLUICE_TRY(worker_, launcher.launch(options.launch));
  const Status greeted = greet(options, greeting);
  if (greeted) {
    pause(clock);
  } else {
    leave();
  }
  return greeted;
}

Status Seat::greet(const StartOptions& options, Greeting& greeting) {
  SLUICE_TRY(greeting.hello,
             ask({{"type", "hello"}, {"protocol", kProtocolVersion}}, options.timeout_s));
  const Reply hello("hello", greeting.hello);
  SLUICE_CHECK(hello.integer("protocol", kProtocolVersion, kProtocolVersion));
  SLUICE_TRY(greeting.version, hello.text("version", ""));
  Json configure = options.configure.is_object() ? options.configure : Json::object();
  configure["type"] = "configure";
  SLUICE_TRY(greeting.configured, ask(std::move(configure), options.timeout_s));
  constexpr std::int64_t kMaxThreads = 1024;
  SLUICE_TRY(const auto threads,
             Reply("configure", greeting.configured).integer("threads", 1, kMaxThreads));
  greeting.threads_in_force = static_cast<int>(threads);
  if (!options.load.is_object()) return ok;
  Json load = options.load;
  load["type"] = "load";
  SLUICE_TRY(const Json loaded, ask(std::move(load), options.timeout_s));
  (void)loaded;
  return ok;
}

Result<Json> Seat::ask(Json request, double timeout_s) {
  return worker_->request(std::move(request), timeout_s);
}

void Seat::pause(measure::Clock& clock) {
  worker_->pause();
  paused_ns_ = clock.now_ns();
}

double Seat::resume(measure::Clock& clock) {
  const std::int64_t now_ns = clock.now_ns();
  worker_->resume();
  return static_cast<double>(now_ns - paused_ns_) * 1e-6;
}

void Seat::leave() {
  if (worker_ != nullptr) worker_->finish();
  worker_.reset();
}

}  // namespace sluice::peers
