// sluice/visit/storage/data.cpp - files for `sluice bench storage` to read when no input is given.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/visit/storage/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytesPerSize = std::uint64_t{32} << 20U;
constexpr std::uint64_t kFewest = 8;
constexpr std::uint64_t kMostObjects = 256;

/// Bytes that no file system can make smaller.
std::string noise(std::size_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  Rng rng(RngKey{.seed = seed});
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next_u64();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

/// Piece after piece of `noise`, each with its number in it.
Status write_file(const fs::path& path, std::string& noise, std::uint64_t size) {
  std::ofstream file(path, std::ios::binary);
  for (std::uint64_t at = 0; file && at < size; at += noise.size()) {
    if (stop_requested())
      return Error{Errc::interrupted, fmt::format("{}: stopped", printable(path.string()))};
    std::memcpy(noise.data(), &at, std::min(sizeof at, noise.size()));
    file.write(noise.data(),
               static_cast<std::streamsize>(std::min<std::uint64_t>(noise.size(), size - at)));
  }
  file.close();
  if (!file) {
    return Error{Errc::io, fmt::format("{}: cannot write {} bytes: is the disk full?",
                                       printable(path.string()), size)};
  }
  return ok;
}

}  // namespace

Status make_storage_data(StoragePlan& plan, const fs::path& folder, std::uint64_t seed) {
  plan.large.input = (folder / "large").string();
  plan.objects.input = (folder / "objects").string();
  SLUICE_CHECK(create_folders(plan.large.input));
  SLUICE_CHECK(create_folders(plan.objects.input));
  std::string bytes = noise(std::size_t{1} << 20U, seed);
  SLUICE_CHECK(write_file(folder / "large" / "large.bin", bytes, plan.bytes));
  for (const std::uint64_t size : plan.sizes) {
    const std::uint64_t count =
        std::min(plan.operations, std::clamp(kBytesPerSize / size, kFewest, kMostObjects));
    for (std::uint64_t i = 0; i < count; ++i)
      SLUICE_CHECK(
          write_file(folder / "objects" / fmt::format("{}-{:04}.bin", size, i), bytes, size));
  }
  return ok;
}

}  // namespace sluice::visit
