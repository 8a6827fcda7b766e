// sluice/visit/loader/run.cpp - the life of `sluice bench dataloader`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/run.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/peers/places.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/visit/loader/bundle_cache.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/loader/peers.h"
#include "sluice/visit/loader/probe.h"
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

constexpr std::uint64_t kFirstEpochItems = 20'000;  // more would make a first look an evening
constexpr std::int64_t kFewestBatches = 4, kMostBatches = 200;

Json run_config_of(const DataloaderPlan& plan, const InputFacts& input) {
  const LoaderRequest& loader = plan.loader;
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
              {"policy", policy_json(plan.policy)}};
  if (loader.gpu_index >= 0) {
    config["upload"] = scenario::to_string(loader.upload);
    config["loader"] = to_string(loader.lanes);
  }
  if (loader.random_erasing > 0) config["random_erasing"] = loader.random_erasing;
  if (loader.decode_scaled) config["decode"] = "scaled";
  if (loader.bundling) config["bundle_size_gb"] = loader.bundle_size_gb;
  if (plan.step_ms > 0) config["step_ms"] = plan.step_ms;
  return config;
}

class DataloaderVisit {
 public:
  DataloaderVisit(const Caller& caller, const DataloaderPlan& plan)
      : plan_(plan), visit_(caller, "bench-dataloader") {}

  Result<Visited> run() {
    SLUICE_TRY(input_, inspect_input(plan_.loader));
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_CHECK(visit_.open({.storage = storage_of(plan_.loader)}));
    SLUICE_CHECK(visit_.begin());
    visit_.file.run_config = run_config_of(plan_, input_);
    visit_.file.dataset = dataset_of(input_);
    visit_.file.timing = loader_timing(plan_.loader, input_);
    visit_.file.block_order_seed = plan_.policy.seed;
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start());
    visit_.watch_resources(plan_.loader.gpu_index);
    const RowMaker maker{plan_, input_, places.worker(), measure::subject_seed(plan_.policy)};
    SLUICE_TRY(const bool interrupted, is_interrupted(measure_all(maker)));
    conclude(visit_.file, plan_, input_, gpu_,
             interrupted || input_.arrays || input_.clips
                 ? analysis::ProbedData{}
                 : probe_images(
                       plan_.loader, loader::TrainCropOptions{}.side,
                       plan_.loader.gpu_index < 0 ? train::PixelType::f32 : plan_.loader.upload));
    return visit_.finish(interrupted);
  }

 private:
  Status measure_all(const RowMaker& maker) {
    SLUICE_TRY(measure::Row first, first_epoch(maker, Json::object(), {}));
    size_samples(first);
    visit_.add({std::move(first)});
    std::vector<measure::SubjectSpec> rows{maker.ours(base_case(input_), {}, {})};
    const FolderGuard packed(visit_.path() / "packed");  // bundles that do not stay in the cache
    if (plan_.loader.bundling) SLUICE_CHECK(add_bundled(maker, packed.path() / "set", rows));
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
    const Status measured = visit_.measure(rows, plan_.policy);
    gpu_ = watch.stop();
    SLUICE_CHECK(measured);
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
    const auto bar = visit_.runner.progress->bar("first epoch", 0);
    over["first_epoch"] = true;
    over["drop_cache"] = true;
    over["pass_batches"] = batches;
    axes["epoch"] = "first";
    SLUICE_TRY(measure::Row row,
               measure_once(maker.ours(base_case(input_), over, axes), 1, visit_.runner,
                            plan_.policy.step_timeout_s, maker.seed));
    if (row.status == measure::RowStatus::ok) return row;
    constexpr std::string_view kThrown = "measure threw: ";  // says nothing to who loads files
    const bool thrown = row.reason.starts_with(kThrown);
    return Error{
        row.status == measure::RowStatus::unsupported ? Errc::unsupported : Errc::invalid_input,
        thrown ? row.reason.substr(kThrown.size()) : row.reason};
  }

  void size_samples(const measure::Row& first) {
    batches_ = plan_.loader.num_batches;
    if (batches_ == 0) {
      const double rate = first.summary ? first.summary->mean : 0;
      const double wanted = std::ceil(plan_.sample_s * rate / plan_.loader.batch_size);
      batches_ = std::clamp(static_cast<std::int64_t>(wanted), kFewestBatches, kMostBatches);
    }
    visit_.file.run_config["batches_per_sample"] = batches_;
  }

  Status add_bundled(const RowMaker& maker, const fs::path& scratch,
                     std::vector<measure::SubjectSpec>& rows) {
    SLUICE_TRY(KeptBundles kept, keep_bundles(plan_.loader, scratch, *visit_.runner.progress,
                                              visit_.runner.interrupted));
    visit_.file.run_config["bundles"] = std::move(kept.report);
    const Json over = bundled_spec(plan_.loader, kept.folder);
    SLUICE_TRY(measure::Row first, first_epoch(maker, over, {{"bundling", "on"}}));
    visit_.add({std::move(first)});
    rows.push_back(maker.ours(base_case(input_), over, {{"bundling", "on"}}));
    return ok;
  }

  /// Beside each other library a row of ours of the same case.
  Status add_peers(const RowMaker& maker, std::vector<measure::SubjectSpec>& rows) {
    const FolderGuard scratch(visit_.path() / "samples");
    SLUICE_CHECK(create_folders(scratch.path()));
    SLUICE_TRY(PeerRows peers,
               choose_peers(maker, visit_.runner, scratch.path(), plan_.policy.step_timeout_s));
    for (measure::SubjectSpec& row : peers.rows) {
      const bool ours = std::any_of(rows.begin(), rows.end(), [&](const auto& other) {
        return other.library == "sluice" && other.case_name == row.case_name;
      });
      if (!ours) rows.push_back(maker.ours(row.case_name, {}, {}));
      rows.push_back(std::move(row));
    }
    visit_.add(peers.refused);
    visit_.file.run_config["peer_set_ups"] = std::move(peers.set_up);
    return ok;
  }

  Status write_trace(const RowMaker& maker) {
    const auto bar = visit_.runner.progress->bar("trace", 0);
    const measure::SubjectSpec spec = maker.ours(
        base_case(input_),
        Json{{"trace", fs::absolute(plan_.trace).string()}, {"step_ms", plan_.step_ms}}, {});
    SLUICE_TRY(const measure::Row row, measure_once(spec, batches_, visit_.runner,
                                                    plan_.policy.step_timeout_s, maker.seed));
    if (row.status != measure::RowStatus::ok)
      log::warn("--trace {}: {}", plan_.trace.string(), row.reason);
    else if (row.runs.front().details.front().contains("trace_reason"))
      log::warn("--trace: {}", row.runs.front().details.front()["trace_reason"].get<std::string>());
    return ok;
  }

  const DataloaderPlan& plan_;
  Visit visit_;
  InputFacts input_;
  std::int64_t batches_ = kFewestBatches;
  WatchedGpu gpu_{std::nullopt, "no GPU was asked for (--gpu cuda:0)"};
};

}  // namespace

Result<Visited> run_dataloader(const Caller& caller, const DataloaderPlan& plan) {
  return DataloaderVisit(caller, plan).run();
}

}  // namespace sluice::visit
