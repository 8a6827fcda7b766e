// sluice/scenario/loader/rows.cpp - files of a folder or bucket to batches: our loader as a row.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/clock.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/image/dataset.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/recipe/place.h"
#include "sluice/loader/worker.h"
#include "sluice/scenario/batch.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/loader/details.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/scenario/scenario.h"
#include "sluice/storage/local/page_cache.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sluice::scenario {
namespace {

constexpr std::uint64_t kCheckedSamples = 8;
const image::Normalization kNormalization = image::Normalization::imagenet();
constexpr std::size_t kTraceSpans = 1 << 16;
constexpr std::size_t kMaxEpochsKept = 1000;

/// A device that takes batches and computes nothing.
class DeviceEnd {
 public:
  static Result<std::unique_ptr<DeviceEnd>> open(const std::string& device,
                                                 const train::cuda::InboxShape& shape) {
    SLUICE_TRY(const int index, train::cuda::device_index(device));
    SLUICE_TRY(auto session, train::cuda::Session::open(index, shape.values() * sizeof(float)));
    return std::unique_ptr<DeviceEnd>(new DeviceEnd(std::move(session), shape));
  }
  [[nodiscard]] train::cuda::Inbox& inbox() { return inbox_; }
  /// The oldest batch of the inbox as a model would take it.
  Status unpack() { return inbox_.unpack(images()); }
  [[nodiscard]] Status wait() const { return session_.synchronize(); }
  Result<std::vector<float>> read(std::size_t values) {
    std::vector<float> read(values);
    SLUICE_CHECK(session_.download(std::as_writable_bytes(std::span(read)), images()));
    return read;
  }

 private:
  DeviceEnd(train::cuda::Session session, const train::cuda::InboxShape& shape)
      : session_(std::move(session)), inbox_(session_, shape, 0) {}
  float* images() { return reinterpret_cast<float*>(session_.memory()); }

  train::cuda::Session session_;
  train::cuda::Inbox inbox_;
};

class LoaderSubject final : public measure::Subject {
 public:
  LoaderSubject(LoaderSpec spec, LoaderInput input, std::string case_name,
                std::shared_ptr<const loader::Recipe> recipe, std::unique_ptr<DeviceEnd> device)
      : spec_(std::move(spec)),
        input_(std::move(input)),
        case_name_(std::move(case_name)),
        recipe_(std::move(recipe)),
        device_(std::move(device)) {}

  /// What the loader delivers must be what the recipe makes of the same bytes, whoever of the
  /// workers did it. A first epoch finds its files and caches untouched: there nothing is read.
  Result<std::string> check() override {
    if (spec_.first_epoch) return std::string("the recipe is checked by the other rows");
    SLUICE_CHECK(start());
    if (device_) SLUICE_CHECK(check_device());
    if (lanes_) {
      drain();
      return fmt::format("decoded by {}", to_string(spec_.lanes));
    }
    SLUICE_TRY(auto batch, loader_->next());
    if (!batch) {
      end_epoch();
      SLUICE_TRY(batch, loader_->next());
    }
    if (!batch) return Error{Errc::measurement, "the loader gave no batch"};
    std::vector<std::byte> wanted(recipe_->output().bytes());
    const std::uint64_t count = std::min<std::uint64_t>(kCheckedSamples, batch->size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t index = batch->indices()[i];
      SLUICE_CHECK(make_sample(*recipe_, wanted, index, batch->epoch()));
      const auto got = batch->sample(i);
      if (got.size() != wanted.size() || std::memcmp(got.data(), wanted.data(), got.size()) != 0)
        return Error{Errc::measurement,
                     fmt::format("{}: the batch holds something else than the recipe makes",
                                 printable(input_.dataset->name(index)))};
    }
    SLUICE_TRY(std::string digest, digest_of_first_samples());
    batch->release();
    drain();  // what was made ahead would make the first passes look as if they cost nothing
    return digest;
  }

