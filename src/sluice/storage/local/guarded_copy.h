// sluice/storage/local/guarded_copy.h - copies out of a mapped file that may shrink meanwhile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sluice::storage {

/// memcpy(to, from, size), except that a page of `from` that is gone (the file was cut short) or
/// cannot be read (the disk failed) gives false instead of SIGBUS; `to` is then undefined.
///
/// The first call installs a handler of SIGBUS for the process. It acts only on addresses inside a
/// copy of the thread that faults and hands every other fault to the handler that was there before.
[[nodiscard]] bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace sluice::storage
