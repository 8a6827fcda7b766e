// tests/storage/listing_fuzz.cpp - libFuzzer: any bytes as an answer of S3 or GCS are a listing in
// order, or refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/plan.h"
#include "sluice/storage/remote/gcs_dialect.h"
#include "sluice/storage/remote/listing_check.h"
#include "sluice/storage/remote/s3_store.h"

#include <cstdlib>

namespace {

using namespace sluice::storage;  // NOLINT(google-build-using-namespace): one file

void look_at(sluice::Result<ListPage> page) {
  if (!page || !ListingCheck().take(*page)) return;
  const Object* before = nullptr;
  for (const Object& object : page->objects) {
    if (object.key.empty() || object.size > kMaxObjectBytes) std::abort();
    if (before != nullptr && !name_less(before->key, object.key)) std::abort();
    before = &object;
  }
  ListingCheck check;
  if (check.advance(*page) && !page->objects.empty() && check.take(*page)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_s3_error(text);
  look_at(parse_s3_listing(text, "p/"));
  static const auto gcs = [] {
    GcsDialectOptions options;
    options.endpoint = "http://localhost";
    options.bucket = "bucket";
    options.root = "p/";
    return make_gcs_dialect(std::move(options));
  }();
  HttpReply reply{};
  reply.body = text;
  reply.head.status = 200;
  look_at(gcs->parse_list(reply));
  if (const auto object = gcs->parse_stat("a", reply); object && object->key != "a") std::abort();
  gcs->refuse(reply.head, text);
  return 0;
}
