// sluice/results/batch_times.h - one line per batch of a mixture: how long it took, of what it was.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::results {

inline constexpr const char* kBatchTimesFile = "batch_times.jsonl";

/// One batch, those of the warm-up too.
struct BatchTime {
  std::uint64_t idx = 0;  // from 0, warm-up counted
  double dt_s = 0;        // fetch + materialize; a sleep that imitates a model is not in it
  double fetch_dt_s = 0;
  double materialize_dt_s = 0;
  bool is_warmup = false;
  std::string dominant_dataset;  // the one with most samples; empty (null in the file): not known
  std::vector<std::pair<std::string, std::uint32_t>> dataset_counts;  // in order of appearance
  /// Batches since the same data set dominated before: 1 is the batch before. Absent in the
  /// warm-up and the first time after it.
  std::optional<std::uint64_t> dominant_gap_batches;
  std::optional<std::uint64_t> rss_bytes;  // of the process, after the batch; our own field

  bool operator==(const BatchTime&) const = default;
};

/// Fills dominant_dataset and dominant_gap_batches from the counts, batch after batch. Of equal
/// counts the one that appeared first dominates.
class DominantMarker {
 public:
  void mark(BatchTime& batch);

 private:
  std::map<std::string, std::uint64_t> last_;  // idx at which it dominated, after the warm-up
};

/// Fills dominant_dataset and dominant_gap_batches from the counts. Of equal counts the one that
/// appeared first dominates.
void mark_dominants(std::span<BatchTime> batches);

Json to_json(const BatchTime& batch);
/// `name` is what an error calls it. Keys that are not known are ignored.
Result<BatchTime> batch_time_from_json(const Json& json, std::string_view name);

/// One object a line. The error names the line. idx must rise from line to line.
Result<std::vector<BatchTime>> parse_batch_times(std::string_view text, std::string_view name);
std::string batch_times_text(std::span<const BatchTime> batches);

Result<std::vector<BatchTime>> read_batch_times(const std::filesystem::path& path);
/// Lines that are in the file as soon as they are known: who is killed leaves all but the batch in
/// flight. One file, one writer.
class BatchTimesWriter {
 public:
  /// An empty file, and the folder it lies in.
  static Result<std::unique_ptr<BatchTimesWriter>> open(const std::filesystem::path& path);
  ~BatchTimesWriter();
  BatchTimesWriter(const BatchTimesWriter&) = delete;
  BatchTimesWriter& operator=(const BatchTimesWriter&) = delete;

  /// With its dominant. One call of the system, so that a line is whole or not there.
  Status add(BatchTime batch);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  BatchTimesWriter(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_;
  DominantMarker marker_;
};

Status write_batch_times(const std::filesystem::path& path, std::span<const BatchTime> batches);

}  // namespace sluice::results