  void run_pass() override {
    for (std::uint64_t i = 0; i < spec_.pass_batches; ++i)
      take();
    if (device_ && spec_.first_epoch) require(device_->wait());
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(spec_.batch_size * spec_.pass_batches);
  }
  [[nodiscard]] double bytes_per_item() const override {
    return static_cast<double>(recipe_->output().bytes());
  }

  /// Where the consumer is faster than the loader: once it had to wait, nothing lies ready that was
  /// made before the sample. Where a batch is ready all the same, as with small arrays, an epoch
  /// begins with the first batch that is timed, and what lies ready is dropped. With a step that
  /// takes longer the queue is full before and after.
  void begin_sample() override {
    if (spec_.first_epoch) {
      if (spec_.drop_cache) drop_cache();
    } else {
      drained_ = drain();
      first_of_sample_ = spec_.step_ms <= 0;
    }
    batch_ns_.clear();
    touched_before_ = touched_bytes();
    before_ = now();
    last_ns_ = before_.at_ns;
    in_sample_ = true;
  }

  Json measured_info() override {
    in_sample_ = false;
    Json json = loader_details(before_, now(), batch_ns_);
    json["touched_bytes"] = touched_bytes() - touched_before_;
    json["epochs"] = epoch_ - first_epoch_of_sample_;
    first_epoch_of_sample_ = epoch_;
    json["step_ms"] = spec_.step_ms;
    json["rss_bytes"] = resident_bytes();
    json["anonymous_bytes"] = anonymous_bytes();
    json["anonymous_by_epoch"] = anonymous_by_epoch_;
    json["open_ms"] = static_cast<double>(input_.open_ns) * 1e-6;
    json["first_batch_ms"] = static_cast<double>(first_batch_ns_) * 1e-6;
    if (outbox_)
      if (const Json lanes = outbox_->describe(); !lanes.is_null()) json["lanes"] = lanes;
    json["dataset_items"] = input_.all_items;
    json["epoch_items"] = input_.dataset->size();
    if (spec_.first_epoch) {
      json["page_cache"] = page_cache_;
      const std::int64_t start_ns = clock_.now_ns();
      if (lanes_)
        lanes_->stop();
      else
        loader_->stop();
      json["stop_ms"] = static_cast<double>(clock_.now_ns() - start_ns) * 1e-6;
    }
    if (!spec_.trace.empty() && loader_) {
      loader_->stop();  // spans are read when nobody writes them any more
      if (const Status written = loader_->write_trace(spec_.trace); !written)
        json["trace_reason"] = written.error().message;
    }
    return json;
  }

  [[nodiscard]] Json output_info() const override {
    const loader::OutputSpec output = recipe_->output();
    return Json{{"shape", {spec_.batch_size, output.channels, output.height, output.width}},
                {"dtype", to_string(output.type)},
                {"layout", to_string(output.layout)},
                {"recipe", recipe_->describe()},
                {"dataset_items", input_.all_items}};
  }

  Result<measure::OutputSamples> sample(std::int64_t items, std::int64_t draws) override {
    SLUICE_TRY(const auto fixed, fixed_recipe_of(case_name_));
    const loader::OutputSpec output = fixed->output();
    std::vector<std::byte> pixels(output.bytes());
    measure::OutputSamples samples;
    const auto count =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(items), input_.dataset->size());
    for (std::uint64_t i = 0; i < count; ++i) {
      SLUICE_CHECK(make_sample(*fixed, pixels, i));
      for (std::int64_t draw = 0; draw < draws; ++draw) {  // nothing is drawn
        samples.shapes.push_back({output.height, output.width, output.channels});
        for (const std::byte value : pixels)
          samples.values.push_back(static_cast<float>(value));
      }
    }
    return samples;
  }

