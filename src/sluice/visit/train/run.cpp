// sluice/visit/train/run.cpp - a training from its request to train.json: folder, progress,
// steps.jsonl.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/core/version.h"
#include "sluice/env/collect.h"
#include "sluice/measure/interrupt.h"
#include "sluice/train/cuda/library.h"
#include "sluice/visit/train/request.h"
#include "sluice/visit/train/world.h"
#include "sluice/visit/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "sluice-train-1";

std::string percent(const Json& share) {
  return share.is_number() ? fmt::format("{:.2f} %", share.get<double>() * 100) : "n/a";
}

std::string number(const Json& value) {
  return value.is_number() ? fmt::format("{:.4f}", value.get<double>()) : "n/a";
}

/// steps.jsonl: a line per step, appended and flushed; what a resumed run does again is cut off.
class StepLog {
 public:
  Status open(const fs::path& path, std::uint64_t first_step) {
    path_ = path;
    std::error_code problem;
    if (fs::exists(path, problem)) SLUICE_CHECK(keep_before(first_step));
    file_.open(path, std::ios::app);
    return check();
  }
  Status add(const scenario::StepRecord& step) {
    file_ << dump_json(Json{{"step", step.step},
                            {"epoch", step.epoch + 1},
                            {"loss", step.loss},
                            {"lr", step.learning_rate},
                            {"gradient_norm", step.gradient_norm},
                            {"step_ms", static_cast<double>(step.busy_ns) * 1e-6},
                            {"wait_ms", static_cast<double>(step.wait_ns) * 1e-6}},
                       -1)
          << '\n'
          << std::flush;
    return check();
  }

 private:
  Status keep_before(std::uint64_t first_step) {
    SLUICE_TRY(const std::string text, read_text_file(path_));
    std::string kept;
    for (const std::string& line : split(text, '\n')) {
      if (line.empty()) continue;
      const auto json = parse_json(line, "steps.jsonl");
      if (!json || !json->is_object() || json->value("step", first_step) >= first_step) break;
      kept += line + "\n";
    }
    return write_file_atomic(path_, kept);
  }
  Status check() {
    if (file_) return ok;
    return Error{Errc::io, fmt::format("{}: cannot be written", printable(path_.string()))};
  }

  fs::path path_;
  std::ofstream file_;
};

class Watcher final : public scenario::TrainingObserver {
 public:
  Watcher(Progress& progress, const measure::Interrupt& interrupt, std::uint64_t epochs,
          std::uint64_t steps)
      : progress_(progress), interrupt_(interrupt), epochs_(epochs), steps_(steps) {}

  Status on_step(const scenario::StepRecord& step) override {
    if (!bar_) bar_.emplace(progress_.bar("train", steps_, "steps"));
    bar_->set(step.step + 1,
              fmt::format("epoch {}/{}, loss {:.4f}", step.epoch + 1, epochs_, step.loss));
    return log.add(step);
  }
  Status on_epoch(const Json& epoch) override {
    progress_.print(epoch_line(epoch, epochs_));
    return ok;
  }
  bool interrupted() override { return interrupt_.requested(); }

  StepLog log;

 private:
  Progress& progress_;
  const measure::Interrupt& interrupt_;
  std::uint64_t epochs_, steps_;
  std::optional<Progress::Bar> bar_;  // from the first step on: an error before it is one line
};

/// Of a rank that only takes part.
class Follower final : public scenario::TrainingObserver {
 public:
  Status on_step(const scenario::StepRecord&) override { return ok; }
  Status on_epoch(const Json&) override { return ok; }
  bool interrupted() override { return interrupt_.requested(); }

 private:
  measure::Interrupt interrupt_;
};

int ranks_of(const TrainRequest& request) {
  return request.world != nullptr ? request.world->ranks().size() : 1;
}

