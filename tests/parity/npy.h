// tests/parity/npy.h - arrays in NumPy's own file format, as far as a test needs it: fp32 and
// int32, C order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file.h"
#include "sluice/core/result.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::testing {

inline constexpr std::string_view kNpyMagic("\x93NUMPY\x01\x00", 8);

template <class T>
Status write_npy(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                 std::span<const T> values) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
  std::string sides;
  for (const std::int64_t side : shape)
    sides += fmt::format("{},", side);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   std::is_same_v<T, float> ? "<f4" : "<i4", sides);
  while ((kNpyMagic.size() + 2 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  std::string bytes(kNpyMagic);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return write_file_atomic(path, bytes);
}

/// All values of a float32 file, whatever its shape.
inline Result<std::vector<float>> read_npy(const std::filesystem::path& path) {
  SLUICE_TRY(const auto bytes, read_binary_file(path));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kNpyMagic) || text.size() < 10)
    return Error{Errc::invalid_input, path.string() + ": is no NumPy file"};
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t start = 10 + byte(8) + 256 * byte(9);
  if (start > text.size() || text.substr(0, start).find("'<f4'") == std::string_view::npos)
    return Error{Errc::invalid_input, path.string() + ": holds no float32 values"};
  std::vector<float> values((text.size() - start) / sizeof(float));
  std::memcpy(values.data(), text.data() + start, values.size() * sizeof(float));
  return values;
}

}  // namespace sluice::testing
