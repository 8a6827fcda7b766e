// sluice/train/profile/peaks.h - what a device can do at most: dense tensor-core rates with their
// source.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::train {

enum class PeakType : std::uint8_t { bf16, fp16, fp32 };
const char* to_string(PeakType type);
Result<PeakType> parse_peak_type(std::string_view text);  // usage error otherwise

/// TFLOP/s, dense (never with sparsity), with fp32 sums; 0: the device has no such unit. fp32 is
/// without tensor cores (no TF32).
struct DevicePeak {
  std::string_view device;  // what a device name must contain, word by word
  double bf16;
  double fp16;
  double fp32;
  std::string_view source;
  [[nodiscard]] double tflops(PeakType type) const;
};

const std::vector<DevicePeak>& device_peaks();

/// The row whose words stand in `device_name` one after the other, the longest such; case, '-', '_'
/// and brackets do not matter. None for partitions (MIG) and laptop versions, which are slower than
/// the card they are named after.
std::optional<DevicePeak> find_peak(std::string_view device_name);

/// Above 0 or an Error (unsupported) that says how to give the number.
Result<double> peak_tflops(std::string_view device_name, PeakType type);

}  // namespace sluice::train
