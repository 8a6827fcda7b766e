// sluice/scenario/training/diagnose_rows.cpp - the parts of a training step, each alone, and all
// together: "diagnose/loader", "diagnose/model", "diagnose/transfer", "diagnose/together"; and
// "diagnose/before" and "diagnose/advised", both together, to try an advice.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/clock.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/loader/details.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/training/feed.h"
#include "sluice/scenario/training/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sluice::scenario {
namespace {

enum class Part : std::uint8_t { loader, model, transfer, together };

constexpr std::size_t kPageBytes = 4096;
constexpr double kMaxModelMs = 3'600'000;
constexpr std::int64_t kSlowStepNs = 200'000'000;

Result<Part> part_of(const std::string& case_name) {
  constexpr std::array<std::pair<const char*, Part>, 6> kParts{{{"loader", Part::loader},
                                                                {"model", Part::model},
                                                                {"transfer", Part::transfer},
                                                                {"together", Part::together},
                                                                {"before", Part::together},
                                                                {"advised", Part::together}}};
  const std::string name = case_name.substr(case_name.find('/') + 1);
  for (const auto& [known, part] : kParts)
    if (name == known) return part;
  return Error{Errc::unsupported, fmt::format("no part of a step is called {}", printable(name))};
}

/// What takes the batches: our engine, or an accelerator that is only waited for.
class Model {
 public:
  virtual ~Model() = default;
  /// A digest of what it computes, the same in every process.
  virtual Result<std::string> check() = 0;
  /// A whole step; null: with the batch that is there. `meanwhile` is called while it computes.
  virtual Status step(const train::BatchView* batch, const std::function<Status()>& meanwhile) = 0;
  virtual Status transfer() = 0;
  [[nodiscard]] virtual Json describe() const = 0;
};

class EngineModel final : public Model {
 public:
  EngineModel(std::unique_ptr<train::Engine> engine, const LoaderSpec& loader)
      : engine_(std::move(engine)),
        loader_(loader),
        batch_(generate_batch(engine_->config().model, engine_->config().batch,
                              engine_->config().seed)) {}

  Result<std::string> check() override {
    SLUICE_TRY(const auto evaluated, engine_->evaluate(batch_.view()));
    if (!std::isfinite(evaluated.loss))
      return Error{Errc::measurement,
                   fmt::format("the loss of the untrained model is {}", evaluated.loss)};
    SLUICE_CHECK(step(nullptr, [] { return Status(ok); }));
    return fmt::format("loss {:a}", evaluated.loss);
  }
  Status step(const train::BatchView* batch, const std::function<Status()>& meanwhile) override {
    const train::BatchView generated = batch_.view();
    if (batch == nullptr && !resident_) batch = &generated;
    SLUICE_CHECK(batch != nullptr ? engine_->micro_step(*batch) : engine_->micro_step_again());
    resident_ = true;
    SLUICE_CHECK(meanwhile());
    SLUICE_TRY([[maybe_unused]] const train::StepResult result, engine_->update());
    engine_->synchronize();
    return ok;
  }
  Status transfer() override {
    if (train::cuda::Inbox* inbox = engine_->inbox()) return send_to(*inbox);
    const train::Program& program = engine_->program();
    SLUICE_CHECK(engine_->write(program.plan.at(program.images).name, batch_.images));
    return ok;
  }
  [[nodiscard]] Json describe() const override {
    return Json{{"model", engine_->config().model.name},
                {"device", engine_->info().device},
                {"dtype", to_string(engine_->info().regime)},
                {"threads", engine_->info().threads}};
  }

 private:
  /// As a loader's slot would be copied, from the memory that it would have.
  Status send_to(train::cuda::Inbox& inbox) {
    if (slot_.bytes().empty()) {
      loader::LoaderOptions options;
      set_slots(options, loader_);
      SLUICE_TRY(slot_,
                 loader::SlotMemory::make(batch_.images.size() * train::bytes_of(loader_.upload),
                                          options.pinned_allocator));
      std::fill(slot_.bytes().begin(), slot_.bytes().end(), std::byte{0});
      if (loader_.upload == train::PixelType::u8)
        levels_ = loader::normalized_levels(image::Normalization::imagenet());
    }
    SLUICE_TRY(const std::uint64_t number, inbox.send({slot_.bytes(), loader_.upload, levels_}));
    SLUICE_CHECK(inbox.arrived(number, kCopyLimit));
    return inbox.drop();
  }

