// sluice/image/png/fast.cpp - the common PNGs: chunks walked, inflated by libdeflate, rows undone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/png/fast.h"

#include "sluice/image/png/rows.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <libdeflate.h>
#include <new>
#include <string_view>

namespace sluice::image {
namespace {

constexpr std::size_t kSignature = 8;
constexpr std::size_t kChunkFrame = 12;                // length, type, CRC
constexpr std::size_t kHeaderBytes = 13;               // of IHDR
constexpr std::size_t kMostOtherChunk = 8U << 20;      // what libpng is told as well
constexpr std::uint64_t kMostRawBytes = 128ULL << 20;  // larger ones go row by row through libpng
constexpr std::uint64_t kDeflateRatio = 1032;          // the most that deflate can shrink
constexpr int kRowsPerGroup = 8;  // undone together, then made RGB while they are near

enum Colour : std::uint8_t { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

struct Chunk {
  Bytes type_and_data;
  std::uint32_t crc = 0;

  [[nodiscard]] Bytes data() const { return type_and_data.subspan(4); }
  [[nodiscard]] bool is(std::string_view type) const {
    return std::memcmp(type_and_data.data(), type.data(), 4) == 0;
  }
  [[nodiscard]] bool ancillary() const { return (type_and_data[0] & 0x20) != 0; }
  [[nodiscard]] bool sound() const {
    return libdeflate_crc32(0, type_and_data.data(), type_and_data.size()) == crc;
  }
  /// Four letters, the third a capital.
  [[nodiscard]] bool well_named() const {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto letter = static_cast<std::uint8_t>(type_and_data[i] & ~0x20);
      if (letter < 'A' || letter > 'Z') return false;
    }
    return (type_and_data[2] & 0x20) == 0;
  }
};

/// The chunk that `rest` starts with, and what follows it; nothing where it is cut.
std::optional<Chunk> take_chunk(Bytes& rest) {
  if (rest.size() < kChunkFrame) return std::nullopt;
  const std::size_t length = big_endian(rest.data());
  if (length > rest.size() - kChunkFrame || length > 0x7FFFFFFF) return std::nullopt;
  Chunk chunk;
  chunk.type_and_data = rest.subspan(4, 4 + length);
  chunk.crc = big_endian(rest.data() + 8 + length);
  rest = rest.subspan(kChunkFrame + length);
  return chunk;
}

/// Memory that only grows, and is not cleared.
class Buffer {
 public:
  std::uint8_t* get(std::size_t size) {
    if (size > capacity_) {
      data_.reset();
      capacity_ = 0;
      data_.reset(new (std::nothrow) std::uint8_t[size]);
      if (data_ != nullptr) capacity_ = size;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<std::uint8_t[]> data_;  // NOLINT(modernize-avoid-c-arrays)
  std::size_t capacity_ = 0;
};

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};

void look_up(std::uint8_t* rgb, const std::uint8_t* indices, std::size_t pixels,
             const std::array<std::array<std::uint8_t, 4>, 256>& palette) {
  for (std::size_t x = 0; x + 1 < pixels; ++x)  // four bytes are one store
    std::memcpy(rgb + 3 * x, palette[indices[x]].data(), 4);
  std::memcpy(rgb + 3 * (pixels - 1), palette[indices[pixels - 1]].data(), 3);
}

}  // namespace

struct FastPng::Impl {
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor{
      libdeflate_alloc_decompressor()};
  Buffer joined;  // the data of several IDAT chunks
  Buffer raw;     // a row of zeros, then rows with their filter bytes
  ImageInfo info;
  std::size_t row_bytes = 0;
  Bytes first_data;  // from the first IDAT on
  std::size_t data_bytes = 0;
  int data_chunks = 0;
  std::uint8_t colour = kRgb;
  std::array<std::array<std::uint8_t, 4>, 256> palette{};  // the fourth byte is not used

