// sluice/train/profile/schedule.h - which steps of a profile are observed and kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

namespace sluice::train {

/// Steps of a cycle: `wait` unobserved, `warmup` observed and thrown away, `active` kept.
struct ProfileSchedule {
  int wait = 1;
  int warmup = 1;
  int active = 3;
  int repeat = 2;
  [[nodiscard]] int steps() const { return (wait + warmup + active) * repeat; }
};
/// active and repeat at least 1, nothing below 0, at most 100000 steps in all; usage error.
Status check_schedule(const ProfileSchedule& schedule);

}  // namespace sluice::train
