// sluice/image/simd.cpp - which instruction set the fast paths run on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/image/simd.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sluice::image::HWY_NAMESPACE {
const char* name_of_target() {
  return hwy::TargetName(HWY_TARGET);
}
}  // namespace sluice::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::image {

HWY_EXPORT(name_of_target);

std::string simd_target() {
  return HWY_DYNAMIC_DISPATCH(name_of_target)();
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS;
  for (; rest != 0; rest &= rest - 1)
    names.emplace_back(hwy::TargetName(rest & -rest));  // lowest bit: best target
  return names;
}

SimdTargetOverride::SimdTargetOverride(const std::string& target) {
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1)
    if (target == hwy::TargetName(rest & -rest)) {
      hwy::SetSupportedTargetsForTest(rest);
      hwy::GetChosenTarget().DeInit();  // the next call chooses again
      return;
    }
}

SimdTargetOverride::~SimdTargetOverride() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace sluice::image
#endif  // HWY_ONCE
