// sluice/results/result_file.h - the result file: the only truth every table, plot and verdict
// derives from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/record.h"
#include "sluice/results/loader_metrics.h"
#include "sluice/results/mixture_metrics.h"
#include "sluice/results/resources.h"
#include "sluice/results/summaries.h"
#include "sluice/results/training_metrics.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::results {

/// Raised when a reader of the previous version would misread the file. Part of every machine
/// profile.
inline constexpr int kSchemaVersion = 1;

struct Tool {
  std::string version;
  std::string git;  // "unknown" when built outside a repository
};

struct Dataset {
  std::string hash;  // sha256 over names and bytes; empty: no dataset
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

struct Timing {
  std::string clock = "CLOCK_MONOTONIC";
  std::string scope;        // "kernel", "pipeline"
  std::string data_source;  // "memory", "file"
  bool includes_decode = false;
  bool includes_collate = false;
  bool includes_transfer = false;
};

struct ResultFile {
  int schema_version = kSchemaVersion;
  Tool tool;
  Json environment;  // as env.json
  std::string machine_profile;
  Json run_config;  // resolved
  Dataset dataset;
  Timing timing;
  std::vector<std::string> argv;  // the command that repeats this measurement
  std::string session_id;
  std::uint64_t block_order_seed = 0;
  std::vector<measure::Row> canary;
  std::vector<measure::Row> rows;
  // What commands conclude from rows; each stands in the file under metrics, verdict and summary.
  std::vector<PeerRatio> peer_ratios;
  std::optional<LoaderMetrics> loader;      // bench dataloader
  std::optional<TrainingMetrics> training;  // bench training, gate, watch: of our fastest row
  std::optional<TrainingSummary> training_summary;
  std::optional<MixtureMetrics> mixture;  // bench mixture: of the run that is shown
  std::optional<MixtureSummary> mixture_summary;
  std::optional<StorageMetrics> storage;
  std::optional<AllreduceSummary> allreduce;
  std::optional<TuneSummary> tune;
  std::optional<MatrixRemarks> matrix;
  std::optional<VersusSummary> versus;  // bench transforms
  std::optional<Diagnosis> diagnosis;
  std::optional<TourSummary> tour;
  std::optional<ResourceUse> resources;  // of the machine, while rows were measured
  /// What else stands under metrics, verdict and summary, by section: kept, not interpreted.
  Json extra;
};

Json to_json(const ResultFile& file);
/// `name` is what errors call the document. A newer schema, a missing key or a wrong type is an
/// error naming the key; unknown keys are ignored.
Result<ResultFile> from_json(const Json& json, const std::string& name);
/// The text of `to_json(file)`, valid UTF-8 whatever the strings hold: one key per line, samples of
/// a run on one line.
std::string to_text(const Json& json);

Result<ResultFile> read(const std::filesystem::path& path);
/// Atomic, so it can be called after every row; makes the folder when it is missing.
Status write(const std::filesystem::path& path, const ResultFile& file);

/// Result files at `path`: the file itself, or every *.json under `path`/results (or `path`),
/// sorted by name. Other files of a run folder (env.json, verdict.json, ...) are left out; a folder
/// without result files is an error.
/// Sound JSON that is no result file is named in the log and passed over.
Result<std::vector<std::filesystem::path>> find(const std::filesystem::path& path);

/// Whether a row could not be measured that should have been.
bool has_failed_row(const ResultFile& file);

}  // namespace sluice::results
