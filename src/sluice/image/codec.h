// sluice/image/codec.h - encoded bytes to pixels and back; the rules are in docs/decode.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/image.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::image {

using Bytes = std::span<const std::uint8_t>;

enum class Format : std::uint8_t { jpeg, png, webp };
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
  double max_seconds = 10;                 // per file; looked at once per row group, or part
  double (*now_s)() = nullptr;  // monotonic seconds; null: the real clock (tests script it)
  const std::atomic<bool>* stop = nullptr;  // set: give up at the next look at the clock
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

/// A part of an image, in its pixels.
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// The size at which a JPEG is decoded, in eighths: the four that libjpeg-turbo has vector code
/// for.
enum class DctScale : std::uint8_t { eighth = 1, quarter = 2, half = 4, full = 8 };
const char* to_string(DctScale scale);  // "1/8"
/// Of an image `size` pixels wide or high: rounded up.
constexpr int scaled_size(int size, DctScale scale) {
  return (size * static_cast<int>(scale) + 7) / 8;
}
/// The smallest scale at which width x height still has at least wanted_width x wanted_height
/// pixels, so that nothing is ever enlarged; `full` where none has.
DctScale smallest_scale(int width, int height, int wanted_width, int wanted_height);

/// What read_scaled() did. A stored pixel x lies at x * scale in the scaled image.
struct ScaledRegion {
  DctScale scale = DctScale::full;  // full: exact, the pixels of read_region()
  Rect decoded;                     // what `out` holds, in pixels of the scaled image
  // Where the region asked for lies in `out`: its edges need not fall between scaled pixels.
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
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

  /// Header first: open() says the size, then one read_region() or read_scaled() decodes a part
  /// without parsing the header again. `bytes` must live until then. Regions are in pixels as
  /// stored: with options.exif both reads are refused.
  Result<ImageInfo> open(Bytes bytes, const DecodeOptions& options = {});
  /// Exactly the pixels that decode() gives there, for less time. What lies after the region's last
  /// row may go unread, so damage there is not found.
  Status read_region(Image& out, Rect region);
  /// The region at the smallest scale that leaves it at least wanted_width x wanted_height pixels.
  /// Its own mode, not the pixels of decode() made smaller; formats without scales, and sizes that
  /// allow none, fall back to read_region(), and the result says so.
  Result<ScaledRegion> read_scaled(Image& out, Rect region, int wanted_width, int wanted_height);
  /// open() and read_region().
  Status decode_region(Image& out, Bytes bytes, Rect region, const DecodeOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One-shot forms; each makes a Decoder.
Status decode(Image& out, Bytes bytes, const DecodeOptions& options = {});
Status decode_jpeg(Image& out, Bytes bytes,
                   const DecodeOptions& options = {});  // refuses other formats
Status decode_png(Image& out, Bytes bytes, const DecodeOptions& options = {});
Status decode_webp(Image& out, Bytes bytes, const DecodeOptions& options = {});
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

struct WebpOptions {
  int quality = 90;  // 0 to 100; lossless files have none
  bool lossless = false;
};

/// 3 channels only.
Status encode_webp(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image,
                   const WebpOptions& options = {});

}  // namespace sluice::image
