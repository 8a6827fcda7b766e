// sluice/scenario/training/rows.cpp - one training step as a row: our engine behind the worker
// protocol.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/clock.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/measure/usage.h"
#include "sluice/scenario/loader/details.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/scenario/training/steps.h"
#include "sluice/scenario/training/world.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/model/op_cost.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sluice::scenario {
namespace {

constexpr std::size_t kStepsKept = 4096;  // room for them is made before anything is timed
/// An untrained model guesses: its loss is the logarithm of the outputs, give or take this.
constexpr double kGuess = 2.5;

Json info_json(const train::EngineInfo& info, const train::Program& program) {
  Json json{{"device", info.device},
            {"library", info.library},
            {"threads", info.threads},
            {"dtype", to_string(info.regime)},
            {"parameter_type", to_string(info.parameter_type)},
            {"activation_type", to_string(info.activation_type)},
            {"residual_type", to_string(info.residual_type)},
            {"last_block", to_string(program.options.last_block)}};
  if (!info.note.empty()) json["note"] = info.note;
  return json;
}

/// What the driver's free memory fell by while this process worked: other processes of the same
/// measurement are stopped then. The CUDA context, which is there before, is not in it.
class DriverMemory {
 public:
  using Free = std::optional<std::size_t>;
  void begin(Free free) { before_ = free; }
  void end(Free after) {
    if (before_ && after)
      held_ = held_.value_or(0) +
              (static_cast<std::int64_t>(*before_) - static_cast<std::int64_t>(*after));
    before_.reset();
  }
  /// Nothing: the device does not tell, or others gave memory back meanwhile.
  [[nodiscard]] std::optional<std::int64_t> held() const {
    return held_ && *held_ > 0 ? held_ : std::nullopt;
  }
  /// The same while it works, with so much free.
  [[nodiscard]] std::optional<std::int64_t> held_at(std::size_t free) const {
    if (!before_) return std::nullopt;
    const auto fell = static_cast<std::int64_t>(*before_) - static_cast<std::int64_t>(free);
    const std::int64_t held = held_.value_or(0) + fell;
    return held > 0 ? std::optional(held) : std::nullopt;
  }

 private:
  Free before_;
  std::optional<std::int64_t> held_;
};

/// Bytes after untimed steps; what is timed is left alone. Thinned out evenly when they are many.
class MemoryLine {
 public:
  void add(std::int64_t step, std::int64_t bytes) {
    if (step % every_ != 0) return;
    points_.emplace_back(step, bytes);
    if (points_.size() < kMost) return;
    every_ *= 2;
    std::erase_if(points_, [&](const auto& point) { return point.first % every_ != 0; });
  }
  /// [[step, bytes], ...]; whose bytes is said beside it.
  [[nodiscard]] Json json() const { return points_; }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<std::pair<std::int64_t, std::int64_t>> points_;
  std::int64_t every_ = 1;
};

DriverMemory::Free free_of(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  const auto index = train::cuda::device_index(device);
  if (!index) return std::nullopt;
  const auto facts = train::cuda::device_facts(*index);
  return facts ? DriverMemory::Free(facts->free_bytes) : std::nullopt;
}

/// A device that is not there, a batch that does not fit: no fault of the engine.
Error refusal(const Error& error) {
  return {error.code == Errc::usage ? Errc::unsupported : error.code, error.message};
}

class TrainingSubject final : public measure::Subject {
 public:
  TrainingSubject(TrainingSpec spec, std::unique_ptr<TrainingWorld> world,
                  std::unique_ptr<TrainingSteps> steps, DriverMemory memory)
      : spec_(std::move(spec)),
        memory_(memory),
        world_(std::move(world)),
        steps_(std::move(steps)),
        engine_(&steps_->engine()) {
    for (auto* list : {&losses_, &norms_})
      list->reserve(kStepsKept);
    data_ns_.reserve(kStepsKept);
    if (steps_->feed() != nullptr) opened_ = steps_->feed()->moment();
  }

  /// All ranks put their engines away together.
  ~TrainingSubject() override {
    if (world_) world_->end();
  }

