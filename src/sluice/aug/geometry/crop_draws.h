// sluice/aug/geometry/crop_draws.h - what the two crops drew: whoever decodes the window alone
// reads it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::aug {

/// The draw of RandomCrop224.
struct RandomCrop224Draw {
  int x = 0, y = 0;  // where the window begins; negative: so many columns or rows of zeros first
  int width = 224, height = 224;
};

/// The draw of RandomResizedCrop.
struct RandomResizedCropDraw {
  int x = 0, y = 0, width = 1, height = 1;  // the part, in pixels of the input
  int out_width = 224, out_height = 224;
};

}  // namespace sluice::aug
