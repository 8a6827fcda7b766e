// sluice/storage/format/crc32c.h - CRC-32C (Castagnoli), by the processor's own instruction where
// it has one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::storage {

/// Of the whole of `bytes`, or of all that `before` is the sum of and then `bytes`. SSE4.2 or the
/// CRC extension of Armv8 if this machine has it, chosen at run time; else crc32c_reference.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The definition, a byte at a time: polynomial 0x1EDC6F41 reflected, all ones before and after.
std::uint32_t crc32c_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// As TFRecord stores it: turned and shifted, so that a checksum over bytes with a checksum in them
/// stays sound.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) {
  return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
}

/// "sse4.2", "armv8" or "plain": what crc32c() runs on.
std::string_view crc32c_target();

}  // namespace sluice::storage
