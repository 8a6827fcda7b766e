// sluice/scenario/image/decode_jpeg.cpp - JPEG files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/image/decode_subject.h"
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

/// A reused decoder must give what a new one gives.
Status decode_anew(image::Image& out, image::Bytes bytes) {
  return image::decode(out, bytes);
}

}  // namespace

Scenario decode_jpeg() {
  Scenario scenario;
  scenario.name = "decode/jpeg";
  scenario.doc = "JPEG files in memory to RGB u8, full size.";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files(context.data_dir));
    return make_decode_subject(std::move(files), decode_anew, context.threads);
  };
  return scenario;
}

}  // namespace sluice::scenario
