// sluice/scenario/image/decode_png.cpp - PNG files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/png_decoder.h"
#include "sluice/scenario/image/decode_subject.h"
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

Status decode_by_libpng(image::Image& out, image::Bytes bytes) {
  image::PngDecoder decoder;
  decoder.use_reference(true);
  SLUICE_TRY(const image::ImageInfo info, decoder.open(bytes, {}));
  SLUICE_CHECK(out.resize_for(info.width, info.height, 3));
  return decoder.read(out.span<std::uint8_t>(), {0, 0, info.width, info.height});
}

}  // namespace

Scenario decode_png() {
  Scenario scenario;
  scenario.name = "decode/png";
  scenario.doc = "PNG files in memory to RGB u8; photographs are encoded as PNG first.";
  scenario.kind = Kind::decode;
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files_as(context.data_dir, image::Format::png));
    return make_decode_subject(std::move(files), decode_by_libpng, context.threads);
  };
  return scenario;
}

}  // namespace sluice::scenario
