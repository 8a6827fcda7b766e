// sluice/storage/plan.h - which files of a source are staged, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/format/archive.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

struct StageFilter {
  std::vector<std::string> suffixes;  // without the dot, lower case
  std::uint64_t limit = 0;            // the first so many in name order; 0: all
};

/// Suffixes of "image", "video" and "9ch"; empty for another kind.
std::vector<std::string> suffixes_of(std::string_view kind);

struct StageLimits {
  std::uint64_t max_bytes = std::uint64_t{1} << 40;       // of what is staged
  std::uint64_t max_file_bytes = std::uint64_t{1} << 36;  // of one entry, staged or not
  std::uint64_t max_entries = 20'000'000;
  std::uint64_t max_ratio = 200;  // all content over the archive; below 1 GiB anything goes
};

struct StageFile {
  std::string name;  // relative, '/' between parts, no "." or ".."
  std::uint64_t size = 0;
};

/// What was left out, and why.
struct StageSkipped {
  std::uint64_t hidden = 0;  // .DS_Store, ._x, __MACOSX, whatever begins with a dot
  std::uint64_t suffix = 0;  // of another kind
  std::uint64_t links = 0;
  std::uint64_t over_limit = 0;
};

struct StagePlan {
  std::vector<StageFile> files;  // sorted by the bytes of their names
  std::uint64_t bytes = 0;
  StageSkipped skipped;
  /// The file of that name; nullptr if it is not staged.
  [[nodiscard]] const StageFile* find(std::string_view name) const;
};

/// The order of names: by bytes, whatever the sign of char.
bool name_less(std::string_view a, std::string_view b);

/// SHA-256 over names and sizes, in order.
std::string listing_hash(const std::vector<StageFile>& files);

/// The name of an entry as a safe relative path: no leading '/', no "..", no part over 255 bytes,
/// none over 1024 in all. Empty for the root itself.
Result<std::string> safe_name(std::string_view name);

/// Fed with every entry of a source, then asked once for the plan. Errors are one line that names
/// the entry.
class Planner {
 public:
  /// `source_bytes` is the size of the archive, for max_ratio; 0: not compressed.
  Planner(StageFilter filter, const StageLimits& limits, std::uint64_t source_bytes);
  /// Refuses what no honest archive holds: names that lead out, links that do, device nodes, sizes
  /// over the limits. Other links are counted and left out.
  Status add(const ArchiveEntry& entry);
  /// Refuses two files of one name, and a file where another needs a folder.
  Result<StagePlan> finish();

 private:
  Status count(const ArchiveEntry& entry);
  Status add_link(const ArchiveEntry& entry, const std::string& name);

  StageFilter filter_;
  StageLimits limits_;
  std::uint64_t source_bytes_;
  std::uint64_t entries_ = 0;
  std::uint64_t content_ = 0;  // declared sizes of all entries
  StagePlan plan_;
};

}  // namespace sluice::storage
