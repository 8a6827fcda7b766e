// sluice/visit/training/run.cpp - the life of `sluice bench training`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/run.h"

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
#include "sluice/scenario/training/spec.h"
#include "sluice/train/cuda/library.h"
#include "sluice/visit/canary_run.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/loader/bundles.h"
#include "sluice/visit/training/profile.h"
#include "sluice/visit/training/result.h"
#include "sluice/visit/training/rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainingResult = "bench-training.json";

class TrainingVisit {
 public:
  TrainingVisit(const Caller& caller, const TrainingPlan& plan) : caller_(caller), plan_(plan) {}

  Result<TrainingResult> run(const results::RunFolder* given) {
    SLUICE_CHECK(look());
    const backend::VisitOptions visit = training_visit(plan_, caller_.argv);
    if (given != nullptr) return run_in(*given, visit);
    results::RunFolder::Options where;
    where.out = caller_.out;
    where.name = "bench-training";
    SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
    return run_in(folder, visit);
  }

 private:
  Result<TrainingResult> run_in(const results::RunFolder& folder,
                                const backend::VisitOptions& visit) {
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_TRY(file_, backend::begin_visit(visit));
    describe();
    folder_ = folder.path();
    SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file_.run_config))));
    SLUICE_TRY(runner_, local_.context(*caller_.progress, file_.session_id, folder_ / "logs"));
    worker_ = {places.program.string(), "worker"};
    runner_.on_block = [&](const std::vector<measure::Row>& rows) -> Status {
      put(rows);
      SLUICE_TRY(file_.canary,
                 take_canary(worker_, plan_.policy, runner_, 1, std::move(file_.canary)));
      return folder.write_result(kTrainingResult, file_);
    };
    const Status measured = measure_all();
    if (!measured && measured.error().code != Errc::interrupted) return measured.error();
    backend::check_noise(file_);
    SLUICE_CHECK(folder.write_environment(file_.environment));
    conclude_training(file_, plan_, {input_ ? &*input_ : nullptr, gpu_});
    if (measured && plan_.profile != "off") {
      SLUICE_TRY(file_.extra["summary"]["profile"], profile_pass(plan_, folder_));
    }
    SLUICE_CHECK(folder.write_result(kTrainingResult, file_));
    if (const auto metrics = file_.extra.find("metrics"); metrics != file_.extra.end())
      SLUICE_CHECK(write_file_atomic(folder_ / "metrics.json", dump_json(*metrics) + "\n"));
    const std::vector<results::ResultFile> files{file_};
    SLUICE_CHECK(folder.write_report(report::markdown(files), report::html(files)));
    return TrainingResult{std::move(file_), folder_, !measured};
  }

  /// Everything that can be refused, before anything is written.
  Status look() {
    if (!plan_.has_ours()) {
      if (plan_.gpu_index >= 0) SLUICE_CHECK(train::cuda::device_facts(plan_.gpu_index));
    } else if (!plan_.swept) {
      for (const train::Regime regime : plan_.regimes)
        for (const train::Rung rung : plan_.rungs)
          SLUICE_CHECK(train::plan_engine(plan_.engine_of(regime, plan_.batches.front(), rung)));
    } else {  // the smallest must fit
      SLUICE_CHECK(
          train::plan_engine(plan_.engine_of(plan_.regimes.front(), plan_.batches.front())));
    }
    if (plan_.input) {
      SLUICE_TRY(input_, inspect_input(*plan_.input));
      if (input_->arrays)
        return Error{Errc::usage, fmt::format("--input {}: holds arrays; training takes images",
                                              plan_.input->input)};
    } else if (!plan_.synthetic) {
      log::warn("--mode e2e without --input: no loader runs, generated numbers are copied in");
    }
    return ok;
  }

  void describe() {
    Json policy = measure::to_json(plan_.policy);
    policy.erase("seed");
    Json regimes = Json::array();
    for (const train::Regime regime : plan_.regimes)
      regimes.push_back(to_string(regime));
    std::string rungs;
    for (const train::Rung rung : plan_.rungs)
      rungs += (rungs.empty() ? "" : ",") + std::string(to_string(rung));
    file_.run_config = Json{{"command", "bench-training"},
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
                            {"checkpoint_activations", plan_.engine.checkpointing},
                            {"threads", plan_.engine.threads},
                            {"libraries", plan_.libraries},
                            {"policy", std::move(policy)}};
    if (input_) {
      file_.run_config["num_workers"] = plan_.input->workers;
      file_.run_config["prefetch"] = plan_.input->prefetch;
      file_.dataset = {input_->hash, static_cast<std::int64_t>(input_->items),
                       static_cast<std::int64_t>(input_->bytes)};
    }
    file_.timing = {.scope = "training step",
                    .data_source = !input_               ? "memory"
                                   : plan_.input->remote ? "bucket"
                                                         : "file",
                    .includes_decode = input_.has_value(),
                    .includes_collate = input_.has_value(),
                    .includes_transfer = !plan_.synthetic};
    file_.block_order_seed = plan_.policy.seed;
  }

  [[nodiscard]] const char* data_source() const {
    if (plan_.synthetic) return to_string(scenario::TrainingData::resident);
    return to_string(plan_.input ? scenario::TrainingData::loader
                                 : scenario::TrainingData::generated);
  }

  void put(const std::vector<measure::Row>& rows) {
    file_.rows = done_;
    file_.rows.insert(file_.rows.end(), rows.begin(), rows.end());
  }

  /// Batch sizes one after the other, so that each has the memory for itself; libraries and types
  /// of one batch size in turn.
  Status measure_all() {
    const FolderGuard scratch(folder_ / "reference");
    const FolderGuard bundles(folder_ / "bundles");  // may be gigabytes
    TrainingRowMaker maker{plan_, input_ ? &*input_ : nullptr, Json(), worker_};
    if (plan_.input) {
      DataloaderPlan data;
      data.loader = *plan_.input;
      maker.loader = loader_spec_json(data, *input_, plan_.policy.seed);
      if (plan_.input->bundling) {
        SLUICE_TRY(file_.run_config["bundles"], pack_input(*plan_.input, bundles.path(),
                                                           *caller_.progress, runner_.interrupted));
        maker.loader.update(bundled_spec(*plan_.input, bundles.path()));
      }
    }
    GpuWatch watch(plan_.gpu_index);
    bool interrupted = false;
    for (const int batch : plan_.batches) {
      SLUICE_TRY(const TrainingRows made, maker.rows(batch, scratch.path()));
      done_.insert(done_.end(), made.refused.begin(), made.refused.end());
      SLUICE_TRY(const measure::WaveResult wave,
                 measure::run_wave(made.rows, plan_.policy, runner_));
      done_.insert(done_.end(), wave.rows.begin(), wave.rows.end());
      put({});
      interrupted = wave.interrupted;
      if (interrupted) break;
    }
    gpu_ = watch.stop();
    if (interrupted) return Error{Errc::interrupted, "interrupted"};
    return ok;
  }

  const Caller& caller_;
  const TrainingPlan& plan_;
  std::optional<InputFacts> input_;
  results::ResultFile file_;
  std::vector<measure::Row> done_;
  fs::path folder_;
  WatchedGpu gpu_;
  std::vector<std::string> worker_;
  measure::LocalRunner local_;
  measure::RunnerContext runner_;
};

}  // namespace

backend::VisitOptions training_visit(const TrainingPlan& plan, std::vector<std::string> argv) {
  return {.storage = fs::path(plan.input && !plan.input->remote ? plan.input->input : "."),
          .device = plan.gpu_index >= 0 ? env::ProfileDevice::gpu : env::ProfileDevice::cpu,
          .argv = std::move(argv),
          .check_noise = false};  // after the rows: the first step comes first
}

Result<TrainingResult> run_training(const Caller& caller, const TrainingPlan& plan,
                                    const results::RunFolder* folder) {
  return TrainingVisit(caller, plan).run(folder);
}

}  // namespace sluice::visit
