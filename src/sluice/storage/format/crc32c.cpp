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
#if defined(__x86_64__)
using Chain = std::uint64_t;  // as wide as the instruction has it; the upper half stays 0
#else
using Chain = std::uint32_t;
#endif

inline Chain add_word(Chain crc, const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
#if defined(__x86_64__)
  asm("crc32q %1, %0" : "+r"(crc) : "r"(word));
#else
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
#endif
  return crc;
}

inline std::uint32_t sum_of(Chain crc) {
  return static_cast<std::uint32_t>(crc);
}

constexpr std::size_t kLine = 64;  // of a cache

std::uint32_t by_instruction(std::span<const std::byte> bytes, std::uint32_t before) {
  static const std::array<Shift, 2> kShifts = {Shift(4096), Shift(256)};
  constexpr std::array<std::size_t, 2> kParts = {4096, 256};
  Chain crc = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const std::size_t part = kParts[i];
    for (; left >= 3 * part; left -= 3 * part, at += 3 * part) {
      Chain second = 0, third = 0;
      // Three pages at a time: what a processor fetches ahead by itself ends at each page.
      const std::byte* const ahead = at + (left >= 6 * part ? 3 * part : 0);
      for (std::size_t line = 0; line < part; line += kLine) {
        for (std::size_t chain = 0; chain < 3; ++chain)
          __builtin_prefetch(ahead + chain * part + line);
        const auto add = [&](std::size_t k) {
          crc = add_word(crc, at + k);
          second = add_word(second, at + part + k);
          third = add_word(third, at + 2 * part + k);
        };
        for (std::size_t k = line; k < line + kLine; k += 32) {
          add(k);  // by hand: neither compiler unrolls a loop of these
          add(k + 8);
          add(k + 16);
          add(k + 24);
        }
      }
      const Shift& shift = kShifts[i];
      crc = shift(shift(sum_of(crc)) ^ sum_of(second)) ^ sum_of(third);
    }
  }
  for (; left >= 8; left -= 8, at += 8)
    crc = add_word(crc, at);
  std::uint32_t sum = sum_of(crc);
  for (; left > 0; --left, ++at)
    sum = add_byte(sum, *at);
  return ~sum;
}

bool has_instruction() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

#else

std::uint32_t by_instruction(std::span<const std::byte> bytes, std::uint32_t before) {
  return crc32c_reference(bytes, before);
}
bool has_instruction() {
  return false;
}

#endif

}  // namespace

std::uint32_t crc32c_reference(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes)
    crc = add_byte(crc, byte);
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const bool fast = has_instruction();
  return fast ? by_instruction(bytes, before) : crc32c_reference(bytes, before);
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
