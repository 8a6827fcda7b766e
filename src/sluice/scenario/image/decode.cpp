// sluice/scenario/image/decode.cpp - JPEG, PNG and WebP files in memory to RGB images.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/png/decoder.h"
#include "sluice/measure/worker/subject.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>
#include <webp/decode.h>

namespace sluice::scenario {
namespace {

/// Decodes the same bytes another way: what our pixels are compared with.
using ReferenceDecode = Status (*)(image::Image& out, image::Bytes bytes);

class DecodeSubject final : public ItemSubject {
 public:
  DecodeSubject(std::vector<EncodedFile> files, ReferenceDecode reference, double bytes_per_item,
                int threads)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        reference_(reference),
        bytes_per_item_(bytes_per_item),
        outputs_(files_.size()),
        decoders_(workers()) {}

  Result<std::string> check() override {
    run_pass();
    image::Image expected;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SLUICE_CHECK(named(files_[i].name, reference_(expected, files_[i].bytes)));
      if (digest_of({&expected, 1}) != digest_of({&outputs_[i], 1}))
        return Error{Errc::measurement,
                     printable(files_[i].name) + ": other pixels than those of the reference"};
    }
    return digest_of(outputs_);
  }
  [[nodiscard]] double bytes_per_item() const override { return bytes_per_item_; }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    require(
        named(files_[index].name, decoders_[worker].decode(outputs_[index], files_[index].bytes)));
  }

 private:
  std::vector<EncodedFile> files_;
  ReferenceDecode reference_;
  double bytes_per_item_;
  std::vector<image::Image> outputs_;
  std::vector<image::Decoder> decoders_;
};

/// Each file decoded by a reused decoder into an image of its own.
Result<std::unique_ptr<measure::Subject>> make_decode_subject(std::vector<EncodedFile> files,
                                                              ReferenceDecode reference,
                                                              int threads) {
  double bytes = 0;
  for (const EncodedFile& file : files) {
    auto info = image::read_info(file.bytes);
    if (!info) return named(file.name, info.error()).error();
    bytes += 3.0 * info->width * info->height;
  }
  return std::unique_ptr<measure::Subject>(std::make_unique<DecodeSubject>(
      std::move(files), reference, bytes / static_cast<double>(files.size()), threads));
}

/// A reused decoder must give what a new one gives.
Status decode_anew(image::Image& out, image::Bytes bytes) {
  return image::decode(out, bytes);
}

Status decode_by_libpng(image::Image& out, image::Bytes bytes) {
  image::PngDecoder decoder;
  decoder.use_reference(true);
  SLUICE_TRY(const image::ImageInfo info, decoder.open(bytes, {}));
  SLUICE_CHECK(out.resize_for(info.width, info.height, 3));
  return decoder.read(out.span<std::uint8_t>(), {0, 0, info.width, info.height});
}

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

/// Its files are those of the folder in `format`, or made in it.
template <image::Format format, ReferenceDecode reference>
Result<std::unique_ptr<measure::Subject>> make_decode_row(const measure::SubjectContext& context) {
  SLUICE_TRY(auto files, format == image::Format::jpeg ? read_files(context.data_dir)
                                                       : read_files_as(context.data_dir, format));
  return make_decode_subject(std::move(files), reference, context.threads);
}

Result<std::unique_ptr<measure::Subject>> make_progressive_row(
    const measure::SubjectContext& context) {
  SLUICE_TRY(auto files, read_progressive_files(context.data_dir));
  return make_decode_subject(std::move(files), decode_anew, context.threads);
}

}  // namespace

Scenario decode_jpeg() {
  Scenario scenario;
  scenario.name = "decode/jpeg";
  scenario.doc = "JPEG files in memory to RGB u8, full size.";
  scenario.make = make_decode_row<image::Format::jpeg, decode_anew>;
  return scenario;
}

Scenario decode_jpeg_progressive() {
  Scenario scenario;
  scenario.name = "decode/jpeg-progressive";
  scenario.doc =
      "Progressive JPEG files in memory to RGB u8; photographs are encoded so first, quality 90.";
  scenario.kind = Kind::decode;
  scenario.make = make_progressive_row;
  return scenario;
}

Scenario decode_png() {
  Scenario scenario;
  scenario.name = "decode/png";
  scenario.doc = "PNG files in memory to RGB u8; photographs are encoded as PNG first.";
  scenario.kind = Kind::decode;
  scenario.make = make_decode_row<image::Format::png, decode_by_libpng>;
  return scenario;
}

Scenario decode_webp() {
  Scenario scenario;
  scenario.name = "decode/webp";
  scenario.doc = "WebP files in memory to RGB u8; photographs are encoded as lossy WebP first.";
  scenario.kind = Kind::decode;
  scenario.make = make_decode_row<image::Format::webp, decode_simply>;
  return scenario;
}

}  // namespace sluice::scenario
