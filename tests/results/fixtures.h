// tests/results/fixtures.h - result files as real runs leave them, and some that no run should.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/result_file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sluice::fixtures {

/// A folder of its own under the temporary folder, removed with everything in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct RowShape {
  std::string case_name;
  std::string library = "sluice";
  double rate = 1000;    // img/s
  double spread = 0.01;  // relative, of a sample within its run; runs differ by twice as much
  int runs = 5;
  int samples = 3;
  std::uint64_t seed = 1;
};
/// An ok row whose summary was computed from its samples.
measure::Row make_row(const RowShape& shape);

/// What `sluice quick` writes: 5 runs x 3 samples, one library, canary; all ok, one row unstable.
results::ResultFile quick();
/// Two cases in three libraries, and rows of every status.
results::ResultFile peers();
/// Markup, control characters, bytes that are no UTF-8, formulas, quotes and very long names in
/// every string.
results::ResultFile hostile();
/// 200 rows, one with 10,000 samples in a run.
results::ResultFile large();
/// A run that was interrupted before its first row.
results::ResultFile empty();

std::vector<std::pair<std::string, results::ResultFile>> all();

// What `sluice run` writes (fixtures_matrix.cpp): one file per library and regime.
struct MatrixShape {
  std::string scenario = "image-rgb";
  std::string mode = "micro";
  std::string device = "none";
  std::string scope = "memory_dataloader_augment";
  int batch_size = 32;
  int workers = 0;
  int runs = 3;
};
/// Without rows.
results::ResultFile matrix_file(const MatrixShape& shape, const std::string& library);
measure::Row matrix_row(const MatrixShape& shape, const std::string& transform,
                        const std::string& library, double rate, double spread = 0.01,
                        std::uint64_t seed = 1);
/// RGB micro in four libraries with every status, DataLoader tables on CPU and GPU, one that is
/// exploratory, and video.
std::vector<results::ResultFile> matrix();

}  // namespace sluice::fixtures