Json plan_json(const TrainRequest& request) {
  const scenario::TrainingSchedule& plan = request.plan;
  const train::OptimizerConfig& update = request.engine.update;
  return Json{{"command", "train"},
              {"input", request.loader.remote ? request.loader.input : "local"},
              {"epochs", plan.epochs},
              {"warmup_epochs", plan.warmup_epochs},
              {"val_every", plan.val_every},
              {"batch_size", request.engine.batch},
              {"grad_accum", request.engine.grad_accum},
              {"world_size", ranks_of(request)},
              {"samples_per_step",
               std::int64_t{request.engine.batch} * request.engine.grad_accum * ranks_of(request)},
              {"optimizer", to_string(update.kind)},
              {"learning_rate", update.learning_rate},
              {"weight_decay", update.weight_decay},
              {"clip", update.max_gradient_norm},
              {"warmup_steps", update.warmup_steps},
              {"total_steps", update.total_steps},
              {"ema", request.engine.average},
              {"ema_decay", update.average_decay},
              {"label_smoothing", request.engine.label_smoothing},
              {"drop_path", request.engine.model.drop_path},
              {"mixup", plan.mix.mixup},
              {"cutmix", plan.mix.cutmix},
              {"num_workers", request.loader.workers},
              {"prefetch", request.loader.prefetch},
              {"seed", request.engine.seed}};
}

Json data_json(const TrainData& data) {
  return Json{{"samples", data.train->size()},
              {"validation_samples", data.validation ? data.validation->size() : 0},
              {"validation_from", data.validation_from},
              {"classes", data.classes ? Json(data.classes->count) : Json()},
              {"recipe", data.train->describe()}};
}

/// All of a training but its folder: nothing is written before prepare() and make_engine() have
/// succeeded.
struct Prepared {
  TrainRequest request;
  std::unique_ptr<train::Engine> engine;
  TrainData data;  // feeds the engine: goes first
};

Status check_checkpoint_dir(const TrainRequest& request) {
  if (request.resume || request.plan.checkpoint_dir.empty()) return ok;
  std::error_code problem;
  if (!fs::exists(request.plan.checkpoint_dir / "last.safetensors", problem)) return ok;
  return Error{Errc::usage,
               fmt::format("--checkpoint-dir {}: holds the checkpoints of another run; add "
                           "--resume to continue it, or name another folder",
                           printable(request.plan.checkpoint_dir.string()))};
}

Status set_rank(TrainRequest& request, TrainWorld& world) {
  request.engine.world = &world.ranks();
  SLUICE_TRY(request.engine.device,
             train::cuda::device_of_rank(request.engine.device, world.ranks().local_rank()));
  const int cores = std::max(1, static_cast<int>(usable_cores()) / world.sharing_cores());
  if (request.engine.threads == 0) request.engine.threads = cores;
  if (!request.loader.workers_given)
    request.loader.workers = std::max(1, request.loader.workers / world.sharing_cores());
  if (request.engine.device == "cpu") return ok;
  // Once devices join each other, nobody can be told politely that one of them is not there.
  SLUICE_CHECK(train::plan_engine(request.engine));
  return ok;
}

/// What every rank must have as rank 0 has it.
Json common_of(const Prepared& prepared) {
  Json common{{"sluice", version::text()},
              {"the model", train::to_json(prepared.request.engine.model)}};
  common.update(scenario::training_settings(prepared.request.engine, prepared.request.plan,
                                            *prepared.data.train));
  for (const auto& [name, feed] : {std::pair("training data", &prepared.data.train),
                                   std::pair("validation data", &prepared.data.validation)})
    common[fmt::format("the digest of names and labels of its {}", name)] =
        *feed != nullptr ? Json(scenario::digest_of((*feed)->dataset())) : Json();
  // Devices add up by another library than processors, in the order of their kind of program.
  const train::EngineConfig& engine = prepared.request.engine;
  const bool on_cpu = engine.device == "cpu";
  common["--gpu"] = on_cpu ? "cpu" : "cuda";
  common["--compile"] = on_cpu ? Json() : Json(to_string(engine.rung));
  common["--checkpoint-activations"] = engine.checkpointing;
  common["--checkpoint-every"] = prepared.request.plan.checkpoint_every;
  common["--val-every"] = prepared.request.plan.val_every;
  common["--resume"] = prepared.request.resume;
  return common;
}

