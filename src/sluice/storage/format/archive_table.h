// sluice/storage/format/archive_table.h - the C interface between the program and
// libsluice_archive.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Plain types only, as in image/video_table.h. Any change here raises kSluiceArchiveAbi. Functions
// keep no pointer of the caller's after close, and none throws or prints.
extern "C" {

enum SluiceArchiveType : std::int32_t {
  kSluiceArchiveFile = 0,
  kSluiceArchiveFolder = 1,
  kSluiceArchiveSymbolicLink = 2,
  kSluiceArchiveHardLink = 3,
  kSluiceArchiveOther = 4,
};

enum SluiceArchiveCode : std::int32_t {
  kSluiceArchiveOk = 0,
  kSluiceArchiveInvalid = 1,      // the bytes are not what they should be
  kSluiceArchiveUnsupported = 2,  // libarchive was built without something
  kSluiceArchiveNoMemory = 3,
};

struct SluiceArchiveError {
  std::int32_t code;
  char text[252];  // one line, ends with NUL
};

/// Texts live until the next call.
struct SluiceArchiveEntry {
  std::int32_t type;
  std::int64_t size;
  const char* name;
  const char* target;
};

/// Where the bytes of the archive come from.
struct SluiceArchiveInput {
  void* user;
  /// Points *block at the next bytes and returns how many; 0 at the end, -1 on failure.
  std::ptrdiff_t (*read)(void* user, const void** block);
  /// Passes over at most `count` bytes and returns how many; 0 when it cannot.
  std::int64_t (*skip)(void* user, std::int64_t count);
};

struct SluiceArchive;

struct SluiceArchiveTable {
  std::uint32_t abi;
  const char* version;  // "libarchive 3.6.2 ..."
  std::int32_t (*open)(SluiceArchive** archive, const SluiceArchiveInput* input,
                       SluiceArchiveError* error);
  /// 1: an entry; 0: the end; -1: *error.
  std::int32_t (*next)(SluiceArchive* archive, SluiceArchiveEntry* entry,
                       SluiceArchiveError* error);
  /// Bytes of the entry, 0 at its end; -1: *error.
  std::ptrdiff_t (*read)(SluiceArchive* archive, void* out, std::size_t size,
                         SluiceArchiveError* error);
  void (*close)(SluiceArchive* archive);
};

/// The one symbol of the module.
using SluiceArchiveTableFunction = const SluiceArchiveTable*();

}  // extern "C"

inline constexpr std::uint32_t kSluiceArchiveAbi = 1;
inline constexpr const char* kSluiceArchiveSymbol = "sluice_archive_table";
