// sluice/train/profile/trace.h - profiled steps as the files people open: a Chrome trace for
// Perfetto, and Kineto's form of it for TensorBoard's torch-tb-profiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/profile/step_trace.h"

#include <string>

namespace sluice::train {

/// All steps: a row of steps, one of regions and one of ops, each op with its category; rows of
/// a device for what ran on it.
std::string chrome_trace(const StepProfile& profile);

/// The steps of one cycle. The plugin nests what lies inside each other on one thread and refuses
/// what crosses, so times stand on a grid of 1/8 microsecond, on which its sums are exact.
std::string kineto_trace(const StepProfile& profile, int cycle);

/// What ran on the device (profile.device_steps, at least one): rows of the device, and on the host
/// the steps, and a mark without length for every op whose kernels are known, by which the plugin
/// gives ops their time on the device.
std::string kineto_kernels(const StepProfile& profile);

}  // namespace sluice::train
