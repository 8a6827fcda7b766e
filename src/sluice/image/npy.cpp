// sluice/image/npy.cpp - the header of a .npy file is a Python dictionary: parsed strictly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/npy.h"

#include "sluice/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

namespace sluice::image {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are copied as they lie");

constexpr std::array<std::uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxHeader = 65536;
constexpr std::size_t kHeaderAlignment = 64;

Error bad_npy(std::string message) {
  return Error{Errc::invalid_input, "NPY: " + std::move(message)};
}

/// Reads "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }" from left to right.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(0, token.size()) != token) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  /// 'text' or "text", without escapes.
  std::optional<std::string_view> quoted() {
    skip_spaces();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return found;
  }
  std::optional<std::int64_t> integer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (problem != std::errc{}) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

struct Header {
  std::optional<DType> dtype;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

Status read_dtype(Header& header, HeaderText& text) {
  const auto name = text.quoted();
  if (!name) return bad_npy("the header has no readable 'descr'; '|u1' and '<f4' are read");
  if (*name == "|u1" || *name == "u1" || *name == "<u1" || *name == ">u1") {
    header.dtype = DType::u8;
  } else if (*name == "<f4") {
    header.dtype = DType::f32;
  } else {
    return bad_npy(fmt::format("samples of type '{}'; '|u1' (u8) and '<f4' (f32) are read",
                               printable(name->substr(0, 40))));
  }
  return ok;
}

/// "()", "(3,)", "(3, 4)", "(3, 4,)".
Status read_shape(Header& header, HeaderText& text) {
  std::vector<std::int64_t> shape;
  if (!text.take("(")) return bad_npy("the shape is no tuple");
  bool comma = true;
  while (!text.take(")")) {
    const auto side = comma ? text.integer() : std::nullopt;
    if (!side || *side < 0) return bad_npy("the shape is no tuple of sizes");
    if (shape.size() == kMaxDimensions)
      return bad_npy(fmt::format("more than {} dimensions", kMaxDimensions));
    shape.push_back(*side);
    comma = text.take(",");
  }
  if (shape.size() == 1 && !comma) return bad_npy("the shape is no tuple of sizes");
  header.shape = std::move(shape);
  return ok;
}

Status read_entry(Header& header, HeaderText& text) {
  const auto key = text.quoted();
  if (!key || !text.take(":")) return bad_npy("the header is no dictionary");
  if (*key == "descr" && !header.dtype) return read_dtype(header, text);
  if (*key == "shape" && !header.shape) return read_shape(header, text);
  if (*key == "fortran_order" && !header.fortran) {
    const bool yes = text.take("True");
    if (!yes && !text.take("False")) return bad_npy("fortran_order is neither True nor False");
    header.fortran = yes;
    return ok;
  }
  return bad_npy(fmt::format("the header has a key '{}' too many", printable(key->substr(0, 40))));
}

Result<Header> parse_header(std::string_view header_text) {
  HeaderText text(header_text);
  Header header;
  if (!text.take("{")) return bad_npy("the header is no dictionary");
  bool comma = true;
  while (!text.take("}")) {
    if (!comma) return bad_npy("the header is no dictionary");
    SLUICE_CHECK(read_entry(header, text));
    comma = text.take(",");
  }
  if (!text.at_end()) return bad_npy("the header goes on after its dictionary");
  if (!header.dtype || !header.fortran || !header.shape)
    return bad_npy("the header lacks one of descr, fortran_order and shape");
  return header;
}

/// Bytes of all samples; nothing when they cannot be counted.
std::optional<std::uint64_t> bytes_of(std::span<const std::int64_t> shape, DType dtype) {
  std::uint64_t bytes = size_of(dtype);
  const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const std::int64_t side : shape) {
    if (side < 0) return std::nullopt;
    if (!none && __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(side), &bytes))
      return std::nullopt;
  }
  return none ? 0 : bytes;
}

template <Sample T>
Status encode_image(std::vector<std::uint8_t>& out, ImageView<T> image, DType dtype) {
  if (image.empty()) return bad_npy("an empty image cannot be written");
  std::vector<std::uint8_t> packed(image.samples() * sizeof(T));
  for (int y = 0; y < image.height(); ++y)
    std::memcpy(packed.data() + static_cast<std::size_t>(y) * image.row_bytes(), image.row(y),
                image.row_bytes());
  const std::array<std::int64_t, 3> shape = {image.height(), image.width(), image.channels()};
  return encode_npy(out, shape, dtype, packed);
}

}  // namespace

