// tests/storage/bundle_index_fuzz.cpp - libFuzzer: an index of any bytes names slices inside its
// bundles, or is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/bundle_index.h"
#include "sluice/storage/format/checksum.h"

#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = std::byte{data[i]};
  if (size >= 8) {  // or nothing but the checksum would ever be looked at
    const std::uint64_t sum = checksum(std::span(bytes).first(size - 8));
    for (std::size_t i = 0; i < 8; ++i)
      bytes[size - 8 + i] = static_cast<std::byte>(sum >> (8 * i));
  }
  const auto index = BundleIndex::parse(bytes, "fuzz");
  if (!index) return 0;
  std::size_t next = 0;
  for (const auto& bundle : index->bundles)
    for (std::uint64_t i = 0; i < bundle.samples; ++i) {
      const auto& sample = index->samples.at(next++);
      if (sample.offset + sample.size > bundle.bytes || index->name(sample).empty()) std::abort();
    }
  const std::string written = index->serialize();
  if (written.size() != size) std::abort();
  return 0;
}
