// sluice/image/codec.h - encoded bytes to pixels and back; the rules are in docs/decode.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::image {

using Bytes = std::span<const std::uint8_t>;

enum class Format : std::uint8_t { jpeg, png };
const char* to_string(Format format);

/// What the first bytes say; names and suffixes are never looked at. Not an image we read: an error
/// that shows them.
Result<Format> sniff(Bytes bytes);

struct DecodeOptions {
  bool exif = false;  // turn the pixels as the EXIF orientation says; off: as stored
  bool allow_truncated =
      false;  // accept damaged data: what cannot be decoded stays as the codec leaves it
  std::uint64_t max_pixels = 178'956'970;  // width x height
  int max_scans = 100;                     // of a progressive JPEG; real encoders write about 10
  double max_seconds = 10;                 // per file, looked at once per row group
  double (*now_s)() = nullptr;  // monotonic seconds; null: the real clock (tests script it)
};

struct ImageInfo {
  Format format = Format::jpeg;
  int width = 0;  // as stored, before orientation
  int height = 0;
  int channels = 0;          // as stored: 1 grey or palette, 2 grey + alpha, 3, 4 RGBA or CMYK
  bool colour = true;        // false: grey, with or without alpha; a palette counts as colour
  int bit_depth = 8;         // of a stored sample
  bool progressive = false;  // or interlaced
  int orientation = 1;       // EXIF, 1 to 8
  std::string subsampling;   // "4:2:0"; empty where it means nothing
};

/// Decodes to u8 RGB. Reuse one object per thread: its buffers, and those of `out`, are kept from
/// file to file. Errors are one line without a file name; the caller knows it. After an error the
/// samples of `out` are undefined.
class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  Status decode(Image& out, Bytes bytes, const DecodeOptions& options = {});
  /// Into the caller's memory, which must have exactly the decoded size (after orientation) and 3
  /// channels.
  Status decode_into(ImageSpan<std::uint8_t> out, Bytes bytes, const DecodeOptions& options = {});
  /// From the header alone; applies max_pixels.
  Result<ImageInfo> read_info(Bytes bytes, const DecodeOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One-shot forms; each makes a Decoder.
Status decode(Image& out, Bytes bytes, const DecodeOptions& options = {});
Status decode_jpeg(Image& out, Bytes bytes,
                   const DecodeOptions& options = {});  // refuses other formats
Status decode_png(Image& out, Bytes bytes, const DecodeOptions& options = {});
Result<ImageInfo> read_info(Bytes bytes, const DecodeOptions& options = {});

enum class Subsampling : std::uint8_t { s444, s422, s440, s420, s411 };

struct JpegOptions {
  int quality = 90;  // 1 to 100
  Subsampling subsampling = Subsampling::s420;
  bool progressive = false;
  int restart_rows = 0;  // a restart marker every so many MCU rows; 0: none
};

/// Replaces `out` (its capacity is kept). 1 channel is written as grey, 3 as YCbCr; islow DCT, so
/// that the same pixels give the same bytes on every machine with the same libjpeg-turbo.
Status encode_jpeg(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image,
                   const JpegOptions& options = {});

/// Lossless; 1 to 4 channels are grey, grey + alpha, RGB, RGBA. `level` is zlib's, 0 to 9.
Status encode_png(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image, int level = 6);

}  // namespace sluice::image
