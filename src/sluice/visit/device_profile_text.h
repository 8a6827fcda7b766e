// sluice/visit/device_profile_text.h - what `profile` prints about a GPU: kernels, gaps, roofs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/profile/device_profile.h"

#include <string>

namespace sluice::visit {

/// Lines without a newline at the end; the `top` longest kernels and ops.
std::string device_text(const train::DeviceProfile& profile, std::size_t top);

}  // namespace sluice::visit