  std::unique_ptr<train::Engine> engine_;
  LoaderSpec loader_;
  loader::SlotMemory slot_;  // a batch for transfer()
  std::vector<float> levels_;
  GeneratedBatch batch_;
  bool resident_ = false;  // the engine holds some batch
};

/// A device computes for a given time while the cores are free.
class EmulatedModel final : public Model {
 public:
  explicit EmulatedModel(double ms) : ms_(ms) {}
  Result<std::string> check() override { return fmt::format("waits {:g} ms", ms_); }
  Status step(const train::BatchView* /*batch*/,
              const std::function<Status()>& /*meanwhile*/) override {
    std::this_thread::sleep_until(std::chrono::steady_clock::now() +
                                  std::chrono::duration<double, std::milli>(ms_));
    return ok;
  }
  Status transfer() override {
    return Error{Errc::unsupported, "an emulated accelerator reads batches where they lie"};
  }
  [[nodiscard]] Json describe() const override { return Json{{"emulated_ms", ms_}}; }

 private:
  double ms_;
};

class DiagnoseSubject final : public measure::Subject {
 public:
  DiagnoseSubject(Part part, LoaderSpec loader, std::unique_ptr<TrainingFeed> feed,
                  std::unique_ptr<Model> model, const train::Engine* connect_to)
      : part_(part),
        loader_(std::move(loader)),
        model_(std::move(model)),
        feed_(std::move(feed)),
        connect_to_(connect_to) {}

  Result<std::string> check() override {
    std::string digest;
    const bool lanes = loader_.lanes != loader::gpu::LanePolicy::cpu;
    if (feed_ && lanes) {
      SLUICE_CHECK(feed_->connect(*connect_to_));
    } else if (feed_) {
      SLUICE_TRY(const FeedBatch batch, feed_->next_of_any_epoch());
      for (const float value : batch.view.images)
        if (!std::isfinite(value))
          return Error{Errc::measurement, "the loader's first batch holds what is no number"};
      Sha256 sha;
      const auto bytes = batch.pixels;
      sha.update(std::span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               bytes.size()));
      digest = sha.hex();
      if (connect_to_) SLUICE_CHECK(feed_->connect(*connect_to_));
    }
    if (model_ && part_ != Part::loader) {
      SLUICE_TRY(const std::string computed, model_->check());
      digest += (digest.empty() ? "" : ", ") + computed;
    }
    if (part_ == Part::transfer) SLUICE_CHECK(model_->transfer());
    return digest;
  }

