// sluice/image/jpeg/encoder.cpp - u8 pixels to JPEG with libjpeg-turbo.
// SPDX-License-Identifier: Apache-2.0
//
// libjpeg reports errors by longjmp: see decoder.cpp for the discipline that keeps this safe.
// The destination is a chunk of its own, not the vector, because growing a vector may throw through
// C frames.
#include "sluice/image/codec.h"

#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

// After <cstdio>: the header needs size_t and FILE.
#include <jpeglib.h>

namespace sluice::image {
namespace {

struct JpegEncoder {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  std::array<char, JMSG_LENGTH_MAX> text{};
  unsigned char* memory = nullptr;  // malloc'ed by libjpeg's memory destination
  unsigned long size = 0;

  JpegEncoder() {
    jpeg.err = jpeg_std_error(&errors);
    jpeg.client_data = this;
    errors.error_exit = on_error;
    errors.emit_message = [](j_common_ptr, int) {};
    errors.output_message = [](j_common_ptr) {};
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder() {
    jpeg_destroy_compress(&jpeg);
    std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg's own
  }

  static void on_error(j_common_ptr common) {
    auto* encoder = static_cast<JpegEncoder*>(common->client_data);
    common->err->format_message(common, encoder->text.data());
    std::longjmp(encoder->jump, 1);
  }

  template <class Body>
  bool guarded(Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (setjmp(jump) != 0) return false;  // NOLINT: the only way libjpeg offers
    body();
    return true;
  }

  void run(ImageView<std::uint8_t> image, const JpegOptions& options) {
    jpeg_create_compress(&jpeg);
    jpeg.client_data =
        this;  // create clears the struct, but keeps `err` and this; said again to be sure
    jpeg_mem_dest(&jpeg, &memory, &size);
    jpeg.image_width = static_cast<JDIMENSION>(image.width());
    jpeg.image_height = static_cast<JDIMENSION>(image.height());
    jpeg.input_components = image.channels();
    jpeg.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, options.quality, TRUE);
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.restart_in_rows = options.restart_rows;
    if (image.channels() == 3) set_subsampling(options.subsampling);
    if (options.progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
      // The library only reads the row; its type predates const.
      auto* row = const_cast<std::uint8_t*>(image.row(static_cast<int>(jpeg.next_scanline)));
      jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
  }

  void set_subsampling(Subsampling subsampling) {
    jpeg_component_info& luma = jpeg.comp_info[0];
    luma.h_samp_factor = subsampling == Subsampling::s411 ? 4 : 1;
    if (subsampling == Subsampling::s422 || subsampling == Subsampling::s420)
      luma.h_samp_factor = 2;
    luma.v_samp_factor =
        subsampling == Subsampling::s440 || subsampling == Subsampling::s420 ? 2 : 1;
  }
};

}  // namespace

Status encode_jpeg(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image,
                   const JpegOptions& options) {
  if (image.channels() != 1 && image.channels() != 3)
    return Error{Errc::invalid_input,
                 fmt::format("JPEG of {} channels: 1 and 3 are accepted", image.channels())};
  if (image.width() > JPEG_MAX_DIMENSION || image.height() > JPEG_MAX_DIMENSION)
    return Error{Errc::invalid_input,
                 fmt::format("JPEG of {}x{}: a side of at most {} is accepted", image.width(),
                             image.height(), JPEG_MAX_DIMENSION)};
  if (options.quality < 1 || options.quality > 100)
    return Error{Errc::usage,
                 fmt::format("JPEG quality {}: 1 to 100 is accepted", options.quality)};
  JpegEncoder encoder;
  if (!encoder.guarded([&encoder, image, &options] { encoder.run(image, options); }))
    return Error{Errc::internal, fmt::format("JPEG: {}", encoder.text.data())};
  out.assign(encoder.memory, encoder.memory + encoder.size);
  return ok;
}

}  // namespace sluice::image