  bool read_header(const Chunk& chunk);
  bool read_palette(const Chunk& chunk);
  bool walk(Bytes rest);
  [[nodiscard]] Bytes gather();
  void emit(ImageSpan<std::uint8_t> out, Rect region, const std::uint8_t* group, int y, int count);
};

FastPng::FastPng() : impl_(std::make_unique<Impl>()) {}
FastPng::~FastPng() = default;

bool FastPng::Impl::read_header(const Chunk& chunk) {
  const Bytes data = chunk.data();
  if (!chunk.is("IHDR") || data.size() != kHeaderBytes || !chunk.sound()) return false;
  const std::uint64_t width = big_endian(data.data());
  const std::uint64_t height = big_endian(data.data() + 4);
  colour = data[9];
  // 8 bits; deflate, the five filters, no interlacing.
  if (data[8] != 8 || data[10] != 0 || data[11] != 0 || data[12] != 0) return false;
  const int channels = colour == kGrey || colour == kPalette ? 1
                       : colour == kGreyAlpha                ? 2
                       : colour == kRgb                      ? 3
                       : colour == kRgba                     ? 4
                                                             : 0;
  constexpr auto kSide = static_cast<std::uint64_t>(kMaxSide);
  if (channels == 0 || width == 0 || height == 0 || width > kSide || height > kSide) return false;
  row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  if ((row_bytes + 1) * height > kMostRawBytes) return false;
  info = {};
  info.format = Format::png;
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
  info.channels = channels;
  info.colour = (colour & 2) != 0;
  return true;
}

bool FastPng::Impl::read_palette(const Chunk& chunk) {
  const Bytes data = chunk.data();
  if (data.empty() || data.size() % 3 != 0 || data.size() > 3 * palette.size() || !chunk.sound())
    return false;
  palette = {};  // colours that the file does not name are black
  for (std::size_t i = 0; i < data.size() / 3; ++i)
    std::memcpy(palette[i].data(), data.data() + 3 * i, 3);
  return true;
}

/// The chunks after IHDR: [PLTE] IDAT... IEND, with ancillary ones between that change no pixel.
bool FastPng::Impl::walk(Bytes rest) {
  bool has_palette = false;
  bool data_over = false;
  first_data = {};
  data_bytes = 0;
  data_chunks = 0;
  for (;;) {
    const Bytes at = rest;
    const std::optional<Chunk> chunk = take_chunk(rest);
    if (!chunk || !chunk->well_named()) return false;
    if (chunk->is("IDAT")) {
      if (data_over || (colour == kPalette && !has_palette)) return false;
      if (data_chunks++ == 0) first_data = at;
      data_bytes += chunk->data().size();
      continue;
    }
    data_over = data_chunks > 0;
    if (chunk->is("IEND")) return data_over && chunk->data().empty() && chunk->sound();
    if (chunk->data().size() > kMostOtherChunk || chunk->is("tRNS")) return false;
    if (chunk->is("PLTE")) {
      if (has_palette || data_over || colour != kPalette || !read_palette(*chunk)) return false;
      has_palette = true;
    } else if (!chunk->ancillary()) {
      return false;
    }
  }
}

std::optional<ImageInfo> FastPng::open(Bytes file) {
  if (impl_->decompressor == nullptr || file.size() < kSignature) return std::nullopt;
  Bytes rest = file.subspan(kSignature);
  const std::optional<Chunk> header = take_chunk(rest);
  if (!header || !impl_->read_header(*header) || !impl_->walk(rest)) return std::nullopt;
  return impl_->info;
}

/// The compressed data in one piece; empty where a CRC is wrong or memory is out.
Bytes FastPng::Impl::gather() {
  Bytes rest = first_data;
  if (data_chunks == 1) {
    const Chunk chunk = *take_chunk(rest);
    return chunk.sound() ? chunk.data() : Bytes();
  }
  std::uint8_t* to = joined.get(data_bytes + 1);
  if (to == nullptr) return {};
  std::size_t at = 0;
  for (int i = 0; i < data_chunks; ++i) {
    const Chunk chunk = *take_chunk(rest);
    if (!chunk.sound()) return {};
    std::memcpy(to + at, chunk.data().data(), chunk.data().size());
    at += chunk.data().size();
  }
  return {to, at};
}

/// The rows [y, y + count) of the image, of which `group` holds the filter byte of the first.
void FastPng::Impl::emit(ImageSpan<std::uint8_t> out, Rect region, const std::uint8_t* group, int y,
                         int count) {
  const auto pixels = static_cast<std::size_t>(region.width);
  const std::size_t skipped =
      static_cast<std::size_t>(region.x) * (row_bytes / static_cast<std::size_t>(info.width));
  for (int i = std::max(0, region.y - y); i < count && y + i < region.y + region.height; ++i) {
    const std::uint8_t* samples =
        group + static_cast<std::size_t>(i) * (row_bytes + 1) + 1 + skipped;
    std::uint8_t* to = out.row(y + i - region.y);
    if (colour == kPalette)
      look_up(to, samples, pixels, palette);
    else
      detail::png_to_rgb(to, samples, pixels, info.channels);
  }
}

FastPng::Outcome FastPng::read(ImageSpan<std::uint8_t> out, Rect region, const Deadline& deadline) {
  Impl& impl = *impl_;
  assert(out.width() == region.width && out.height() == region.height && out.channels() == 3);
  const Bytes data = impl.gather();
  const std::size_t stride = impl.row_bytes + 1;
  const std::size_t raw_bytes = stride * static_cast<std::size_t>(impl.info.height);
  if (data.empty() || raw_bytes / kDeflateRatio > data.size()) return Outcome::declined;
  std::uint8_t* zeros = impl.raw.get(stride + raw_bytes + detail::kPngSlack);
  if (zeros == nullptr) return Outcome::declined;
  std::uint8_t* rows = zeros + stride;
  std::size_t used = 0;
  std::size_t made = 0;
  if (libdeflate_zlib_decompress_ex(impl.decompressor.get(), data.data(), data.size(), rows,
                                    raw_bytes, &used, &made) != LIBDEFLATE_SUCCESS ||
      used != data.size() || made != raw_bytes)
    return Outcome::declined;
  std::memset(zeros, 0, stride);
  std::memset(rows + raw_bytes, 0, detail::kPngSlack);
  const std::uint8_t* above = zeros;
  const int end = region.y + region.height;
  for (int y = 0; y < end; y += kRowsPerGroup) {
    if (deadline.passed()) return Outcome::too_slow;
    const int count = std::min(kRowsPerGroup, end - y);
    std::uint8_t* group = rows + static_cast<std::size_t>(y) * stride;
    if (!detail::png_unfilter(group, impl.row_bytes, count, impl.info.channels, above))
      return Outcome::declined;
    impl.emit(out, region, group, y, count);
    above = group + static_cast<std::size_t>(count - 1) * stride + 1;
  }
  return Outcome::done;
}

}  // namespace sluice::image