/// All but the engine.
Result<Prepared> prepare(TrainRequest asked) {
  Prepared prepared;
  prepared.request = std::move(asked);
  TrainRequest& request = prepared.request;
  if (request.world != nullptr) SLUICE_CHECK(set_rank(request, *request.world));
  SLUICE_CHECK(check_checkpoint_dir(request));
  SLUICE_TRY(prepared.data, open_train_data(request));
  const std::uint64_t steps =
      scenario::steps_per_epoch(request.plan, *prepared.data.train, request.engine.grad_accum);
  if (steps == 0)
    return Error{Errc::usage,
                 fmt::format("--grad-accum {}: an epoch of {} batches has no whole step; at most "
                             "{} is accepted",
                             request.engine.grad_accum, prepared.data.train->steps(),
                             prepared.data.train->steps())};
  set_schedule(request.engine.update, request.plan, steps);
  return prepared;
}

/// Of several ranks all come here, or none: GPUs then join each other.
Status make_engine(Prepared& prepared) {
  SLUICE_TRY(prepared.engine, train::Engine::make(prepared.request.engine));
  for (const auto* feed : {&prepared.data.train, &prepared.data.validation})
    if (*feed != nullptr) SLUICE_CHECK((*feed)->connect(*prepared.engine));
  return ok;
}

class Training {
 public:
  Training(const Caller& caller, Prepared& prepared) : caller_(caller), prepared_(prepared) {}

  /// As a rank that is not rank 0.
  Result<TrainResult> follow() {
    Follower follower;
    scenario::TrainingRun run = make_run(follower);
    if (prepared_.request.resume) SLUICE_CHECK(run.resume());
    SLUICE_TRY(const scenario::TrainingOutcome outcome, run.run());
    return TrainResult{{}, {}, {}, outcome.interrupted};
  }

  Result<TrainResult> run() {
    TrainRequest& request = prepared_.request;
    measure::Interrupt interrupt;
    const scenario::TrainingSchedule& plan = request.plan;
    const train::OptimizerConfig& update = prepared_.engine->config().update;
    SLUICE_TRY(const env::Environment environment, env::collect());
    SLUICE_TRY(const std::string profile, backend::profile_of_visit({.argv = caller_.argv}));
    Watcher watcher(*caller_.progress, interrupt, plan.epochs, update.total_steps);
    // Looks at the checkpoint before anything is written.
    std::optional<scenario::TrainingRun> run;
    if (request.resume) {
      run.emplace(make_run(watcher));
      SLUICE_CHECK(run->resume());
    }
    std::error_code problem;
    const bool resume = request.resume && !caller_.out.empty() && fs::exists(caller_.out, problem);
    SLUICE_TRY(const results::RunFolder folder, open_run_folder(caller_, "train", profile, resume));
    if (!request.resume) {
      if (plan.checkpoint_dir.empty()) request.plan.checkpoint_dir = folder.path() / "checkpoints";
      run.emplace(make_run(watcher));
    }
    SLUICE_CHECK(create_folders(plan.checkpoint_dir));
    SLUICE_CHECK(folder.write_environment(env::to_json(environment)));
    const Json config = plan_json(request);
    SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(config))));
    SLUICE_CHECK(watcher.log.open(folder.path() / "steps.jsonl", prepared_.engine->steps()));
    const auto write = [&](const scenario::TrainingOutcome& outcome, const char* status,
                           const Json& reason) -> Result<Json> {
      const Json document = document_of(config, outcome, profile, status, reason);
      SLUICE_CHECK(write_file_atomic(folder.path() / "train.json", dump_json(document) + "\n"));
      return document;
    };
    // What is killed has left the steps of its log, and a document that says what they are of.
    SLUICE_CHECK(write(run->outcome(), "running", {}));
    const auto ended = run->run();
    if (!ended) {
      std::ignore = write(run->outcome(), "failed", ended.error().message);
      return ended.error();
    }
    const scenario::TrainingOutcome& outcome = *ended;
    SLUICE_TRY(const Json document,
               write(outcome, outcome.interrupted ? "interrupted" : "complete", {}));
    return TrainResult{document, folder.path(), request.plan.checkpoint_dir, outcome.interrupted};
  }

 private:
  scenario::TrainingRun make_run(scenario::TrainingObserver& watcher) {
    return {*prepared_.engine, *prepared_.data.train, prepared_.data.validation.get(),
            prepared_.request.plan, watcher};
  }

  Json document_of(const Json& config, const scenario::TrainingOutcome& outcome,
                   const std::string& profile, const char* status, const Json& reason) {
    const fs::path& checkpoints = prepared_.request.plan.checkpoint_dir;
    std::error_code problem;
    const fs::path best = checkpoints / "best.safetensors";
    return Json{{"schema", kSchema},
                {"tool", {{"version", version::kProgram}, {"git", version::git()}}},
                {"argv", caller_.argv},
                {"machine_profile", profile},
                {"status", status},
                {"reason", reason},
                {"engine", engine_json(*prepared_.engine)},
                {"world", world_json()},
                {"config", config},
                {"data", data_json(prepared_.data)},
                {"steps", outcome.steps},
                {"epochs", outcome.epochs},
                {"checkpoints",
                 {{"last", (checkpoints / "last.safetensors").string()},
                  {"best", fs::exists(best, problem) ? Json(best.string()) : Json()}}}};
  }

  [[nodiscard]] Json world_json() const {
    TrainWorld* const world = prepared_.request.world;
    if (world == nullptr) return Json{{"size", 1}, {"library", nullptr}};
    const std::string& sums = prepared_.engine->info().sums;  // of devices that add up themselves
    return Json{{"size", world->ranks().size()},
                {"library", sums.empty() ? world->ranks().library() : sums}};
  }

  const Caller& caller_;
  Prepared& prepared_;
};

}  // namespace

