// sluice/storage/format/crc32c.cpp - three chains of the CRC instruction side by side, joined by
// tables.
// SPDX-License-Identifier: Apache-2.0
//
// The instruction takes 8 bytes per cycle but answers after three: one chain is a third of what the
// unit can do. Parts of one length are summed apart and joined: a sum is moved over the zeros of
// the parts behind it by a linear map, kept as four tables of a byte each (as zlib's author does).
#include "sluice/storage/format/crc32c.h"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace sluice::storage {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> make_byte_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kByteTable = make_byte_table();

std::uint32_t add_byte(std::uint32_t crc, std::byte byte) {
  return (crc >> 8U) ^ kByteTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
}

/// A sum moved over `bytes` of zeros.
class Shift {
 public:
  explicit Shift(std::size_t bytes) {
    std::array<std::uint32_t, 32> of_bit{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
      std::uint32_t crc = std::uint32_t{1} << bit;
      for (std::size_t i = 0; i < bytes; ++i)
        crc = add_byte(crc, std::byte{0});
      of_bit[bit] = crc;
    }
    for (std::size_t part = 0; part < 4; ++part)
      for (std::size_t value = 0; value < 256; ++value)
        for (std::size_t bit = 0; bit < 8; ++bit)
          if ((value >> bit & 1U) != 0) table_[part][value] ^= of_bit[8 * part + bit];
  }
  [[nodiscard]] std::uint32_t operator()(std::uint32_t crc) const {
    return table_[0][crc & 0xffU] ^ table_[1][crc >> 8U & 0xffU] ^ table_[2][crc >> 16U & 0xffU] ^
           table_[3][crc >> 24U];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> table_{};
};

#if defined(__x86_64__) || defined(__aarch64__)

// By hand, so that the file needs no flags: both compilers' intrinsics want the instruction set
// switched on for the whole function or file.
inline std::uint32_t add_word(std::uint32_t crc, const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
#if defined(__x86_64__)
  std::uint64_t wide = crc;
  asm("crc32q %1, %0" : "+r"(wide) : "r"(word));
  return static_cast<std::uint32_t>(wide);
#else
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  return crc;
#endif
}

std::uint32_t by_instruction(std::span<const std::byte> bytes) {
  static const std::array<Shift, 2> kShifts = {Shift(4096), Shift(256)};
  constexpr std::array<std::size_t, 2> kParts = {4096, 256};
  std::uint32_t crc = 0xffffffffU;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const std::size_t part = kParts[i];
    for (; left >= 3 * part; left -= 3 * part, at += 3 * part) {
      std::uint32_t second = 0, third = 0;
      for (std::size_t k = 0; k < part; k += 8) {
        crc = add_word(crc, at + k);
        second = add_word(second, at + part + k);
        third = add_word(third, at + 2 * part + k);
      }
      crc = kShifts[i](kShifts[i](crc) ^ second) ^ third;
    }
  }
  for (; left >= 8; left -= 8, at += 8)
    crc = add_word(crc, at);
  for (; left > 0; --left, ++at)
    crc = add_byte(crc, *at);
  return ~crc;
}

bool has_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

#else

std::uint32_t by_instruction(std::span<const std::byte> bytes) {
  return crc32c_reference(bytes);
}
bool has_instruction() {
  return false;
}

#endif

}  // namespace

std::uint32_t crc32c_reference(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte byte : bytes)
    crc = add_byte(crc, byte);
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  static const bool fast = has_instruction();
  return fast ? by_instruction(bytes) : crc32c_reference(bytes);
}

std::string_view crc32c_target() {
  if (!has_instruction()) return "plain";
#if defined(__x86_64__)
  return "sse4.2";
#else
  return "armv8";
#endif
}

}  // namespace sluice::storage
