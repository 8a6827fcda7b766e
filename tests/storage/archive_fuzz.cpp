// tests/storage/archive_fuzz.cpp - libFuzzer: any bytes are listed, planned and read, or refused,
// within small limits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/archive.h"
#include "sluice/storage/plan.h"

#include <array>
#include <cstdlib>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::setenv("SLUICE_MODULE_DIR", SLUICE_MODULE_DIR, 1);
  const std::uint8_t none = 0;
  const auto reader = sluice::storage::ArchiveReader::open(std::span(&none, 1));
  if (!reader && reader.error().code == sluice::Errc::unsupported) std::abort();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  auto reader = ArchiveReader::open(std::span(data, size));
  if (!reader) return 0;
  StageLimits limits;
  limits.max_bytes = 1 << 20;
  limits.max_file_bytes = 1 << 18;
  limits.max_entries = 1000;
  Planner planner({{"jpg", "png"}, 10}, limits, size);
  ArchiveEntry entry;
  std::array<std::byte, 4096> block;
  unsigned sum = 0;
  for (;;) {
    const auto more = reader->next(entry);
    if (!more || !*more) break;
    if (!planner.add(entry)) return 0;
    for (std::uint64_t taken = 0; taken <= limits.max_file_bytes;) {
      const auto n = reader->read(block);
      if (!n || *n == 0) break;
      for (std::size_t i = 0; i < *n; ++i)  // memory checkers see what was not written
        sum += static_cast<unsigned>(block[i]);
      taken += *n;
    }
  }
  const auto plan = planner.finish();
  if (!plan) return 0;
  for (const StageFile& file : plan->files) {
    const auto safe = safe_name(file.name);
    if (!safe || *safe != file.name || file.name.front() == '/') std::abort();
  }
  return sum == 0xFFFFFFFF ? 1 : 0;
}
