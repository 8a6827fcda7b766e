// sluice/visit/loader/run.cpp - the life of `sluice bench dataloader`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/run.h"

#include "sluice/backend/visit.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/run_folder.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/loader/peers.h"
#include "sluice/visit/loader/result.h"
#include "sluice/visit/loader/rows.h"
#include "sluice/visit/once.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoaderResult = "bench-dataloader.json";
constexpr std::uint64_t kFirstEpochItems = 20'000;  // more would make a first look an evening
constexpr std::int64_t kFewestBatches = 4, kMostBatches = 200;

Json run_config_of(const DataloaderPlan& plan, const InputFacts& input) {
  const LoaderRequest& loader = plan.loader;
  Json policy = measure::to_json(plan.policy);
  policy.erase("seed");
  Json config{{"command", "bench-dataloader"},
              {"case", base_case(input)},
              {"input", loader.remote ? loader.input : "local"},
              {"batch_size", loader.batch_size},
              {"num_workers", loader.workers},
              {"prefetch", loader.prefetch},
              {"pin_memory", loader.pin_memory},
              {"persistent_workers", loader.persistent_workers},
              {"sample_ratio", loader.sample_ratio},
              {"device", loader.device},
              {"libraries", plan.libraries},
              {"cached", !loader.cache_dir.empty()},
              {"bundling", loader.bundling},
              {"read_mode", loader.remote ? Json(nullptr) : Json(loader.read_mode)},
              {"policy", std::move(policy)}};
  if (loader.bundling) config["bundle_size_gb"] = loader.bundle_size_gb;
  if (plan.step_ms > 0) config["step_ms"] = plan.step_ms;
  return config;
}

class DataloaderVisit {
 public:
  DataloaderVisit(const Caller& caller, const DataloaderPlan& plan)
      : caller_(caller), plan_(plan) {}

