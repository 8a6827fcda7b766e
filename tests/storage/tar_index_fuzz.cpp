// tests/storage/tar_index_fuzz.cpp - libFuzzer: members of any bytes lie inside them, or are
// refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tar_index.h"

#include "tests/storage/memory_store.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  testing::MemoryStore store;
  store.objects["a.tar"].assign(reinterpret_cast<const char*>(data), size);
  TarScan scan(store, {.key = "a.tar", .size = size});
  std::uint64_t end = 0;  // of the member before
  for (std::size_t members = 0;; ++members) {
    const auto member = scan.next();
    if (!member || !*member) return 0;
    const TarMember& found = **member;
    if (found.offset < end + 512 || found.offset > size || found.size > size - found.offset)
      std::abort();
    end = found.offset + found.size;
    if (members > size / 512) std::abort();
    const auto content = scan.content(found);
    if (content && content->size() != found.size) std::abort();
  }
}
