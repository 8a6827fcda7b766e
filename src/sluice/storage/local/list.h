// sluice/storage/local/list.h - the files of a folder in the order of their keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace sluice::storage {

struct ListOptions {
  std::string_view prefix{};  // of keys
  /// False: size is kSizeUnknown where knowing it would take a look at the file itself. Nine tenths
  /// of the time of a listing are such looks.
  bool sizes = true;
  /// As getdents64(2), which is the default: records of `directory` into `out`; 0 at the end, -1
  /// with errno.
  std::function<ssize_t(int directory, std::span<std::byte> out)> read_entries{};
};

/// Every regular file under the folder open as `root` (called `name` in errors) whose key begins
/// with `prefix`, in the order of key bytes, 1,024 at a time. Memory: the names of one folder per
/// level, 40 bytes each (80 while they are sorted), however many files there are in all.
///
/// Left out: names that begin with a dot, devices, what vanishes meanwhile. Links are followed, to
/// files and to folders; one that leads to nothing, or back to a folder it lies in, is left out.
/// Without `sizes` a file that vanishes may be listed, as one that vanishes just after.
Status list_folder(int root, const std::string& name, const ListOptions& options,
                   const ObjectStore::Page& page, const std::function<bool()>& stop);

}  // namespace sluice::storage
