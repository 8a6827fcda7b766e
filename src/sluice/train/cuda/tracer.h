// sluice/train/cuda/tracer.h - a stretch of time in which everything that runs on a GPU is kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/profile/device_record.h"

#include <string>
#include <vector>

namespace sluice::train::cuda {

/// One at a time in a process. Ends, and forgets what it kept, with its life.
class Tracer {
 public:
  /// `ops`: records know the op that issued them; not those of a graph. Errc::unsupported with the
  /// reason where CUPTI is not there.
  static Result<Tracer> begin(bool ops);
  Tracer(Tracer&& other) noexcept;
  Tracer& operator=(Tracer&&) = delete;
  ~Tracer();

  struct Records {
    std::vector<DeviceRecord> list;  // in no order
    std::string note;                // "CUPTI lost 3 records"; empty: none
  };
  /// After the device is idle.
  Result<Records> end();

 private:
  Tracer() = default;
  bool running_ = true;
};

}  // namespace sluice::train::cuda
