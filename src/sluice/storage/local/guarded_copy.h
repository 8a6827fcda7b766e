// sluice/storage/local/guarded_copy.h - copies out of a mapped file, and sums of it, that may
// shrink meanwhile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::storage {

/// memcpy(to, from, size), except that a page of `from` that is gone (the file was cut short) or
/// cannot be read (the disk failed) gives false instead of SIGBUS; `to` is then undefined.
///
/// The first call installs a handler of SIGBUS for the process. It acts only on addresses inside a
/// copy or sum of the thread that faults and hands every other fault to the handler that was there
/// before.
[[nodiscard]] bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size);

/// `crc` = crc32c(from, crc), likewise.
[[nodiscard]] bool guarded_sum(std::uint32_t& crc, std::span<const std::byte> from);

/// False: somebody took the handler's place since, and nothing is guarded. Installs it when it is
/// asked first.
[[nodiscard]] bool guard_stands();

}  // namespace sluice::storage
