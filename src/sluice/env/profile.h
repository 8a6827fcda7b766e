// sluice/env/profile.h - the machine profile: the name under which numbers of equal machines are
// kept together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/environment.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::env {

enum class ProfileDevice {
  automatic,  // gpu when at least one is visible
  cpu,        // subjects that never touch the GPU: the cores and caches are what matters
  gpu,        // as automatic: without a GPU it is the CPU form
};

struct ProfileOptions {
  std::string framework{};  // framework_sluice() or framework_torch()
  ProfileDevice device = ProfileDevice::automatic;
  std::optional<std::string> cuda_version{};  // of the framework, "12.4"; otherwise the driver's
};

/// "sluice1": native subjects, by the version of the result schema.
std::string framework_sluice(int result_schema_version);
/// "torch2.4" from "2.4.1+cu124".
std::string framework_torch(std::string_view version);

/// Only letters, digits and `. _ -`; the same environment gives the same profile. Grammar:
/// docs/env.md.
std::string machine_profile(const Environment& environment, const ProfileOptions& options);

/// "H100" from "NVIDIA H100 80GB HBM3": brand words dropped, letters and digits kept, at most 20.
std::string short_gpu_name(std::string_view name);

}  // namespace sluice::env
