// sluice/storage/local/list.h - the files of a folder in the order of their keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <functional>
#include <string>
#include <string_view>

namespace sluice::storage {

/// Every regular file under the folder open as `root` (called `name` in errors) whose key begins
/// with `prefix`, in the order of key bytes, 1,024 at a time. Memory: the names of one folder per
/// level, 40 bytes each, however many files there are in all.
///
/// Left out: names that begin with a dot, devices, what vanishes meanwhile. Links are followed, to
/// files and to folders; one that leads to nothing, or back to a folder it lies in, is left out.
Status list_folder(int root, const std::string& name, std::string_view prefix,
                   const ObjectStore::Page& page, const std::function<bool()>& stop);

}  // namespace sluice::storage
