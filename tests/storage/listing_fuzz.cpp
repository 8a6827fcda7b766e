// tests/storage/listing_fuzz.cpp - libFuzzer: any bytes as an answer of S3 are a listing in order,
// or refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/plan.h"
#include "sluice/storage/remote/s3_store.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_s3_error(text);
  const auto page = parse_s3_listing(text, "p/");
  if (!page) return 0;
  const Object* before = nullptr;
  for (const Object& object : page->objects) {
    if (object.key.empty()) std::abort();
    if (before != nullptr && name_less(object.key, before->key)) std::abort();
    before = &object;
  }
  return 0;
}
