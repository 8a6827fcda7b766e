// sluice/visit/mixture/run.cpp - the life of `sluice bench mixture`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/run.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"
#include "sluice/measure/axes.h"
#include "sluice/report/mixture/text.h"
#include "sluice/scenario/mixture/validate.h"
#include "sluice/train/cuda/library.h"
#include "sluice/visit/mixture/artifacts.h"
#include "sluice/visit/mixture/peers.h"
#include "sluice/visit/mixture/result.h"
#include "sluice/visit/mixture/rows.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

class MixtureVisit {
 public:
  MixtureVisit(const Caller& caller, const MixturePlan& plan)
      : plan_(plan), visit_(caller, "bench-mixture") {}

  Result<MixtureResult> run() {
    SLUICE_TRY(const results::Dataset dataset, look_at_mixture(plan_.spec));
    SLUICE_CHECK(keep_data_sets());
    SLUICE_CHECK(visit_.open({.storage = fs::path(plan_.spec.remote() ? "." : plan_.spec.root)}));
    SLUICE_CHECK(visit_.begin());
    visit_.file.dataset = dataset;
    describe();
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start());
    const FolderGuard scratch(visit_.path() / "scratch");
    SLUICE_CHECK(create_folders(scratch.path()));
    SLUICE_TRY(const int gpu_index, gpu_of_mixture(plan_.spec));
    visit_.watch_resources(gpu_index);
    SLUICE_TRY(const bool interrupted, is_interrupted(measure_all(scratch.path())));
    visit_.keep_resources();
    SLUICE_TRY(std::string text, conclude());
    SLUICE_TRY(Visited visited, visit_.finish(interrupted));
    return MixtureResult{std::move(visited), std::move(text)};
  }

 private:
  void describe() {
    Json config = to_json(plan_.spec);
    for (const char* key : {"batch_times", "seed", "endpoint", "region", "anonymous", "cache_dir"})
      config.erase(key);
    config["root"] = plan_.spec.remote() ? plan_.spec.root : "local";
    config["preset"] = loader::episodes::preset_label(plan_.spec.preset);
    if (loader::episodes::is_preset_file(plan_.spec.preset)) config["data_sets"] = data_sets_;
    config["cached"] = !plan_.spec.cache_dir.empty();
    config["cpus"] = measure::to_string(plan_.spec.cpus);
    config["seeds"] = plan_.seeds;
    config["libraries"] = plan_.libraries;
    config["policy"] = policy_json(plan_.policy);
    visit_.file.run_config = Json{{"command", "bench-mixture"}};
    visit_.file.run_config.update(config);
    visit_.file.timing = {.scope = "loader",
                          .data_source = plan_.spec.remote() ? "bucket" : "file",
                          .includes_decode = true,
                          .includes_collate = true};
    visit_.file.block_order_seed = plan_.policy.seed;
  }

  /// What a preset of one's own says, without the places: the file may be another tomorrow.
  Status keep_data_sets() {
    if (!loader::episodes::is_preset_file(plan_.spec.preset)) return ok;
    SLUICE_TRY(const auto sources, scenario::open_sources(plan_.spec));
    for (const loader::mixture::SourceSpec& source : sources)
      data_sets_.push_back({{"name", source.name},
                            {"type", source.type},
                            {"split", source.split},
                            {"weight", source.weight},
                            {"offset", source.offset},
                            {"image", source.image},
                            {"action", source.action},
                            {"state", source.state},
                            {"language", source.language},
                            {"parallelism", source.interleave}});
    return ok;
  }

  /// Why a library cannot stand beside ours; nothing: it can. Found out once.
  Status comparable(const measure::SubjectSpec& row, const scenario::MixtureSpec& spec,
                    const fs::path& scratch) {
    if (row.library == "sluice") return ok;
    const auto known = refusals_.find(row.library);
    if (known != refusals_.end()) return known->second ? Status(*known->second) : Status(ok);
    SLUICE_TRY(const measure::SubjectSpec ours, mixture_row(spec, "sluice", {}, scratch));
    const auto difference =
        compare_pairs(ours, row, visit_.runner, scratch, plan_.policy.step_timeout_s);
    Json& line =
        visit_.file.run_config["peer_set_ups"].emplace_back(Json{{"library", row.library}});
    if (difference)
      line["mean_difference_levels"] = *difference;
    else
      line["reason"] = difference.error().message;
    refusals_[row.library] = difference ? std::nullopt : std::optional(difference.error());
    return difference ? Status(ok) : Status(difference.error());
  }

  /// A row, or why there is none.
  Status add(const std::string& library, const scenario::MixtureSpec& spec,
             const std::map<std::string, std::string>& axes, const fs::path& scratch) {
    // The run that is shown, where there is one run of it: its lines are in their place from the
    // first batch on. Others wait in a folder that a killed visit leaves as well.
    const bool shown = library == "sluice" && subjects_.empty() && plan_.policy.runs == 1;
    auto row = mixture_row(spec, library, axes,
                           shown ? visit_.path() / results::kBatchTimesFile : scratch);
    const Status usable = row ? comparable(*row, spec, scratch) : Status(row.error());
    if (usable) {
      subjects_.push_back(std::move(*row));
      return ok;
    }
    if (usable.error().code == Errc::interrupted) return usable;
    visit_.last.push_back(
        measure::refused_row(named_mixture_row(spec, library, axes), usable.error()));
    return ok;
  }

  /// Every seed in every library, in turn.
  Status measure_all(const fs::path& scratch) {
    for (const std::uint64_t seed : plan_.seeds) {
      scenario::MixtureSpec spec = plan_.spec;
      spec.options.seed = seed;
      std::map<std::string, std::string> axes;
      if (plan_.seeds.size() > 1) axes["seed"] = std::to_string(seed);
      for (const std::string& library : plan_.libraries)
        SLUICE_CHECK(add(library, spec, axes, scratch));
      if (!plan_.also_first_checks) continue;
      spec.options.check_always = false;
      axes["checks"] = "first";
      SLUICE_CHECK(add("sluice", spec, axes, scratch));
    }
    SLUICE_CHECK(visit_.measure(subjects_, plan_.policy));
    visit_.keep_resources();
    return plan_.validate ? validate() : Status(ok);
  }

  /// One that fails is a row that failed; the others stay.
  Status validate() {
    auto done = scenario::validate_mixture(plan_.spec, visit_.runner.interrupted);
    if (done) {
      validation_ = std::move(*done);
      return ok;
    }
    if (done.error().code == Errc::interrupted) return done.error();
    measure::SubjectSpec row = named_mixture_row(plan_.spec, "sluice", {});
    row.case_name += "/validation";
    visit_.file.rows.push_back(measure::refused_row(row, done.error()));
    return ok;
  }

  Result<std::string> conclude() {
    results::ResultFile& file = visit_.file;
    SLUICE_TRY(const auto takes, mixture_takes(file.rows));
    SLUICE_TRY(std::string text, conclude_mixture(file, plan_, takes));
    if (file.resources) text += report::mixture_resources(*file.resources);
    if (validation_) text += validation_text(*validation_);
    if (file.mixture) file.mixture->validation = validation_;
    SLUICE_CHECK(place_batch_times(visit_.path(), takes, file.rows));
    const MixtureTake* shown = shown_take(takes);
    if (shown == nullptr) return text;
    if (plan_.spec.options.metadata == loader::mixture::Metadata::off) {
      log::warn("--metadata off: what a batch is of is not known, nothing is drawn");
      return text;
    }
    const auto drawn = write_mixture_artifacts(visit_.path(), shown->batches, plan_.drawing);
    if (!drawn) log::warn("nothing is drawn: {}", drawn.error().message);
    return text;
  }

  const MixturePlan& plan_;
  Visit visit_;
  Json data_sets_ = Json::array();
  std::optional<results::MixtureValidation> validation_;
  std::vector<measure::SubjectSpec> subjects_;
  std::map<std::string, std::optional<Error>> refusals_;  // by library; nothing: comparable
};

}  // namespace