bool is_npy(Bytes bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

Result<NpyArray> parse_npy(Bytes bytes) {
  if (!is_npy(bytes)) return bad_npy("the file does not start with \\x93NUMPY");
  constexpr std::size_t kVersionAt = 6, kLengthAt = 8;
  if (bytes.size() < 12) return bad_npy("the file ends inside its header");
  const int version = bytes[kVersionAt];
  if (version < 1 || version > 3)
    return bad_npy(fmt::format("version {} of the format; 1 to 3 are read", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::size_t{bytes[kLengthAt + i]} << (8 * i);
  const std::size_t start = kLengthAt + length_bytes;
  if (length > kMaxHeader)
    return bad_npy(fmt::format("a header of {} bytes; at most {} are read", length, kMaxHeader));
  if (bytes.size() - start < length) return bad_npy("the file ends inside its header");
  SLUICE_TRY(Header header,
             parse_header({reinterpret_cast<const char*>(bytes.data()) + start, length}));
  if (*header.fortran) return bad_npy("Fortran order; arrays in C order are read");
  NpyArray array;
  array.dtype = *header.dtype;
  array.shape = std::move(*header.shape);
  array.data = bytes.subspan(start + length);
  const auto needed = bytes_of(array.shape, array.dtype);
  if (!needed || *needed != array.data.size())
    return bad_npy(fmt::format("the shape ({}) needs {} bytes of data, {} are there",
                               fmt::join(array.shape, ", "),
                               needed ? std::to_string(*needed) : "countless", array.data.size()));
  return array;
}

Status decode_npy(Image& out, Bytes bytes) {
  SLUICE_TRY(const NpyArray array, parse_npy(bytes));
  const std::vector<std::int64_t>& shape = array.shape;
  if (shape.size() != 2 && shape.size() != 3)
    return bad_npy(fmt::format("{} dimensions; (h, w) and (h, w, c) are images", shape.size()));
  const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
  if (*std::max_element(shape.begin(), shape.end()) > kMaxSide || channels > kMaxChannels)
    return bad_npy(fmt::format("an image of shape ({}); sides to {} and {} channels are read",
                               fmt::join(shape, ", "), kMaxSide, kMaxChannels));
  SLUICE_CHECK(out.resize_for(static_cast<int>(shape[1]), static_cast<int>(shape[0]),
                              static_cast<int>(channels), array.dtype));
  void* pixels = array.dtype == DType::u8 ? static_cast<void*>(out.span<std::uint8_t>().data())
                                          : static_cast<void*>(out.span<float>().data());
  std::memcpy(pixels, array.data.data(), array.data.size());
  return ok;
}

Status encode_npy(std::vector<std::uint8_t>& out, std::span<const std::int64_t> shape, DType dtype,
                  Bytes data) {
  const auto needed = bytes_of(shape, dtype);
  if (shape.size() > kMaxDimensions || !needed || *needed != data.size())
    return bad_npy(fmt::format("the shape ({}) does not fit {} bytes of data",
                               fmt::join(shape, ", "), data.size()));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   dtype == DType::u8 ? "|u1" : "<f4", fmt::join(shape, ", "),
                                   shape.size() == 1 ? "," : "");
  constexpr std::size_t kPreamble = 10;
  // Spaces, so that the data starts at a multiple of 64 as NumPy's own files do.
  while ((kPreamble + header.size() + 1) % kHeaderAlignment != 0)
    header += ' ';
  header += '\n';
  out.assign(kMagic.begin(), kMagic.end());
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, header.size() & 255, header.size() >> 8})
    out.push_back(static_cast<std::uint8_t>(byte));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return ok;
}

Status encode_npy(std::vector<std::uint8_t>& out, ImageView<std::uint8_t> image) {
  return encode_image(out, image, DType::u8);
}

Status encode_npy(std::vector<std::uint8_t>& out, ImageView<float> image) {
  return encode_image(out, image, DType::f32);
}

}  // namespace sluice::image
