// sluice/image/inputs/array_maker.cpp - a folder of generated arrays (.npy), all of one size.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/array_maker.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/rng.h"
#include "sluice/core/temporary_files.h"
#include "sluice/core/text.h"
#include "sluice/image/dataset.h"
#include "sluice/image/npy.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeader = 128;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr int kMaxArrays = 1'000'000;

std::string array_name(int index) {
  return fmt::format("array-{:06}.npy", index);
}

Status check(const ArrayOptions& options) {
  if (options.folder.empty())
    return Error{Errc::usage, "the folder to write is missing; --out DIR is accepted"};
  if (options.count < 1 || options.count > kMaxArrays)
    return Error{Errc::usage,
                 fmt::format("--count {}: 1 to {} is accepted", options.count, kMaxArrays)};
  if (options.bytes <= kHeader || options.bytes > kMaxBytes)
    return Error{Errc::usage, fmt::format("--bytes {}: {} to {} is accepted", options.bytes,
                                          kHeader + 1, kMaxBytes)};
  return ok;
}

/// Files that are not ours to overwrite or to lie beside.
Status check_folder(const ArrayOptions& options) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("array-", 0) != 0 && name != kLockInFolder && !options.force)
      return Error{Errc::usage, fmt::format("{}: holds other files, such as '{}'; an empty folder, "
                                            "or --force, is accepted",
                                            printable(options.folder.string()), printable(name))};
  }
  return ok;
}

Status fill(std::vector<std::uint8_t>& out, const ArrayOptions& options, int index) {
  std::vector<std::uint8_t> data(static_cast<std::size_t>(options.bytes - kHeader));
  Rng rng({.seed = options.seed, .index = static_cast<std::uint64_t>(index)});
  for (std::size_t i = 0; i < data.size(); i += 8) {
    const std::uint64_t word = rng.next_u64();
    for (std::size_t b = 0; b < 8 && i + b < data.size(); ++b)
      data[i + b] = static_cast<std::uint8_t>(word >> (8 * b));
  }
  const std::int64_t shape[] = {static_cast<std::int64_t>(data.size())};
  SLUICE_CHECK(encode_npy(out, shape, DType::u8, data));
  if (out.size() != options.bytes)
    return Error{Errc::internal,
                 fmt::format("an array of {} bytes instead of {}", out.size(), options.bytes)};
  return ok;
}

/// One array of an earlier call shows that the others are ours to mend; without any they are not.
Status check_arrays(const ArrayOptions& options) {
  std::vector<std::uint8_t> bytes;
  std::string foreign;
  for (int i = 0; i < options.count && !options.force; ++i) {
    const fs::path path = options.folder / array_name(i);
    std::error_code unknown;
    if (!fs::exists(fs::symlink_status(path, unknown))) continue;
    SLUICE_CHECK(fill(bytes, options, i));
    const auto there = read_binary_file(path, options.bytes);
    if (there && *there == bytes) return ok;
    if (foreign.empty()) foreign = printable(path.string());
  }
  if (foreign.empty()) return ok;
  return Error{Errc::usage, fmt::format("{}: holds something else; another folder, or --force, is "
                                        "accepted",
                                        foreign)};
}

}  // namespace

Result<MadeArrays> make_arrays(const ArrayOptions& options, Progress& progress) {
  SLUICE_CHECK(check(options));
  SLUICE_CHECK(create_folders(options.folder));
  SLUICE_TRY(const FileLock lock,
             FileLock::take(options.folder / kLockInFolder, printable(options.folder.string())));
  remove_stale_temporaries(options.folder);
  SLUICE_CHECK(check_folder(options));
  SLUICE_CHECK(check_arrays(options));
  MadeArrays made;
  DatasetHash hash;
  std::vector<std::uint8_t> bytes;
  Progress::Bar bar =
      progress.bar("make arrays", static_cast<std::uint64_t>(options.count), "files");
  for (int i = 0; i < options.count; ++i) {
    SLUICE_CHECK(fill(bytes, options, i));
    hash.add(array_name(i), bytes);
    const fs::path path = options.folder / array_name(i);
    const auto there = read_binary_file(path, options.bytes);
    const bool same = there && *there == bytes;
    if (!same) {
      SLUICE_CHECK(write_file_atomic(
          path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, Flush::later));
      ++made.written;
    }
    ++made.count;
    made.bytes += bytes.size();
    bar.add();
  }
  made.hash = hash.hex();
  return made;
}

}  // namespace sluice::image
