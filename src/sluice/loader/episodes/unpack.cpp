// sluice/loader/episodes/unpack.cpp - encoded tensors and text of steps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/loader/episodes/episode.h"

#include <fmt/format.h>

#include <libdeflate.h>
#include <memory>

namespace sluice::loader::episodes {
namespace {

constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 30;

/// Bytes of one value; 0: a type we do not know.
std::uint64_t value_bytes(std::string_view dtype) {
  if (dtype == "bool" || dtype == "uint8" || dtype == "int8") return 1;
  if (dtype == "float64" || dtype == "int64" || dtype == "uint64") return 8;
  if (dtype == "float32" || dtype == "int32" || dtype == "uint32") return 4;
  if (dtype == "float16" || dtype == "bfloat16" || dtype == "int16" || dtype == "uint16") return 2;
  return 0;
}

Status inflate(std::vector<std::byte>& out, const FeatureSpec& spec, std::string_view encoded) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> reader(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!reader) return bad_feature(spec, "no memory");
  if (libdeflate_zlib_decompress(reader.get(), encoded.data(), encoded.size(), out.data(),
                                 out.size(), nullptr) != LIBDEFLATE_SUCCESS)
    return bad_feature(spec, fmt::format("{} bytes that do not inflate to the {} of its shape",
                                         encoded.size(), out.size()));
  return ok;
}

void put_utf8(std::string& out, std::uint32_t character) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0U | character >> 6U);
    put(0x80U | (character & 0x3fU));
  } else if (character < 0x10000) {
    put(0xe0U | character >> 12U);
    put(0x80U | (character >> 6U & 0x3fU));
    put(0x80U | (character & 0x3fU));
  } else {
    put(0xf0U | character >> 18U);
    put(0x80U | (character >> 12U & 0x3fU));
    put(0x80U | (character >> 6U & 0x3fU));
    put(0x80U | (character & 0x3fU));
  }
}

}  // namespace

Status unpack_tensor(std::vector<std::byte>& out, const FeatureSpec& spec, std::string_view encoded,
                     std::span<const std::int64_t> shape) {
  if (shape.empty()) shape = spec.shape;
  std::uint64_t size = value_bytes(spec.dtype);
  if (size == 0) return bad_feature(spec, fmt::format("values of type {}", printable(spec.dtype)));
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) {  // one may be unknown: what the bytes leave for it
      if (spec.encoding != Encoding::bytes)
        return bad_feature(spec, "its shape is not known before it is inflated");
      out.assign(reinterpret_cast<const std::byte*>(encoded.data()),
                 reinterpret_cast<const std::byte*>(encoded.data()) + encoded.size());
      return ok;
    }
    if (dimension > 0 && size > kMaxTensorBytes / static_cast<std::uint64_t>(dimension))
      return bad_feature(spec, fmt::format("more than {} bytes", kMaxTensorBytes));
    size *= static_cast<std::uint64_t>(dimension);
  }
  out.resize(size);
  if (spec.encoding == Encoding::zlib) return inflate(out, spec, encoded);
  if (encoded.size() != size)
    return bad_feature(spec,
                       fmt::format("{} bytes where its shape needs {}", encoded.size(), size));
  std::copy_n(reinterpret_cast<const std::byte*>(encoded.data()), size, out.data());
  return ok;
}

Result<std::string> step_text(Episode& episode, const FeatureTable& features, std::size_t feature,
                              std::size_t step) {
  const FeatureSpec& spec = features.specs[feature];
  std::string text;
  if (spec.list() == storage::ListKind::ints) {
    SLUICE_TRY(const auto characters, episode.ints(feature, step));
    for (const std::int64_t character : characters) {
      const bool sound =
          character >= 0 && character < 0x110000 && (character < 0xd800 || character > 0xdfff);
      put_utf8(text, sound ? static_cast<std::uint32_t>(character) : 0xfffdU);
    }
  } else {
    SLUICE_TRY(const auto bytes, episode.bytes(feature, step));
    text = bytes;
  }
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

}  // namespace sluice::loader::episodes
