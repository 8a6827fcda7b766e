// tests/storage/store_probe.cpp - lists a store and reads every object of it, for tests whose
// server is a program of somebody else: one JSON line per object on standard output.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/storage/open_store.h"
#include "sluice/storage/remote/fetch_object.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::storage;

/// By ranges in order, then once more side by side: the digests of both.
Result<Json> probe(ObjectStore& store, const Object& listed, std::size_t range) {
  SLUICE_TRY(const Object object, store.stat(listed.key));
  ReadBuffer buffer;
  Sha256 in_order;
  for (std::uint64_t offset = 0; offset < object.size; offset += range) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(range, object.size - offset));
    SLUICE_TRY(const auto bytes, store.read(listed, offset, size, buffer));
    in_order.update(bytes);
  }
  std::vector<std::byte> whole(object.size, std::byte{0xa5});
  SLUICE_CHECK(fetch_object(store, object,
                            [&](std::uint64_t offset, std::span<const std::byte> part) -> Status {
                              std::memcpy(whole.data() + offset, part.data(), part.size());
                              return ok;
                            },
                            {.streams = 4, .range_bytes = std::max<std::size_t>(range, 4096)}));
  return Json{{"key", object.key},
              {"size", object.size},
              {"listed_size", listed.size},
              {"version", object.version},
              {"listed_version", listed.version},
              {"sha256", in_order.hex()},
              {"sha256_parts", sha256_hex(std::span<const std::byte>(whole))}};
}

Status run(const StoreOptions& options, std::size_t range) {
  SLUICE_TRY(const auto store, open_store(options));
  return store->list("", [&](std::span<const Object> objects) -> Status {
    for (const Object& object : objects) {
      SLUICE_TRY(const Json line, probe(*store, object, range));
      std::printf("%s\n", dump_json(line, -1).c_str());
    }
    return ok;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: store_probe URI [RANGE_BYTES] [--anonymous] [ENDPOINT]\n", stderr);
    return 2;
  }
  StoreOptions options;
  options.input = argv[1];
  std::size_t range = 100'000;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--anonymous") {
      options.anonymous = true;
    } else if (word.starts_with("http")) {
      options.endpoint = word;
    } else {
      range = std::stoul(word);
    }
  }
  const Status done = run(options, range);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return 1;
}
