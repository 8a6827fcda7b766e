// sluice/train/cuda/forms.h - which forms of the CUDA kernels run on the device that is there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/train/cuda/table.h"

#include <span>
#include <string>
#include <vector>

namespace sluice::train::cuda {

struct FormInForce {
  std::string kernel, form, takes;
  int least = 80;         // compute capability times 10
  bool in_force = false;  // runs on this device, for calls it takes
};
struct DeviceForms {
  std::string device;  // "cuda:0 NVIDIA H200, sm_90"
  std::vector<FormInForce> forms;
};

/// Of a device of this capability (9.0 is 90). A form that takes "all" is not in force where one
/// before it does.
std::vector<FormInForce> forms_for(std::span<const KernelForm> forms, int capability);

/// Errors as device_facts(): they say why there is none.
Result<DeviceForms> forms_on(int index);

/// One line: "cuda:0 NVIDIA H200, sm_90: mma.sync: qkv_attention, ...; portable: the rest".
std::string to_text(const Result<DeviceForms>& forms);
/// device and forms, or {"reason"}.
Json to_json(const Result<DeviceForms>& forms);

}  // namespace sluice::train::cuda
