// bench/s3_copy.cpp - copies one object of a store to a file, to be held against `rclone copy`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/open_store.h"
#include "sluice/storage/remote/fetch_object.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

using namespace sluice;
using namespace sluice::storage;

Status write_all(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n <= 0) return Error{Errc::io, "cannot write"};
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return ok;
}

Status copy(const std::string& input, const std::string& key, const std::string& out, int streams,
            const std::string& endpoint) {
  StoreOptions options;
  options.input = input;
  options.endpoint = endpoint;
  SLUICE_TRY(const auto store, open_store(options));
  SLUICE_TRY(const Object object, store->stat(key));
  const int file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return Error{Errc::io, out + ": cannot be made"};
  const Status status = fetch_object(*store, object,
                                     [&](std::uint64_t offset, std::span<const std::byte> bytes) {
                                       return write_all(file, offset, bytes);
                                     },
                                     {.streams = streams});
  close(file);
  SLUICE_CHECK(status);
  fmt::print("{}\n", dump_json(store->counters(), -1));
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: s3_copy s3://BUCKET/PREFIX KEY OUT STREAMS ENDPOINT\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const sluice::Status status = copy(argv[1], argv[2], argv[3], std::atoi(argv[4]), argv[5]);
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().message);
    return 1;
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"wall_s\": {:.3f}, \"cpu_s\": {:.3f}}}\n", wall.count(), bench::cpu_seconds());
  return 0;
}
