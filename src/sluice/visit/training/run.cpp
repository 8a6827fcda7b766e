// sluice/visit/training/run.cpp - the life of `sluice bench training`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/run.h"

#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/peers/places.h"
#include "sluice/results/resume.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/cuda/library.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/resumed.h"
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
      : plan_(plan), visit_(caller, "bench-training") {}

  Result<Visited> run(const results::RunFolder* given) {
    SLUICE_CHECK(look());
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
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start());
    results::ResultFile& file = visit_.file;
    visit_.after_block = [&]() -> Status {
      SLUICE_TRY(file.canary, take_canary(places.worker(), plan_.policy, visit_.runner, 1,
                                          std::move(file.canary)));
      return ok;
    };
    SLUICE_TRY(const bool interrupted, is_interrupted(measure_all(places.worker())));
    backend::check_noise(file);
    SLUICE_CHECK(visit_.write_environment());
    conclude_training(file, plan_,
                      {inputs_, storages_, gpu_, std::move(anchors), earlier_.has_value()});
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
    if (!plan_.input && !plan_.synthetic)
      return Error{Errc::usage,
                   "--mode e2e: needs --input DIR; --mode synthetic measures the step alone"};
    for (const LoaderRequest& request : plan_.inputs()) {
      SLUICE_TRY(const InputFacts facts, inspect_input(request));
      if (facts.arrays)
        return Error{Errc::usage,
                     fmt::format("--input {}: holds arrays; training takes images", request.input)};
      inputs_.push_back(facts);
    }
    storages_ = storage_names(plan_.inputs());
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
                           {"optimizer", to_string(plan_.engine.update.kind)},
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
    if (earlier_->run_config.contains("bundles"))  // known when they are packed
      file.run_config["bundles"] = earlier_->run_config["bundles"];
    SLUICE_CHECK(results::check_resumable(*earlier_, file, visit_.result_path().string()));
    file.canary = earlier_->canary;
    return ok;
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
    const FolderGuard bundles(visit_.path() / "bundles");  // may be gigabytes
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
    if (plan_.input && plan_.input->bundling) {
      SLUICE_TRY(visit_.file.run_config["bundles"],
                 pack_input(*plan_.input, bundles.path(), *visit_.runner.progress,
                            visit_.runner.interrupted));
      maker.sources.front().loader.update(bundled_spec(*plan_.input, bundles.path()));
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
  Visit visit_;
  std::optional<results::ResultFile> earlier_;  // of the visit that is resumed
  std::vector<measure::SubjectSpec> seen_;      // of the batch sizes so far, when resumed
  std::vector<InputFacts> inputs_;              // of plan_.inputs()
  std::vector<std::string> storages_;           // likewise: what each lies on
  WatchedGpu gpu_;
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
