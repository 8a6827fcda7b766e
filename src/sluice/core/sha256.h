// sluice/core/sha256.h - SHA-256 (FIPS 180-4), for digests of data and of outputs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// update() any number of times, then one of digest() or hex(), once.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  void update(std::span<const std::uint8_t> bytes) { update(std::as_bytes(bytes)); }
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }

  std::array<std::uint8_t, 32> digest();
  /// 64 lower-case digits.
  std::string hex();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::span<const std::uint8_t> bytes);
std::string sha256_hex(std::string_view text);

}  // namespace sluice