 private:
  Status start() {
    if (loader_ != nullptr || lanes_ != nullptr) return ok;
    loader::LoaderOptions options;
    options.batch_size = spec_.batch_size;
    options.workers = spec_.workers;
    options.seed = spec_.seed;
    options.shuffle =
        input_.dataset->shard_starts().size() > 1 ? loader::Shuffle::shards : loader::Shuffle::full;
    options.persistent_workers = spec_.persistent_workers;
    set_slots(options, spec_);
    options.next_epoch_ahead = !spec_.first_epoch;  // what follows would count as its hits
    options.on_error = spec_.skip_errors ? loader::OnError::skip : loader::OnError::fail;
    options.trace_spans = spec_.trace.empty() ? 0 : kTraceSpans;
    start_ns_ = clock_.now_ns();
    const std::vector<float> levels = loader::normalized_levels(kNormalization);
    if (spec_.lanes != loader::gpu::LanePolicy::cpu) {
      SLUICE_TRY(lanes_,
                 make_lanes(input_.dataset, spec_, options, recipe_->output().width, false));
      outbox_ = make_outbox(*lanes_, device_->inbox(), levels);
      return outbox_->start_epoch(epoch_);
    }
    SLUICE_TRY(loader_, loader::Loader::make(input_.dataset, recipe_, options));
    loader_->account(loader::Stage::list, input_.open_ns);
    if (device_) outbox_ = make_outbox(*loader_, device_->inbox(), spec_.upload, levels);
    return loader_->start_epoch(epoch_);
  }

  /// What arrives is what the recipe for this side makes of the same bytes, bit by bit.
  Status check_device() {
    SLUICE_TRY(const auto sent, outbox_->next());
    if (!sent) return Error{Errc::measurement, "the loader gave no batch"};
    SLUICE_CHECK(device_->unpack());
    SLUICE_TRY(const auto here, recipe_of(case_name_, *input_.dataset, spec_));
    std::vector<float> wanted(here->output().bytes() / sizeof(float));
    SLUICE_TRY(const std::vector<float> got, device_->read(wanted.size() * spec_.batch_size));
    const std::size_t count = std::min<std::size_t>(kCheckedSamples, sent->indices.size());
    for (std::size_t i = 0; i < count; ++i) {
      SLUICE_CHECK(make_sample(*here, std::as_writable_bytes(std::span(wanted)), sent->indices[i],
                               sent->epoch));
      const auto arrived = std::span(got).subspan(i * wanted.size(), wanted.size());
      if (lanes_) {
        SLUICE_CHECK(named(input_.dataset->name(sent->indices[i]), near(arrived, wanted)));
        continue;
      }
      for (std::size_t k = 0; k < wanted.size(); ++k)
        if (!same_pixel(arrived[k], wanted[k]))
          return Error{Errc::measurement,
                       fmt::format("{}: the device holds {} where the loader makes {}",
                                   printable(input_.dataset->name(sent->indices[i])), arrived[k],
                                   wanted[k])};
    }
    return ok;
  }
  /// Engines round otherwise than our decoder: 99 of 100 values within two levels.
  static Status near(std::span<const float> arrived, std::span<const float> wanted) {
    std::size_t apart = 0;
    const auto plane = wanted.size() / 3;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (std::abs(arrived[k] - wanted[k]) > 2.01F * kNormalization.scale[k / plane]) ++apart;
    if (apart * 100 <= wanted.size()) return ok;
    return Error{Errc::measurement,
                 fmt::format("{} of {} values are more than two levels from our decoder's", apart,
                             wanted.size())};
  }
  [[nodiscard]] bool same_pixel(float arrived, float wanted) const {
    if (spec_.upload == train::PixelType::f16)
      return std::abs(arrived - wanted) <= std::abs(wanted) / 1024 + 1e-6F;
    return std::memcmp(&arrived, &wanted, sizeof wanted) == 0;
  }

  /// One batch, a number of every page of it looked at, and the step of the consumer.
  void take() {
    require(start());
    if (std::exchange(first_of_sample_, false) && lies_ready()) begin_anew();
    if (device_) return take_to_device();
    auto next = loader_->next();
    if (next && !*next) {
      end_epoch();
      next = loader_->next();
    }
    if (!next) throw std::runtime_error(next.error().message);
    if (!*next) throw std::runtime_error("the loader gave no batch at the start of an epoch");
    const loader::Batch& batch = **next;
    if (first_batch_ns_ == 0) first_batch_ns_ = clock_.now_ns() - start_ns_;
    look_at(batch.data());
    consume();
  }

