// sluice/scenario/image/decode_webp.cpp - WebP files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/image/decode_subject.h"
#include "sluice/scenario/scenario.h"

#include <webp/decode.h>

namespace sluice::scenario {
namespace {

/// libwebp's simple interface, into memory of that size.
Status decode_simply(image::Image& out, image::Bytes bytes) {
  int width = 0;
  int height = 0;
  if (WebPGetInfo(bytes.data(), bytes.size(), &width, &height) == 0)
    return Error{Errc::invalid_input, "WebP: libwebp reads no header"};
  SLUICE_CHECK(out.resize_for(width, height, 3));
  const auto span = out.span<std::uint8_t>();
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), span.data(), span.samples(),
                        static_cast<int>(span.pitch_bytes())) == nullptr)
    return Error{Errc::invalid_input, "WebP: libwebp decodes nothing"};
  return ok;
}

}  // namespace

Scenario decode_webp() {
  Scenario scenario;
  scenario.name = "decode/webp";
  scenario.doc = "WebP files in memory to RGB u8; photographs are encoded as lossy WebP first.";
  scenario.kind = Kind::decode;
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(auto files, read_files_as(context.data_dir, image::Format::webp));
    return make_decode_subject(std::move(files), decode_simply, context.threads);
  };
  return scenario;
}

}  // namespace sluice::scenario