Result<int> gpu_of_mixture(const scenario::MixtureSpec& spec) {
  if (spec.device == "cpu") return -1;
  return train::cuda::device_index(spec.device);
}

Result<results::Dataset> look_at_mixture(const scenario::MixtureSpec& spec) {
  SLUICE_TRY(const int gpu_index, gpu_of_mixture(spec));
  if (gpu_index >= 0) SLUICE_CHECK(train::cuda::device_facts(gpu_index));
  SLUICE_TRY(auto sources, scenario::open_sources(spec));
  results::Dataset dataset;
  Sha256 sha;
  for (const loader::mixture::SourceSpec& source : sources) {
    dataset.count += static_cast<std::int64_t>(source.dataset->episodes);
    for (const loader::episodes::ShardSlice& shard : source.dataset->shards) {
      dataset.bytes += static_cast<std::int64_t>(shard.file.size);
      sha.update(fmt::format("{}\n{}\n{} {}\n", shard.file.key, shard.file.size, shard.first,
                             shard.count));
    }
  }
  dataset.hash = "names+sizes:" + sha.hex();
  loader::mixture::MixtureOptions options = spec.options;  // one thread each: nothing is measured
  options.read_threads = options.decode_threads = 1;
  SLUICE_CHECK(loader::mixture::Mixture::open(std::move(sources), options));
  return dataset;
}

Result<MixtureResult> run_mixture_bench(const Caller& caller, const MixturePlan& plan) {
  return MixtureVisit(caller, plan).run();
}

}  // namespace sluice::visit
