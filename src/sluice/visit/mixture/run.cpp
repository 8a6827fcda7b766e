// sluice/visit/mixture/run.cpp - the life of `sluice bench mixture`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/run.h"

#include "sluice/backend/visit.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/local_runner.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"
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

constexpr const char* kMixtureResult = "bench-mixture.json";

class MixtureVisit {
 public:
  MixtureVisit(const Caller& caller, const MixturePlan& plan) : caller_(caller), plan_(plan) {}

  Result<MixtureResult> run() {
    SLUICE_TRY(const results::Dataset dataset, look_at_mixture(plan_.spec));
    const backend::VisitOptions visit{
        .storage = fs::path(plan_.spec.remote() ? "." : plan_.spec.root), .argv = caller_.argv};
    results::RunFolder::Options where;
    where.out = caller_.out;
    where.name = "bench-mixture";
    SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    SLUICE_TRY(file_, backend::begin_visit(visit));
    file_.dataset = dataset;
    describe();
    SLUICE_CHECK(folder.write_environment(file_.environment));
    SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file_.run_config))));
    SLUICE_TRY(runner_,
               local_.context(*caller_.progress, file_.session_id, folder.path() / "logs"));
    const FolderGuard scratch(folder.path() / "scratch");
    SLUICE_CHECK(create_folders(scratch.path()));
    const Status measured = measure_all(folder, scratch.path());
    if (!measured && measured.error().code != Errc::interrupted) return measured.error();
    MixtureResult result;
    result.folder = folder.path();
    result.interrupted = !measured;
    SLUICE_TRY(result.text, conclude(folder.path()));
    SLUICE_CHECK(folder.write_result(kMixtureResult, file_));
    const std::vector<results::ResultFile> files{file_};
    SLUICE_CHECK(folder.write_report(report::markdown(files), report::html(files)));
    result.file = std::move(file_);
    return result;
  }

 private:
  void describe() {
    Json policy = measure::to_json(plan_.policy);
    policy.erase("seed");
    Json config = to_json(plan_.spec);
    for (const char* key : {"batch_times", "seed", "endpoint", "region", "anonymous", "cache_dir"})
      config.erase(key);
    config["root"] = plan_.spec.remote() ? plan_.spec.root : "local";
    config["cached"] = !plan_.spec.cache_dir.empty();
    config["cpus"] = measure::to_string(plan_.spec.cpus);
    config["seeds"] = plan_.seeds;
    config["libraries"] = plan_.libraries;
    config["policy"] = std::move(policy);
    file_.run_config = Json{{"command", "bench-mixture"}};
    file_.run_config.update(config);
    file_.timing = {.scope = "loader",
                    .data_source = plan_.spec.remote() ? "bucket" : "file",
                    .includes_decode = true,
                    .includes_collate = true};
    file_.block_order_seed = plan_.policy.seed;
  }

  /// Why a library cannot stand beside ours; nothing: it can. Found out once.
  Status comparable(const measure::SubjectSpec& row, const scenario::MixtureSpec& spec,
                    const fs::path& scratch) {
    if (row.library == "sluice") return ok;
    const auto known = refusals_.find(row.library);
    if (known != refusals_.end()) return known->second ? Status(*known->second) : Status(ok);
    SLUICE_TRY(const measure::SubjectSpec ours, mixture_row(spec, "sluice", {}, scratch));
    const auto difference = compare_pairs(ours, row, runner_, scratch, plan_.policy.step_timeout_s);
    Json& line = file_.run_config["peer_set_ups"].emplace_back(Json{{"library", row.library}});
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
    auto row = mixture_row(spec, library, axes, scratch);
    const Status usable = row ? comparable(*row, spec, scratch) : Status(row.error());
    if (usable) {
      subjects_.push_back(std::move(*row));
      return ok;
    }
    if (usable.error().code == Errc::interrupted) return usable;
    refused_.push_back(
        measure::refused_row(named_mixture_row(spec, library, axes), usable.error()));
    return ok;
  }

  /// Every seed in every library, in turn.
  Status measure_all(const results::RunFolder& folder, const fs::path& scratch) {
    for (const std::uint64_t seed : plan_.seeds) {
      scenario::MixtureSpec spec = plan_.spec;
      spec.options.seed = seed;
      std::map<std::string, std::string> axes;
      if (plan_.seeds.size() > 1) axes["seed"] = std::to_string(seed);
      for (const std::string& library : plan_.libraries)
        SLUICE_CHECK(add(library, spec, axes, scratch));
    }
    const auto put = [&](const std::vector<measure::Row>& rows) {
      file_.rows = rows;
      file_.rows.insert(file_.rows.end(), refused_.begin(), refused_.end());
    };
    runner_.on_block = [&](const std::vector<measure::Row>& rows) -> Status {
      put(rows);
      return folder.write_result(kMixtureResult, file_);
    };
    SLUICE_TRY(const measure::WaveResult wave, measure::run_wave(subjects_, plan_.policy, runner_));
    put(wave.rows);
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    return ok;
  }

  Result<std::string> conclude(const fs::path& folder) {
    SLUICE_TRY(const auto takes, mixture_takes(file_.rows));
    SLUICE_TRY(std::string text, conclude_mixture(file_, plan_, takes));
    SLUICE_CHECK(place_batch_times(folder, takes, file_.rows));
    const MixtureTake* shown = shown_take(takes);
    if (shown == nullptr) return text;
    if (plan_.spec.options.metadata == loader::mixture::Metadata::off) {
      log::warn("--metadata off: what a batch is of is not known, nothing is drawn");
      return text;
    }
    const auto drawn = write_mixture_artifacts(folder, shown->batches, plan_.drawing);
    if (!drawn) log::warn("nothing is drawn: {}", drawn.error().message);
    return text;
  }

  const Caller& caller_;
  const MixturePlan& plan_;
  results::ResultFile file_;
  std::vector<measure::SubjectSpec> subjects_;
  std::vector<measure::Row> refused_;
  std::map<std::string, std::optional<Error>> refusals_;  // by library; nothing: comparable
  measure::LocalRunner local_;
  measure::RunnerContext runner_;
};

}  // namespace

Result<results::Dataset> look_at_mixture(const scenario::MixtureSpec& spec) {
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
