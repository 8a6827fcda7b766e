// sluice/scenario/mixture/spec.h - which episodes are mixed, how, and for how many batches: the
// spec of a row of `bench mixture`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/measure/cpu_list.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::scenario {

/// What differs from the preset for one data set.
struct DatasetOverride {
  std::string name;                  // as the preset calls it
  std::optional<double> weight{};    // 0 leaves it out, as skip does
  std::optional<int> parallelism{};  // shards of it that are read in turn
  bool skip = false;                 // it need not even be there
};

/// Every field of the spec, docs/mixture.md; other libraries read the same fields. Credentials are
/// none of them: they come from the environment.
struct MixtureSpec {
  std::string root;  // folder, s3://bucket/prefix or gs://bucket/prefix
  std::string endpoint{}, region{};
  bool anonymous = false;
  std::string cache_dir{};
  std::string preset = "oxe29";
  std::string split{};  // empty: the preset's for training
  loader::mixture::MixtureOptions options{};
  std::uint64_t warmup = 8;    // batches before those that count
  std::uint64_t steps = 160;   // that count, at least 1
  double sleep_s = 0;          // between batches, as if a model computed; in no time of a batch
  std::string train{};         // a model that learns from each batch, in no time of a batch either
  std::string device = "cpu";  // that it learns on, or "cuda:N"
  measure::CpuList cpus{};     // the process is started on them; empty: on all. Kept for the record
  std::vector<DatasetOverride> overrides{};
  /// Path, or the beginning of one: the worker writes batch_times_path(*this, its pid), a line as
  /// soon as there is a batch. Empty: none.
  std::string batch_times{};

  [[nodiscard]] bool remote() const { return root.find("://") != std::string::npos; }
};

/// "full", "dataset_only" or "off"; "random" or "deficit"; "skip" or "stop".
Result<loader::mixture::Metadata> parse_metadata(std::string_view word);
Result<loader::mixture::Mix> parse_mix(std::string_view word);
Result<loader::mixture::OnBadData> parse_on_error(std::string_view word);

Json to_json(const MixtureSpec& spec);
/// Unknown fields are ignored; missing ones have the values above. A wrong type or a
/// value out of range is an error that names the field.
Result<MixtureSpec> mixture_spec_from_json(const Json& json);

/// Everything that can be said without looking at the data: preset, overrides, numbers.
Status check(const MixtureSpec& spec);

/// The data sets of the preset at the root, opened, with what `overrides` says. An error names the
/// one that is missing or wrong.
Result<std::vector<loader::mixture::SourceSpec>> open_sources(
    const MixtureSpec& spec, loader::mixture::PresetPart part = loader::mixture::PresetPart::train);
Result<std::vector<loader::mixture::SourceSpec>> open_sources(
    const MixtureSpec& spec, const loader::episodes::Preset& preset,
    loader::mixture::PresetPart part = loader::mixture::PresetPart::train);

/// "<batch_times>-<pid>.jsonl"; what ends in .jsonl is the file itself: of one run, no more.
std::string batch_times_path(const MixtureSpec& spec, std::int64_t pid);

/// Fewer batches than a published study asks for: its numbers say little.
inline constexpr std::uint64_t kFewestWarmup = 8;
inline constexpr std::uint64_t kFewestSteps = 160;
bool is_short(const MixtureSpec& spec);

}  // namespace sluice::scenario
