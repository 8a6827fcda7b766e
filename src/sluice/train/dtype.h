// sluice/train/dtype.h - the kinds of numbers a tensor holds. No includes: device code reads it
// too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::train {

enum class Dtype : unsigned char { f32, bf16, i32 };

}  // namespace sluice::train
