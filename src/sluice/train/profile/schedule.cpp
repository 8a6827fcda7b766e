// sluice/train/profile/schedule.cpp - what a schedule may be.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/schedule.h"

#include <fmt/format.h>

namespace sluice::train {
namespace {

constexpr int kMostSteps = 100'000;

}  // namespace

Status check_schedule(const ProfileSchedule& schedule) {
  const auto refuse = [](const char* name, int value, int least) {
    return Error{Errc::usage,
                 fmt::format("--{} {}: accepted are numbers of steps from {}", name, value, least)};
  };
  if (schedule.wait < 0) return refuse("wait", schedule.wait, 0);
  if (schedule.warmup < 0) return refuse("warmup", schedule.warmup, 0);
  if (schedule.active < 1) return refuse("active", schedule.active, 1);
  if (schedule.repeat < 1) return refuse("repeat", schedule.repeat, 1);
  const double steps = (static_cast<double>(schedule.wait) + schedule.warmup + schedule.active) *
                       static_cast<double>(schedule.repeat);
  if (steps > kMostSteps)
    return Error{Errc::usage,
                 fmt::format("(wait + warmup + active) * repeat is {:.0f} steps; at most {} are "
                             "accepted",
                             steps, kMostSteps)};
  return ok;
}

}  // namespace sluice::train