  void run_pass() override {
    // The preflight sizes samples by the first passes: batches that were made ahead of them would
    // make them look as if they cost nothing.
    if (feed_ && !std::exchange(drained_, true)) drain();
    switch (part_) {
      case Part::loader:
        return look_at(take());
      case Part::model:
        return step(nullptr);
      case Part::transfer:
        return require(model_->transfer());
      case Part::together:
        break;
    }
    const FeedBatch batch = take();
    step(&batch.view);
  }
  [[nodiscard]] bool works_ahead() const override { return feed_ != nullptr; }
  [[nodiscard]] std::int64_t items_per_pass() const override { return loader_.batch_size; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

  /// What was made ahead before the sample would flatter the loader; together the queue is to be as
  /// full before the sample as after it.
  void begin_sample() override {
    const bool first = !std::exchange(sized_, true);
    if (part_ == Part::loader) drain();
    if (part_ == Part::together && first) fill_queue();
    wait_ns_ = model_ns_ = 0;
    batch_ns_.clear();
    if (feed_) before_ = {clock_.now_ns(), feed_->stats(), {}};
    last_ns_ = clock_.now_ns();
  }

  Json measured_info() override {
    Json json = Json::object();
    if (feed_) json = loader_details(before_, {clock_.now_ns(), feed_->stats(), {}}, batch_ns_);
    if (feed_) json["dataset_items"] = feed_->size();
    json["wait_ns"] = wait_ns_;
    json["model_ns"] = model_ns_;
    json["rss_bytes"] = resident_bytes();
    if (model_) json["model"] = model_->describe();
    return json;
  }

 private:
  FeedBatch take() {
    auto batch = feed_->next_of_any_epoch();
    if (!batch) throw std::runtime_error(batch.error().message);
    wait_ns_ += batch->wait_ns;
    const std::int64_t now_ns = clock_.now_ns();
    if (batch_ns_.size() < batch_ns_.capacity()) batch_ns_.push_back(now_ns - last_ns_);
    last_ns_ = now_ns;
    return *batch;
  }

  void step(const train::BatchView* batch) {
    const std::int64_t start_ns = clock_.now_ns();
    require(model_->step(batch, [&] { return feed_ ? feed_->ahead() : ok; }));
    model_ns_ += clock_.now_ns() - start_ns;
  }

  /// One byte of every page; what was sent to a device is dropped there.
  void look_at(const FeedBatch& batch) {
    if (batch.view.sent) return require(connect_to_->inbox()->drop());
    auto seen = std::byte{};
    for (std::size_t i = 0; i < batch.pixels.size(); i += kPageBytes)
      seen ^= batch.pixels[i];
    asm volatile("" : : "r"(&seen) : "memory");
  }

  void drain() {
    for (int i = 0; i < 2 * (loader_.prefetch + 1); ++i) {
      const std::uint64_t waited = feed_->stats().waited_batches;
      look_at(take());
      if (feed_->stats().waited_batches > waited) return;
    }
  }

  /// While a slow step runs the loader gets as far ahead as it can.
  void fill_queue() {
    for (int i = 0; i <= loader_.prefetch; ++i) {
      const std::uint64_t waited = feed_->stats().waited_batches;
      const std::int64_t start_ns = clock_.now_ns();
      run_pass();
      if (feed_->stats().waited_batches == waited && clock_.now_ns() - start_ns > kSlowStepNs)
        return;
    }
  }

  static std::vector<std::int64_t> room_for_times() {
    std::vector<std::int64_t> times;
    times.reserve(4096);
    return times;
  }

  Part part_;
  LoaderSpec loader_;
  std::unique_ptr<Model> model_;        // null: this part computes nothing
  std::unique_ptr<TrainingFeed> feed_;  // null: this part loads nothing. Goes before the model
  const train::Engine* connect_to_;     // the model's, where both are there
  SystemClock clock_;
  LoaderMoment before_;
  std::int64_t wait_ns_ = 0, model_ns_ = 0, last_ns_ = 0;
  bool drained_ = false;  // the first pass has begun
  bool sized_ = false;    // the first sample has
  std::vector<std::int64_t> batch_ns_ = room_for_times();
};

}  // namespace

Result<std::unique_ptr<measure::Subject>> make_diagnose(const measure::SubjectContext& context) {
  SLUICE_TRY(const Part part, part_of(context.case_name));
  SLUICE_TRY(const TrainingSpec spec, read_training_spec(context));
  const measure::Reply fields("spec", context.spec);
  SLUICE_TRY(const double model_ms, fields.number("model_time_ms", 0));
  if (!(model_ms >= 0 && model_ms <= kMaxModelMs))
    return fields.wrong("model_time_ms", "0 (none) to an hour");
  SLUICE_TRY(FeedOptions options, feed_options(spec, context));
  options.emulated_device = model_ms > 0 && spec.loader.contains("upload");
  std::unique_ptr<TrainingFeed> feed;
  if (part == Part::loader || part == Part::together) {
    SLUICE_TRY(feed, TrainingFeed::open(options));
  }
  std::unique_ptr<Model> model;
  const train::Engine* connect_to = nullptr;
  // Lanes of a GPU need one also where the loader is alone.
  const bool lanes = options.loader.lanes != loader::gpu::LanePolicy::cpu;
  if (part != Part::loader && model_ms > 0) {
    model = std::make_unique<EmulatedModel>(model_ms);
  } else if (part != Part::loader || lanes) {
    SLUICE_TRY(auto engine, train::Engine::make(spec.engine));
    if (feed) connect_to = engine.get();
    model = std::make_unique<EngineModel>(std::move(engine), options.loader);
  }
  return std::unique_ptr<measure::Subject>(std::make_unique<DiagnoseSubject>(
      part, options.loader, std::move(feed), std::move(model), connect_to));
}

}  // namespace sluice::scenario
