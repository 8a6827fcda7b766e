// sluice/visit/training/run.cpp - the life of `sluice bench training`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/run.h"

#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/loader/recipe/numbers.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/peers/places.h"
#include "sluice/results/resume.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/session.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/loader/bundle_cache.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/resumed.h"
#include "sluice/visit/training/downloads.h"
#include "sluice/visit/training/profile.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/training/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

class TrainingVisit {
 public:
  TrainingVisit(const Caller& caller, const TrainingPlan& plan)
      : plan_(plan), progress_(*caller.progress), visit_(caller, "bench-training") {}

  Result<Visited> run(const results::RunFolder* given) {
    SLUICE_CHECK(look());
    if (log::level() <= log::Level::debug) tell_precision();
    if (given != nullptr)
      visit_.open_in(*given, training_visit(plan_));
    else
      SLUICE_CHECK(visit_.open(training_visit(plan_), plan_.resume));
    if (given == nullptr && visit_.folder().resumed()) {
      SLUICE_TRY(earlier_, results::read(visit_.result_path()));
      plan_.policy.seed = earlier_->block_order_seed;
    }
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_TRY(auto anchors, read_training_anchors(places.adapters));
    SLUICE_CHECK(visit_.begin());
    describe();
    if (earlier_) SLUICE_CHECK(go_on());
    const FolderGuard packed(visit_.path() / "packed");  // bundles that do not stay in the cache
    if (bundling()) SLUICE_CHECK(add_bundles(packed.path() / "set"));
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start());
    visit_.watch_resources(plan_.gpu_index);
    results::ResultFile& file = visit_.file;
    visit_.after_block = [&]() -> Status {
      SLUICE_TRY(file.canary, take_canary(places.worker(), plan_.policy, visit_.runner, 1,
                                          std::move(file.canary)));
      return ok;
    };
    // Ranks that a launcher started end together; ranks that differ are to be looked after first.
    visit_.runner.goes_on = [&](const measure::Row& row) {
      const bool of_ranks = row.params.count("world_size") > 0;
      return !of_ranks || !(plan_.ranks_launched || row.reason.starts_with("rank "));
    };
    SLUICE_TRY(const bool interrupted, is_interrupted(measure_all(places.worker())));
    backend::check_noise(file);
    SLUICE_CHECK(visit_.write_environment());
    conclude_training(
        file, plan_,
        {inputs_, storages_, gpu_, std::move(anchors), earlier_.has_value(), downloads_});
    if (!interrupted && file.training && plan_.gpu_index >= 0)
      count_hardware(plan_, *file.training);
    if (!interrupted && plan_.profile != "off") {
      SLUICE_TRY(ProfilePass pass, profile_pass(plan_, visit_.path()));
      file.training_summary->profile = std::move(pass.files);
      file.training_summary->top_kernels = std::move(pass.kernels);
      file.training_summary->top_ops = std::move(pass.ops);
    }
    return visit_.finish(interrupted);
  }

 private:
  /// The workers' own words about it go to their log.
  void tell_precision() const {
    if (!plan_.has_ours()) return;
    for (const train::Regime regime : plan_.regimes) {
      const auto program = train::plan_engine(plan_.engine_of(regime, plan_.batches.front()));
      if (!program) continue;
      const train::Regime in_force = program->options.regime;
      log::debug("{}: --dtype {} on {}, activations {}, residual stream {}",
                 train::precision_words(train::activation_type(in_force) == train::Dtype::bf16),
                 to_string(regime), plan_.engine.device,
                 to_string(train::activation_type(in_force)),
                 to_string(train::residual_type(in_force)));
    }
  }

  /// Everything that can be refused, before anything is written.
  Status look() {
    if (!plan_.has_ours()) {
      if (plan_.gpu_index >= 0) SLUICE_CHECK(train::cuda::device_facts(plan_.gpu_index));
    } else if (!plan_.swept) {
      for (const train::Regime regime : plan_.regimes)
        for (const train::Rung rung : plan_.rungs)
          for (const train::LastBlock last_block : plan_.last_blocks)
            SLUICE_CHECK(train::plan_engine(
                plan_.engine_of(regime, plan_.batches.front(), rung, last_block)));
    } else {  // the smallest must fit
      SLUICE_CHECK(
          train::plan_engine(plan_.engine_of(plan_.regimes.front(), plan_.batches.front())));
    }
    if (plan_.has_ours() && plan_.gpu_index >= 0)
      SLUICE_CHECK(train::cuda::Session::check_choices(plan_.gpu_index));
    if (!plan_.input && !plan_.synthetic)
      return Error{Errc::usage,
                   "--mode e2e: needs --input DIR; --mode synthetic measures the step alone"};
    for (const LoaderRequest& request : plan_.inputs()) {
      SLUICE_TRY(const InputFacts facts, inspect_input(request));
      if (facts.arrays) SLUICE_CHECK(check_arrays(request));
      inputs_.push_back(facts);
    }
    storages_ = storage_names(plan_.inputs());
    if (bundling()) storages_.emplace_back("bundles");
    return ok;
  }

  /// Arrays become the pixels of a model of images; only our loader makes them so.
  [[nodiscard]] Status check_arrays(const LoaderRequest& request) const {
    if (plan_.libraries != std::vector<std::string>{"sluice"})
      return Error{Errc::usage,
                   fmt::format("--input {}: holds arrays, which sluice alone reads; --libraries "
                               "sluice is accepted",
                               request.input)};
    const std::pair<const char*, bool> of_images[] = {
        {"--recipe three-augment", request.three_augment},
        {"--random-erasing", request.random_erasing > 0},
        {"--loader", request.lanes != loader::gpu::LanePolicy::cpu},
        {"--upload other than fp32",
         plan_.gpu_index >= 0 && request.upload != train::PixelType::f32}};
    for (const auto& [flag, asked] : of_images)
      if (asked)
        return Error{Errc::usage, fmt::format("{}: is for images; --input {} holds arrays", flag,
                                              printable(request.input))};
    SLUICE_TRY(const scenario::LoaderInput input, open_input(request));
    storage::ReadBuffer buffer;
    SLUICE_TRY(const auto bytes, input.dataset->read(0, buffer));
    SLUICE_TRY(const loader::OutputSpec first, loader::array_output(bytes));
    const train::ModelSpec& model = plan_.engine.model;
    const auto values = static_cast<std::size_t>(first.height) *
                        static_cast<std::size_t>(first.width) *
                        static_cast<std::size_t>(first.channels);
    const std::size_t room =
        3 * static_cast<std::size_t>(model.image) * static_cast<std::size_t>(model.image);
    if (values > room)
      return Error{Errc::usage,
                   fmt::format("--image-size {}: takes {} values of a sample, {} has {}; "
                               "--image-size {} takes them all",
                               model.image, room, printable(input.dataset->name(0)), values,
                               loader::side_for(values, model.patch))};
    return ok;
  }

  [[nodiscard]] bool bundling() const { return plan_.input && plan_.input->bundling; }

  /// The same samples in bundles: an input of its own, measured in the same turns. Packing may take
  /// hours, so whatever can be refused without it has been.
  Status add_bundles(const fs::path& scratch) {
    SLUICE_TRY(KeptBundles kept, keep_bundles(*plan_.input, scratch, progress_,
                                              [this] { return visit_.interrupted(); }));
    plan_.others.push_back(bundled_request(*plan_.input, kept.folder));
    SLUICE_TRY(const InputFacts facts, inspect_input(plan_.others.back()));
    inputs_.push_back(facts);
    visit_.file.run_config["inputs"] = inputs_json();
    if (earlier_) return check_resumable();
    visit_.file.run_config["bundles"] = std::move(kept.report);
    return ok;
  }

  void describe() {
    results::ResultFile& file = visit_.file;
    Json regimes = Json::array();
    for (const train::Regime regime : plan_.regimes)
      regimes.push_back(to_string(regime));
    std::string rungs;
    for (const train::Rung rung : plan_.rungs)
      rungs += (rungs.empty() ? "" : ",") + std::string(to_string(rung));
    std::string last_blocks;
    for (const train::LastBlock last_block : plan_.last_blocks)
      last_blocks += (last_blocks.empty() ? "" : ",") + std::string(to_string(last_block));
    file.run_config = Json{{"command", "bench-training"},
                           {"model", train::to_json(plan_.engine.model)},
                           {"mode", plan_.synthetic ? "synthetic" : "e2e"},
                           {"data", data_source()},
                           {"device", plan_.engine.device},
                           {"dtypes", std::move(regimes)},
                           {"batch_sizes", plan_.batches},
                           {"grad_accum", plan_.engine.grad_accum},
                           {"warmup_steps", plan_.warmup_steps},
                           {"measure_steps", plan_.measure_steps},
                           {"optimizer", plan_.optimizers()},
                           {"compile", std::move(rungs)},
                           {"last_block", std::move(last_blocks)},
                           {"mfu_estimator", to_string(plan_.estimator)},
                           {"checkpoint_activations", plan_.engine.checkpointing},
                           {"threads", plan_.engine.threads},
                           {"libraries", plan_.libraries},
                           {"policy", policy_json(plan_.policy)}};
    if (plan_.world_size > 1) file.run_config["world_size"] = plan_.world_size;
    if (plan_.mix.on()) {
      file.run_config["mixup"] = plan_.mix.mixup;
      file.run_config["cutmix"] = plan_.mix.cutmix;
    }
    if (!inputs_.empty()) {
      file.run_config["num_workers"] = plan_.input->workers;
      file.run_config["prefetch"] = plan_.input->prefetch;
      file.run_config["persistent_workers"] = plan_.input->persistent_workers;
      file.run_config["pin_memory"] = plan_.input->pin_memory;
      file.run_config["cached"] = !plan_.input->cache_dir.empty();
      file.run_config["sample_ratio"] = plan_.input->sample_ratio;
      file.run_config["loader"] = to_string(plan_.input->lanes);
      file.run_config["bundling"] = plan_.input->bundling;
      if (plan_.input->bundling) file.run_config["bundle_size_gb"] = plan_.input->bundle_size_gb;
      if (!plan_.input->remote) file.run_config["read_mode"] = plan_.input->read_mode;
      if (plan_.input->decode_scaled) file.run_config["decode"] = "scaled";
      if (plan_.gpu_index >= 0)
        file.run_config["upload"] = scenario::to_string(plan_.input->upload);
      if (plan_.input->random_erasing > 0)
        file.run_config["random_erasing"] = plan_.input->random_erasing;
      file.run_config["storage"] = join(storages_, ",");
      if (inputs_.size() > 1) file.run_config["inputs"] = inputs_json();
      file.dataset = dataset_of(inputs_.front());
    }
    file.timing = {.scope = "training step",
                   .data_source = inputs_.empty()       ? "memory"
                                  : plan_.input->remote ? "bucket"
                                                        : "file",
                   .includes_decode = plan_.input && plan_.input->sequence == 0,
                   .includes_collate = !inputs_.empty(),
                   .includes_transfer = !plan_.synthetic};
    file.block_order_seed = plan_.policy.seed;
  }

  /// What each holds; `dataset` is that of the first.
  [[nodiscard]] Json inputs_json() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      list.push_back(Json{{"storage", storages_[i]},
                          {"items", inputs_[i].items},
                          {"bytes", inputs_[i].bytes},
                          {"hash", inputs_[i].hash}});
    return list;
  }

  /// What was measured before stays, if it may stand beside what will be.
  Status go_on() {
    results::ResultFile& file = visit_.file;
    const Json& before = earlier_->run_config;
    if (bundling() && before.contains("bundles")) {  // what is known when they are packed
      file.run_config["bundles"] = before["bundles"];
      file.run_config["inputs"] = inputs_json();
      if (const Json& inputs = at(before, "inputs"); inputs.is_array() && !inputs.empty())
        file.run_config["inputs"].push_back(inputs.back());
    }
    SLUICE_CHECK(check_resumable());
    file.canary = earlier_->canary;
    return ok;
  }

  [[nodiscard]] Status check_resumable() const {
    return results::check_resumable(*earlier_, visit_.file, visit_.result_path().string());
  }

  /// One batch size. Rows of later ones that an earlier visit left stay in the file meanwhile.
  Status measure(const TrainingRows& made) {
    std::vector<measure::Row> so_far;
    if (earlier_) {
      seen_.insert(seen_.end(), made.rows.begin(), made.rows.end());
      for (const measure::Row& row : made.refused) {
        measure::SubjectSpec& refused = seen_.emplace_back();
        refused.case_name = row.case_name;
        refused.library = row.library;
      }
      visit_.last = later_rows(seen_, *earlier_);
      so_far = rows_for(made.rows, *earlier_);
    }
    visit_.add(made.refused);
    return visit_.measure(made.rows, plan_.policy, std::move(so_far));
  }

  [[nodiscard]] const char* data_source() const {
    return to_string(plan_.input ? scenario::TrainingData::loader
                                 : scenario::TrainingData::resident);
  }

  /// Batch sizes one after the other, so that each has the memory for itself; libraries and types
  /// of one batch size in turn.
  Status measure_all(const std::vector<std::string>& worker) {
    const FolderGuard scratch(visit_.path() / "reference");
    TrainingRowMaker maker{plan_, {}, worker};
    const std::vector<LoaderRequest> requests = plan_.inputs();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      DataloaderPlan data;
      data.loader = requests[i];
      maker.sources.push_back(
          {requests.size() > 1 ? storages_[i] : "",
           loader_spec_json(data, inputs_[i], measure::subject_seed(plan_.policy))});
    }
    if (requests.empty()) maker.sources.emplace_back();
    if (plan_.input && plan_.input->remote && plan_.has_ours()) {
      SLUICE_TRY(downloads_, probe_downloads(*plan_.input, inputs_.front(), worker, visit_.runner,
                                             plan_.policy));
    }
    GpuWatch watch(plan_.gpu_index);
    Status measured = ok;
    for (const int batch : plan_.batches) {
      SLUICE_TRY(const TrainingRows made, maker.rows(batch, scratch.path()));
      measured = measure(made);
      if (!measured) break;
    }
    gpu_ = watch.stop();
    return measured;
  }

  TrainingPlan plan_;
  Progress& progress_;
  Visit visit_;
  std::optional<results::ResultFile> earlier_;  // of the visit that is resumed
  std::vector<measure::SubjectSpec> seen_;      // of the batch sizes so far, when resumed
  std::vector<InputFacts> inputs_;              // of plan_.inputs()
  std::vector<std::string> storages_;           // likewise: what each lies on
  WatchedGpu gpu_;
  analysis::DownloadProbe downloads_{{std::nullopt, "the input is no bucket"},
                                     {std::nullopt, "the input is no bucket"}};
};

}  // namespace

backend::VisitOptions training_visit(const TrainingPlan& plan) {
  return {.storage = plan.input ? storage_of(*plan.input) : ".",
          .device = plan.gpu_index >= 0 ? env::ProfileDevice::gpu : env::ProfileDevice::cpu,
          .check_noise = false};  // after the rows: the first step comes first
}

Result<Visited> run_training(const Caller& caller, const TrainingPlan& plan,
                             const results::RunFolder* folder) {
  return TrainingVisit(caller, plan).run(folder);
}

}  // namespace sluice::visit
