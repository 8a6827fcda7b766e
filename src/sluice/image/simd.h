// sluice/image/simd.h - which instruction set the fast paths run on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sluice::image {

/// The target in force: "AVX3", "AVX2", "NEON"... Written into results.
std::string simd_target();

/// Every target this build and machine can run, best first; at least one.
std::vector<std::string> simd_targets();

/// For tests: fast paths use `target` (one of simd_targets()) until this is destroyed. Not
/// thread-safe.
class SimdTargetOverride {
 public:
  explicit SimdTargetOverride(const std::string& target);
  ~SimdTargetOverride();
  SimdTargetOverride(const SimdTargetOverride&) = delete;
  SimdTargetOverride& operator=(const SimdTargetOverride&) = delete;
};

}  // namespace sluice::image