  /// One batch becomes what a model takes, on the device; those that are ready follow it. What is
  /// still on its way when a sample ends is as much as when it began.
  void take_to_device() {
    auto next = outbox_->next();
    if (next && !*next) {
      end_epoch();
      next = outbox_->next();
    }
    if (!next) throw std::runtime_error(next.error().message);
    if (!*next) throw std::runtime_error("the loader gave no batch at the start of an epoch");
    require(device_->unpack());
    if (first_batch_ns_ == 0) {
      require(device_->wait());
      first_batch_ns_ = clock_.now_ns() - start_ns_;
    }
    require(outbox_->ahead());
    consume();
  }

  void consume() {
    if (spec_.step_ms > 0) {
      // A device computes meanwhile: the core is free for the workers.
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(spec_.step_ms));
    }
    if (in_sample_) {
      const std::int64_t now_ns = clock_.now_ns();
      batch_ns_.push_back(now_ns - last_ns_);
      last_ns_ = now_ns;
    }
  }

  void end_epoch() {
    if (anonymous_by_epoch_.size() < kMaxEpochsKept)
      anonymous_by_epoch_.push_back(anonymous_bytes());
    require(outbox_ ? outbox_->start_epoch(++epoch_) : loader_->start_epoch(++epoch_));
  }

  /// Whether the consumer had to wait.
  bool drain() {
    const int most = 2 * (spec_.prefetch + 1);
    for (int i = 0; i < most; ++i) {
      const std::uint64_t waited = stats().waited_batches;
      take();
      if (stats().waited_batches > waited && spec_.step_ms <= 0) return true;
    }
    return false;
  }

  [[nodiscard]] bool lies_ready() { return loader_ && !outbox_ ? loader_->ready() : !drained_; }

  /// Drops what was made ahead, of the next epoch too.
  void begin_anew() {
    epoch_ += 2;
    require(outbox_ ? outbox_->start_epoch(epoch_) : loader_->start_epoch(epoch_));
  }

  /// Files of this machine only; what the system really holds afterwards is looked at.
  void drop_cache() {
    page_cache_ = "unknown";
    if (input_.folder.empty()) return;
    std::vector<std::filesystem::path> files;
    const Status listed = input_.store->list("", [&](std::span<const storage::Object> objects) {
      for (const storage::Object& object : objects)
        files.push_back(input_.folder / object.key);
      return Status(ok);
    });
    if (!listed || !storage::drop_page_cache(files)) return;
    page_cache_ = std::string(to_string(storage::page_residency(files).state));
  }

  [[nodiscard]] LoaderMoment now() {
    LoaderMoment moment;
    moment.at_ns = clock_.now_ns();
    moment.stats = stats();
    moment.store = input_.store->counters();
    return moment;
  }

  [[nodiscard]] loader::LoaderStats stats() const {
    if (lanes_) return lanes_->stats().loader;
    return loader_ ? loader_->stats() : loader::LoaderStats();
  }

  /// The same in every process and set-up; of the first that can be used, where others are skipped.
  Result<std::string> digest_of_first_samples() {
    std::vector<std::byte> made(recipe_->output().bytes());
    Sha256 sha;
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < input_.dataset->size() && taken < kCheckedSamples; ++i) {
      const Status done = make_sample(*recipe_, made, i);
      if (!done && spec_.skip_errors && loader::is_corrupt_sample(done.error())) continue;
      SLUICE_CHECK(done);
      sha.update(std::span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(made.data()),
                                               made.size()));
      ++taken;
    }
    return sha.hex();
  }

  Status make_sample(const loader::Recipe& recipe, std::span<std::byte> out, std::uint64_t index,
                     std::uint64_t epoch = 0) {
    SLUICE_TRY(const auto bytes, input_.dataset->read(index, buffer_));
    loader::WorkerCounters counters;
    loader::StageClock clock(clock_, counters);
    const auto scratch = recipe.make_scratch();
    loader::RecipeContext context{*scratch, clock, nullptr};
    return named(input_.dataset->name(index),
                 recipe.run(out, bytes, loader::SampleKey{spec_.seed, epoch, index}, context));
  }

  LoaderSpec spec_;
  LoaderInput input_;
  std::string case_name_;
  std::shared_ptr<const loader::Recipe> recipe_;
  SystemClock clock_;
  storage::ReadBuffer buffer_;
  std::unique_ptr<DeviceEnd> device_;               // null: batches are read on this side
  std::unique_ptr<loader::Loader> loader_;          // before what it uses goes
  std::unique_ptr<loader::gpu::DeviceFeed> lanes_;  // instead of the loader: LoaderSpec::lanes
  std::unique_ptr<Outbox> outbox_;                  // with a device
  std::uint64_t epoch_ = 0, first_epoch_of_sample_ = 0;
  std::int64_t start_ns_ = 0, first_batch_ns_ = 0, last_ns_ = 0;
  bool in_sample_ = false;
  bool first_of_sample_ = false;  // the next batch is
  bool drained_ = false;          // the consumer had to wait before the sample
  LoaderMoment before_;
  std::int64_t touched_before_ = 0;
  std::vector<std::int64_t> batch_ns_;
  std::vector<std::int64_t> anonymous_by_epoch_;
  std::string page_cache_ = "not dropped";
};