  Result<DataloaderResult> run() {
    SLUICE_TRY(input_, inspect_input(plan_.loader));
    SLUICE_TRY(const peers::Places places, peers::find_places());
    const backend::VisitOptions visit{fs::path(plan_.loader.remote ? "." : plan_.loader.input),
                                      env::ProfileDevice::cpu, caller_.argv};
    results::RunFolder::Options where;
    where.out = caller_.out;
    where.name = "bench-dataloader";
    SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    SLUICE_TRY(file_, backend::begin_visit(visit));
    describe();
    SLUICE_CHECK(folder.write_environment(file_.environment));
    SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file_.run_config))));
    folder_ = folder.path();
    SLUICE_TRY(runner_, local_.context(*caller_.progress, file_.session_id, folder_ / "logs"));
    runner_.on_block = [&](const std::vector<measure::Row>& rows) -> Status {
      put(rows);
      return folder.write_result(kLoaderResult, file_);
    };
    const RowMaker maker{plan_, input_, {places.program.string(), "worker"}, plan_.policy.seed};
    const Status measured = measure_all(maker);
    if (!measured && measured.error().code != Errc::interrupted) return measured.error();
    conclude(file_, plan_, input_, gpu_);
    SLUICE_CHECK(folder.write_result(kLoaderResult, file_));
    const std::vector<results::ResultFile> files{file_};
    SLUICE_CHECK(folder.write_report(report::markdown(files), report::html(files)));
    return DataloaderResult{std::move(file_), folder.path(), !measured};
  }

 private:
  void describe() {
    file_.run_config = run_config_of(plan_, input_);
    file_.dataset = {input_.hash, static_cast<std::int64_t>(input_.items),
                     static_cast<std::int64_t>(input_.bytes)};
    file_.timing = {.scope = "loader",
                    .data_source = plan_.loader.remote ? "bucket" : "file",
                    .includes_decode = !input_.arrays,
                    .includes_collate = true};
    file_.block_order_seed = plan_.policy.seed;
  }

  void put(const std::vector<measure::Row>& rows) {
    file_.rows = first_rows_;
    file_.rows.insert(file_.rows.end(), rows.begin(), rows.end());
  }

  Status measure_all(const RowMaker& maker) {
    const FolderGuard bundles(folder_ / "bundles");  // may be gigabytes
    SLUICE_TRY(measure::Row first, first_epoch(maker, Json::object(), {}));
    size_samples(first);
    keep_first(std::move(first));
    std::vector<measure::SubjectSpec> rows{maker.ours(base_case(input_), {}, {})};
    if (plan_.loader.bundling) SLUICE_CHECK(add_bundled(maker, bundles.path(), rows));
    if (plan_.step_ms > 0)
      rows.push_back(maker.ours(base_case(input_), Json{{"step_ms", plan_.step_ms}},
                                {{"step_ms", fmt::format("{:g}", plan_.step_ms)}}));
    for (measure::SubjectSpec& row : maker.swept())
      rows.push_back(std::move(row));
    if (plan_.libraries.size() > 1) SLUICE_CHECK(add_peers(maker, rows));
    const std::int64_t items = batches_ * plan_.loader.batch_size;
    for (measure::SubjectSpec& row : rows)
      row.min_items = items;
    GpuWatch watch(plan_.loader.gpu_index);
    SLUICE_TRY(const measure::WaveResult wave, measure::run_wave(rows, plan_.policy, runner_));
    put(wave.rows);
    gpu_ = watch.stop();
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    if (!plan_.trace.empty()) SLUICE_CHECK(write_trace(maker));
    return ok;
  }

  /// As the run finds the caches, or colder. An Error when it fails: every other row would say the
  /// same.
  Result<measure::Row> first_epoch(const RowMaker& maker, Json over,
                                   std::map<std::string, std::string> axes) {
    const auto batch = static_cast<std::uint64_t>(plan_.loader.batch_size);
    std::uint64_t batches =
        std::max<std::uint64_t>(1, std::min(input_.epoch_items, kFirstEpochItems) / batch);
    if (plan_.loader.num_batches > 0)
      batches =
          std::min<std::uint64_t>(batches, static_cast<std::uint64_t>(plan_.loader.num_batches));
    over["first_epoch"] = true;
    over["drop_cache"] = true;
    over["pass_batches"] = batches;
    axes["epoch"] = "first";
    SLUICE_TRY(measure::Row row, measure_once(maker.ours(base_case(input_), over, axes), 1, runner_,
                                              plan_.policy.step_timeout_s, plan_.policy.seed));
    if (row.status == measure::RowStatus::ok) return row;
    return Error{
        row.status == measure::RowStatus::unsupported ? Errc::unsupported : Errc::invalid_input,
        row.reason};
  }

  void keep_first(measure::Row row) {
    first_rows_.push_back(std::move(row));
    put({});
  }

  void size_samples(const measure::Row& first) {
    batches_ = plan_.loader.num_batches;
    if (batches_ == 0) {
      const double rate = first.summary ? first.summary->mean : 0;
      const double wanted = std::ceil(plan_.sample_s * rate / plan_.loader.batch_size);
      batches_ = std::clamp(static_cast<std::int64_t>(wanted), kFewestBatches, kMostBatches);
    }
    file_.run_config["batches_per_sample"] = batches_;
  }

  Status add_bundled(const RowMaker& maker, const fs::path& bundles,
                     std::vector<measure::SubjectSpec>& rows) {
    SLUICE_TRY(file_.run_config["bundles"],
               pack_input(plan_.loader, bundles, *caller_.progress, runner_.interrupted));
    const Json over = bundled_spec(plan_.loader, bundles);
    SLUICE_TRY(measure::Row first, first_epoch(maker, over, {{"bundling", "on"}}));
    keep_first(std::move(first));
    rows.push_back(maker.ours(base_case(input_), over, {{"bundling", "on"}}));
    return ok;
  }

  /// Beside each other library a row of ours of the same case.
  Status add_peers(const RowMaker& maker, std::vector<measure::SubjectSpec>& rows) {
    const FolderGuard scratch(folder_ / "samples");
    SLUICE_CHECK(create_folders(scratch.path()));
    SLUICE_TRY(PeerRows peers,
               choose_peers(maker, runner_, scratch.path(), plan_.policy.step_timeout_s));
    for (measure::SubjectSpec& row : peers.rows) {
      const bool ours = std::any_of(rows.begin(), rows.end(), [&](const auto& other) {
        return other.library == "sluice" && other.case_name == row.case_name;
      });
      if (!ours) rows.push_back(maker.ours(row.case_name, {}, {}));
      rows.push_back(std::move(row));
    }
    first_rows_.insert(first_rows_.end(), peers.refused.begin(), peers.refused.end());
    file_.run_config["peer_set_ups"] = std::move(peers.set_up);
    return ok;
  }

  Status write_trace(const RowMaker& maker) {
    const measure::SubjectSpec spec = maker.ours(
        base_case(input_),
        Json{{"trace", fs::absolute(plan_.trace).string()}, {"step_ms", plan_.step_ms}}, {});
    SLUICE_TRY(
        const measure::Row row,
        measure_once(spec, batches_, runner_, plan_.policy.step_timeout_s, plan_.policy.seed));
    if (row.status != measure::RowStatus::ok)
      log::warn("--trace {}: {}", plan_.trace.string(), row.reason);
    else if (row.runs.front().details.front().contains("trace_reason"))
      log::warn("--trace: {}", row.runs.front().details.front()["trace_reason"].get<std::string>());
    return ok;
  }

  const Caller& caller_;
  const DataloaderPlan& plan_;
  InputFacts input_;
  results::ResultFile file_;
  std::vector<measure::Row> first_rows_;
  std::int64_t batches_ = kFewestBatches;
  fs::path folder_;
  WatchedGpu gpu_{std::nullopt, "no GPU was asked for (--gpu cuda:0)"};
  measure::LocalRunner local_;
  measure::RunnerContext runner_;
};

}  // namespace

Result<DataloaderResult> run_dataloader(const Caller& caller, const DataloaderPlan& plan) {
  return DataloaderVisit(caller, plan).run();
}

}  // namespace sluice::visit
