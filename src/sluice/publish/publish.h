// sluice/publish/publish.h - a snapshot of result files that may be shown to anybody.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/results/result_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::publish {

inline constexpr int kManifestVersion = 1;
inline constexpr const char* kManifestName = "manifest.json";

struct PublishOptions {
  std::filesystem::path from;  // a run folder or a result file
  std::filesystem::path to;    // becomes the snapshot
  std::string purpose;         // "paper", "release"
  std::string machine;         // what people call it: "c4-standard-16"
  std::string notes;
  std::string utc;           // "2026-01-31T12:00:00Z"; empty: now
  bool force = false;        // replace a snapshot that is already at `to`
  bool allow_dirty = false;  // also what nobody can build again: a program of no commit there
};

struct Published {
  std::vector<std::string> files;  // relative to `to`, manifest.json not among them
  Json manifest;
};

/// `file` without anything that names people, machines and their paths: see publish/scrub.h.
/// Process numbers become 0 and leave the session id; the cloud section of the configuration goes.
Result<results::ResultFile> without_private(const results::ResultFile& file);

/// Validates every file, takes out what is private, and puts files and manifest at `to` in one
/// rename, so that nobody meets half a snapshot. Refused: unsound files, a destination that holds
/// anything (with `force`: anything but a snapshot), one inside the other, and unless `allow_dirty`
/// files of a program that was built from changed sources, outside a repository, or, where `to`
/// lies in Sluice's own, at a commit that is not in the history of its HEAD.
Result<Published> publish(const PublishOptions& options);

}  // namespace sluice::publish