Scenario loader_row(const char* name, const char* doc, Kind kind) {
  Scenario scenario;
  scenario.name = name;
  scenario.doc = doc;
  scenario.kind = kind;
  scenario.make = [name = scenario.name](measure::SubjectContext context) {
    if (context.case_name.empty()) context.case_name = name;
    return make_loader(context);
  };
  return scenario;
}

}  // namespace

Result<std::unique_ptr<measure::Subject>> make_loader(const measure::SubjectContext& context) {
  SLUICE_TRY(LoaderSpec spec, read_loader_spec(context));
  if (spec.input.empty())
    return Error{Errc::usage, "no data is loaded: `load` with `data_dir` comes first"};
  SLUICE_TRY(LoaderInput input, open_loader_input(spec));
  if (context.spec.is_null())  // a row of the tour, whatever data there is
    spec.batch_size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.batch_size, input.dataset->size()));
  if (spec.batch_size > input.dataset->size())
    return Error{Errc::usage,
                 fmt::format("batch size {} is larger than the {} samples of {}", spec.batch_size,
                             input.dataset->size(), printable(input.store->name()))};
  std::unique_ptr<DeviceEnd> device;
  std::optional<train::PixelType> upload;
  if (spec.lanes != loader::gpu::LanePolicy::cpu && spec.device == "cpu")
    return Error{Errc::usage, fmt::format("loader {}: needs a GPU; cpu is accepted without one",
                                          to_string(spec.lanes))};
  if (spec.device != "cpu") {
    SLUICE_TRY(const auto here, recipe_of(context.case_name, *input.dataset, spec));
    const loader::OutputSpec output = here->output();
    if (!loader::is_image_key(input.dataset->name(0)))
      return Error{Errc::unsupported,
                   fmt::format("{}: is no image; {} takes batches of images, cpu those of arrays",
                               printable(input.dataset->name(0)), spec.device)};
    SLUICE_TRY(device, DeviceEnd::open(spec.device, {spec.batch_size, output.channels,
                                                     output.height, output.width}));
    upload = spec.upload;
  }
  SLUICE_TRY(auto recipe, recipe_of(context.case_name, *input.dataset, spec, upload));
  return std::unique_ptr<measure::Subject>(std::make_unique<LoaderSubject>(
      std::move(spec), std::move(input), context.case_name, std::move(recipe), std::move(device)));
}

std::vector<Scenario> loader_rows() {
  return {loader_row("loader/rrc224-antialias",
                     "JPEG files to batches: RandomResizedCrop 224 with antialiasing, flip, "
                     "normalised f32 CHW.",
                     Kind::bench),
          loader_row("loader/rrc224", "The same, plain bilinear.", Kind::loader),
          loader_row("loader/three-augment",
                     "As the first, and one of grayscale, solarize and blur, and colour jitter.",
                     Kind::loader)};
}

}  // namespace sluice::scenario