  /// The untrained model on the generated batch: the loss of a guess, and the same in every
  /// process. That the numbers are right is proved by the tests of the train room and, where other
  /// libraries run beside it, by their losses on the same weights.
  Result<std::string> check() override {
    memory_.begin(engine_->device_free_bytes());
    SLUICE_TRY(const train::BatchView batch, steps_->unmixed());
    const auto evaluated = engine_->evaluate(batch);
    memory_.end(engine_->device_free_bytes());
    if (!evaluated) return refusal(evaluated.error());
    const double guess = std::log(static_cast<double>(spec_.engine.model.outputs()));
    if (!(std::abs(static_cast<double>(evaluated->loss) - guess) <= kGuess))
      return Error{Errc::measurement,
                   fmt::format("the loss of the untrained model is {:g}; about {:.2f} is expected",
                               evaluated->loss, guess)};
    first_loss_ = evaluated->loss;
    const std::int64_t parameters = train::parameter_count(spec_.engine.model);
    if (spec_.engine.device != "cpu")  // sums may come in another order there
      return fmt::format("{} parameters, {}", parameters, to_string(engine_->info().regime));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &evaluated->loss, sizeof bits);
    return fmt::format("{} parameters, {}, loss {:08x}", parameters,
                       to_string(engine_->info().regime), bits);
  }

  void run_pass() override {
    const train::StepResult result = step();
    if (losses_.empty()) first_timed_ = steps_->taken() - 1;
    losses_.push_back(static_cast<double>(result.loss));
    norms_.push_back(result.gradient_norm);
    data_ns_.push_back(result.phases[static_cast<std::size_t>(train::Phase::data)]);
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return std::int64_t{spec_.engine.batch} * spec_.engine.grad_accum * spec_.world_size;
  }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

  void begin_sample() override {
    memory_.begin(engine_->device_free_bytes());
    untimed_ = -steps_->taken();
    for (; warmed_ < spec_.warmup_steps; ++warmed_) {
      step();
      note_memory();
    }
    take_phases(spec_.phase_steps / 2);  // the others follow the timed steps: drift cancels
    losses_.clear();
    norms_.clear();
    data_ns_.clear();
    if (world_) world_->begin();
    if (steps_->feed() != nullptr) before_ = steps_->feed()->moment();
    touched_before_ = touched_bytes();
    waited_ns_ = measure::waited_for_cores_ns();
  }

  Json measured_info() override {
    const auto waited_ns = measure::waited_for_cores_ns();
    const std::int64_t touched = touched_bytes() - touched_before_;
    const Json loaded = loaded_info();
    Json json{{"losses", losses_},         {"steps_before", first_timed_},
              {"first_loss", first_loss_}, {"data_ns", data_ns_},
              {"warmup_steps", warmed_},   {"first_step_ns", first_step_ns_}};
    if (waited_ns && waited_ns_) json["waited_ns"] = *waited_ns - *waited_ns_;
    if (spec_.engine.optimizer) json["gradient_norms"] = norms_;
    if (world_) json["world"] = reported(world_->report(engine_->info().sums));
    add_phases(json);
    memory_.end(engine_->device_free_bytes());
    if (const auto held = memory_.held()) json["driver_peak_bytes"] = *held;
    json["peak_bytes"] = engine_->peak_memory_bytes();
    json["plan_bytes"] = engine_->program().plan.bytes();
    json["rss_bytes"] = resident_bytes();
    json["memory_by_step"] = memory_line_.json();
    json["memory_of"] = engine_->device_free_bytes() ? "device" : "process";
    json["touched_bytes"] = touched;
    json["least_bytes"] = least_bytes() * spec_.engine.grad_accum;
    if (!loaded.is_null()) json["loader"] = loaded;
    json["flop_executed"] =
        train::executed_flop(engine_->program()) * spec_.engine.grad_accum * spec_.world_size;
    json["engine"] = info_json(engine_->info(), engine_->program());
    untimed_ += steps_->taken() - static_cast<std::int64_t>(losses_.size());
    json["data"] = Json{{"source", to_string(spec_.data)}};
    if (const TrainingFeed* feed = steps_->feed()) {
      json["data"]["recipe"] = feed->describe();
      json["data"]["samples"] = feed->size();
      json["data"]["epochs"] = feed->epoch();
      if (const Json lanes = feed->lanes(); !lanes.is_null()) json["data"]["lanes"] = lanes;
    }
    return json;
  }

  [[nodiscard]] std::int64_t untimed_passes() const override { return untimed_; }
  [[nodiscard]] Json output_info() const override {
    return Json{{"parameters", train::parameter_count(spec_.engine.model)}, {"loss", first_loss_}};
  }