std::string epoch_line(const Json& epoch, std::uint64_t epochs) {
  std::string line = fmt::format("epoch {}/{}  loss {}  accuracy {}", epoch.at("epoch").dump(),
                                 epochs, number(epoch.at("loss")), percent(epoch.at("accuracy")));
  if (!epoch.at("val_loss").is_null())
    line += fmt::format("  val loss {}  val accuracy {}", number(epoch.at("val_loss")),
                        percent(epoch.at("val_accuracy")));
  if (!epoch.at("ema_val_loss").is_null())
    line += fmt::format("  EMA val loss {}  EMA val accuracy {}", number(epoch.at("ema_val_loss")),
                        percent(epoch.at("ema_val_accuracy")));
  return line + fmt::format("  {:.1f} samples/s  wait {}\n",
                            epoch.at("samples_per_s").get<double>(),
                            percent(epoch.at("wait_fraction")));
}

Json engine_json(const train::Engine& engine) {
  const train::EngineInfo& info = engine.info();
  const train::ModelSpec& model = engine.config().model;
  return Json{{"model", model.name},     {"parameters", train::parameter_count(model)},
              {"image", model.image},    {"classes", model.classes},
              {"device", info.device},   {"library", info.library},
              {"threads", info.threads}, {"dtype", train::to_string(info.regime)},
              {"note", info.note},       {"memory_bytes", engine.peak_memory_bytes()}};
}

Result<TrainResult> run_train(const Caller& caller, TrainRequest request) {
  SLUICE_TRY(Prepared prepared, prepare(std::move(request)));
  SLUICE_CHECK(make_engine(prepared));
  return Training(caller, prepared).run();
}

Result<TrainResult> run_train(const Caller& caller, Result<TrainRequest> asked, TrainWorld& world) {
  if (asked) asked->world = &world;
  Result<Prepared> prepared = asked ? prepare(std::move(*asked)) : asked.error();
  SLUICE_CHECK(world.agree(prepared ? Result<Json>(common_of(*prepared)) : prepared.error()));
  const auto train = [&]() -> Result<TrainResult> {
    SLUICE_CHECK(make_engine(*prepared));
    Training training(caller, *prepared);
    return world.leads() ? training.run() : training.follow();
  };
  auto result = train();
  if (!result) world.ranks().give_up(result.error());
  return result;
}

}  // namespace sluice::visit
