// sluice/visit/study/file.h - a study of a mixture as a YAML file: settings by groups of axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/analysis/mixture/study.h"
#include "sluice/config/node.h"
#include "sluice/core/result.h"
#include "sluice/loader/mixture/schedule.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

/// One setting of a study with one seed: a run per repeat.
struct StudyCase {
  std::vector<std::string> labels;
  analysis::MixtureKnobs knobs;
  std::uint64_t seed = 0;
};

struct StudyFile {
  std::string name;
  std::string preset = "oxe29";
  int batch_size = 64;
  std::uint64_t seed = 42;
  int repeats = 3;
  int pipeline_interleave = 4;  // shards of a data set that are read in turn
  loader::mixture::Mix order = loader::mixture::Mix::deficit;
  int min_ready = 8;
  bool prime = false;
  int prime_samples = 0;  // of every data set before the first batch; 0: none
  std::optional<double> target_samples_per_s;
  analysis::MixtureKnobs base;
  std::vector<StudyCase> cases;  // in the order of the file, as written

  /// One Error with everything that is wrong, by line.
  static Result<StudyFile> parse(const config::Node& node);
};

Result<StudyFile> read_study(const std::filesystem::path& path);

struct StudyLimits {
  int cpus = 1;  // of this machine
  /// Of every run, instead of the file's; the warm-up is then the base's, at most half as long.
  std::optional<std::uint64_t> steps{};
};

struct FittedStudy {
  analysis::MixtureKnobs base;
  std::vector<StudyCase> cases;      // no two alike
  std::vector<std::string> remarks;  // what was changed, one sentence each
};

/// Clipped to the machine and shortened; cases that become the same are one with all their labels.
FittedStudy fit_study(const StudyFile& study, const StudyLimits& limits);

}  // namespace sluice::visit