 private:
  /// Of all ranks.
  train::StepResult step() {
    if (first_step_ns_ == 0) first_step_ns_ = clock_.now_ns();
    if (world_) require(world_->step());
    auto result = steps_->take();
    if (!result) throw std::runtime_error(result.error().message);
    if (world_) world_->note(result->sync);
    return *result;
  }

  /// What the loader did in the timed steps, and once what it did before them.
  Json loaded_info() {
    const TrainingFeed* feed = steps_->feed();
    if (feed == nullptr) return nullptr;
    Json json{{"timed", loader_details(before_, feed->moment(), {})}};
    if (opened_)
      json["before"] = loader_details(*std::exchange(opened_, std::nullopt), before_, {});
    return json;
  }

  /// That the ops of a micro-step must move, by their shapes.
  [[nodiscard]] double least_bytes() const {
    double bytes = 0;
    for (const auto& [name, cost] : train::costs_of(engine_->program()))
      bytes += cost.bytes;
    return bytes;
  }

  static Json reported(Result<Json> report) {
    if (!report) throw std::runtime_error(report.error().message);
    return std::move(*report);
  }

  /// Instrumented steps, apart from the timed ones.
  void take_phases(int steps) {
    engine_->time_phases(true);
    for (int i = 0; i < steps; ++i) {
      const std::int64_t start_ns = clock_.now_ns();
      const train::StepResult result = step();
      phased_ns_.push_back(clock_.now_ns() - start_ns);
      note_memory();
      for (std::size_t k = 0; k < phases_ns_.size(); ++k)
        phases_ns_[k].push_back(result.phases[k]);
    }
    engine_->time_phases(false);
  }

  void note_memory() {
    const auto free = engine_->device_free_bytes();
    if (!free) return memory_line_.add(steps_->taken(), resident_bytes());
    if (const auto held = memory_.held_at(*free)) memory_line_.add(steps_->taken(), *held);
  }

  void add_phases(Json& json) {
    if (spec_.phase_steps == 0) return;
    take_phases(spec_.phase_steps - spec_.phase_steps / 2);
    json["phased_step_ns"] = std::exchange(phased_ns_, {});
    Json& list = json["phases_ns"] = Json::object();
    for (std::size_t k = 0; k < phases_ns_.size(); ++k)
      list[std::string(to_string(train::kPhases[k]))] = std::exchange(phases_ns_[k], {});
  }

  TrainingSpec spec_;
  DriverMemory memory_;
  MemoryLine memory_line_;
  std::unique_ptr<TrainingWorld> world_;  // null: this rank alone
  std::unique_ptr<TrainingSteps> steps_;
  train::Engine* engine_;  // of the steps
  SystemClock clock_;
  int warmed_ = 0;
  std::int64_t untimed_ = 0;      // steps around the last sample
  std::int64_t first_timed_ = 0;  // steps before losses_.front(), timed or not
  std::int64_t first_step_ns_ = 0;
  float first_loss_ = 0;
  std::vector<double> losses_, norms_;
  std::vector<std::int64_t> data_ns_;
  std::optional<std::int64_t> waited_ns_;  // for cores, when the sample began
  std::optional<LoaderMoment> opened_;     // of the feed; told once
  LoaderMoment before_;                    // of the feed, when the sample began
  std::int64_t touched_before_ = 0;
  std::array<std::vector<std::int64_t>, train::kPhases.size()> phases_ns_;
  std::vector<std::int64_t> phased_ns_;
};

}  // namespace

Result<std::unique_ptr<measure::Subject>> make_training(const measure::SubjectContext& context) {
  SLUICE_TRY(TrainingSpec spec, read_training_spec(context));
  std::unique_ptr<TrainingWorld> world;
  if (spec.world_size > 1 || spec.sync_alone) {
    SLUICE_TRY(world, TrainingWorld::start(spec, context));
    spec.engine.world = &world->ranks();
  }
  DriverMemory memory;
  memory.begin(free_of(spec.engine.device));
  auto engine = train::Engine::make(spec.engine);
  if (!engine) return refusal(engine.error());
  memory.end((*engine)->device_free_bytes());
  SLUICE_TRY(auto feed, open_feed(spec, context, **engine));
  if (world) SLUICE_CHECK(world->ready(feed.get()));
  auto steps = std::make_unique<TrainingSteps>(spec, std::move(*engine), std::move(feed));
  return std::unique_ptr<measure::Subject>(std::make_unique<TrainingSubject>(
      std::move(spec), std::move(world), std::move(steps), memory));
}

}  // namespace sluice::scenario
