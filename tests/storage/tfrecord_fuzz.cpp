// tests/storage/tfrecord_fuzz.cpp - libFuzzer: records of any bytes lie inside them, or are
// refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tfrecord.h"

#include "tests/storage/memory_store.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  testing::MemoryStore store;
  store.objects["f"].assign(reinterpret_cast<const char*>(data), size);
  RecordReader reader(store, {.key = "f", .size = size});
  std::string written;
  while (true) {
    const auto record = reader.next();
    if (!record || !*record) {
      if (record && written != store.objects["f"]) std::abort();  // all of it was records
      return 0;
    }
    if ((**record).place.end() > size) std::abort();
    const auto payload = (**record).payload;
    append_record(written, {reinterpret_cast<const char*>(payload.data()), payload.size()});
  }
}
