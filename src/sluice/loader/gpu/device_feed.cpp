// sluice/loader/gpu/device_feed.cpp - the thread between loader and device, and who waits for whom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/device_feed.h"

#include "sluice/core/clock.h"
#include "sluice/core/text.h"
#include "sluice/loader/gpu/recipe_records.h"
#include "sluice/loader/worker.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice::loader::gpu {
namespace {

using FeedClock = std::chrono::steady_clock;

std::int64_t elapsed_ns(FeedClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(FeedClock::now() - begin).count();
}

Result<Output> output_of(const ThreeAugmentOptions& recipe) {
  if (recipe.type == BatchType::f32 && recipe.layout == Layout::chw) return Output::f32_chw;
  if (recipe.type == BatchType::u8 && recipe.layout == Layout::hwc) return Output::u8_hwc;
  return Error{Errc::usage, fmt::format("batches on a GPU as {} {}; accepted: f32 chw, u8 hwc",
                                        to_string(recipe.type), to_string(recipe.layout))};
}

}  // namespace

struct DeviceFeed::Impl {
  Impl(std::shared_ptr<const Dataset> data, const DeviceFeedOptions& feed_options, ImageLine opened,
       Output kind)
      : dataset(std::move(data)), options(feed_options), line(std::move(opened)), output(kind) {}

  // What the thread alone uses.
  std::shared_ptr<const Dataset> dataset;
  DeviceFeedOptions options;
  ImageLine line;
  Output output;
  std::shared_ptr<LaneRouter> router;
  std::unique_ptr<Loader> loader;
  std::vector<Sample> samples;
  PhotoScratch scratch;
  SystemClock system;
  WorkerCounters counters;
  std::vector<std::vector<std::byte>> stand_ins;  // places of samples that came to the CPU late
  struct Busy {                                   // a slot that the device may still read
    Batch batch;
    int buffer = 0;
    std::vector<std::vector<std::byte>> stand_ins;
  };
  std::optional<Busy> busy;

  // Shared, under the lock.
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<DeviceBatch> made;
  std::vector<int> free;
  std::vector<void*> readers;  // of the buffers: whoever read them last
  int held = 0;                // by the consumer
  bool pause = true, paused = true, ended = false, stopping = false;
  std::optional<Error> error;
  LoaderState given;  // after the last batch of next()
  std::uint64_t steps = 0;
  DeviceFeedStats totals;
  std::atomic<bool> stop_flag{false};
  std::thread thread;

  void run(DeviceFeed& feed);
  Result<bool> make_one(DeviceFeed& feed);
  Status settle();
  Status stand_in(std::size_t i, const Batch& batch, DeviceBatch& to);
  std::optional<int> take_buffer(void*& reader);
  Status fill(int buffer, void* reader, Batch batch, std::int64_t waited, DeviceFeed& feed);
  Status hold();
  void go_on();
};

/// The device has read the slot of the batch before this one: it goes back.
Status DeviceFeed::Impl::settle() {
  if (!busy) return ok;
  const Status waited = line.wait(busy->buffer);
  busy.reset();
  return waited;
}

/// Sample i, which the decoder refused: by the CPU, or another in its place.
Status DeviceFeed::Impl::stand_in(std::size_t i, const Batch& batch, DeviceBatch& to) {
  const int side = options.recipe.side;
  std::vector<std::byte>& place = stand_ins.emplace_back(record_output(side).bytes());
  StageClock clock(system, counters);
  storage::ReadBuffer buffer;
  const std::uint64_t first = batch.indices()[i];
  const std::uint64_t most = std::min(dataset->size(), LoaderWorker::kMostInARow);
  for (std::uint64_t tries = 0;; ++tries) {
    const std::uint64_t index = (first + tries) % dataset->size();
    SLUICE_TRY(const auto encoded, dataset->read(index, buffer));
    const SampleKey key{options.loader.seed, batch.epoch(), index};
    const Status status =
        make_pixels(place, encoded, options.recipe, key, scratch, clock, &stop_flag);
    if (status) {
      samples[i] = {};
      samples[i].data = reinterpret_cast<const std::uint8_t*>(place.data());
      samples[i].draw = read_record(place, side).draw;
      to.indices_[i] = index;
      to.labels_[i] = dataset->label(index);
      return ok;
    }
    const std::string name = dataset->name(index);
    if (options.loader.on_error != OnError::skip || tries + 1 == most)
      return Error{status.error().code,
                   fmt::format("{}: {}", printable(name), status.error().message)};
    std::lock_guard lock(mutex);
    ++totals.replaced;
    if (totals.replaced_samples.size() < LoaderStats::kNamedSkips)
      totals.replaced_samples.push_back({index, name, status.error().message});
  }
}

/// A buffer, once there is one; nothing: the thread shall do something else.
std::optional<int> DeviceFeed::Impl::take_buffer(void*& reader) {
  const auto begin = FeedClock::now();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !free.empty() || stopping || pause; });
  totals.buffer_wait_ns += elapsed_ns(begin);
  if (stopping || pause) return std::nullopt;
  const int buffer = free.back();
  free.pop_back();
  reader = std::exchange(readers[static_cast<std::size_t>(buffer)], nullptr);
  return buffer;
}

/// False: there is nothing to make now.
Result<bool> DeviceFeed::Impl::make_one(DeviceFeed& feed) {
  void* reader = nullptr;
  const std::optional<int> buffer = take_buffer(reader);
  if (!buffer) return false;
  const auto begin = FeedClock::now();
  auto taken = loader->next();
  const std::int64_t waited = elapsed_ns(begin);
  const bool end = taken && !*taken;
  Status filled = ok;
  if (!taken)
    filled = taken.error();
  else if (end)
    filled = settle();
  else
    filled = fill(*buffer, reader, std::move(**taken), waited, feed);
  if (filled && !end) return true;
  std::lock_guard lock(mutex);
  free.push_back(*buffer);
  readers[static_cast<std::size_t>(*buffer)] = reader;
  if (!filled) return filled.error();
  ended = true;
  return false;
}

Status DeviceFeed::Impl::fill(int buffer, void* reader, Batch batch, std::int64_t waited,
                              DeviceFeed& feed) {
  const int side = options.recipe.side;
  std::uint64_t encoded = 0;
  samples.assign(batch.size(), {});
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    const SampleRecord record = read_record(batch.sample(i), side);
    Sample& sample = samples[i];
    sample.data = reinterpret_cast<const std::uint8_t*>(batch.sample(i).data());
    sample.bytes = record.bytes;
    sample.lane = record.lane;
    sample.width = record.width;
    sample.height = record.height;
    sample.draw = record.draw;
    encoded += record.lane == Lane::encoded ? 1 : 0;
  }
  DeviceBatch to;
  to.buffer_ = buffer;
  to.labels_.assign(batch.labels().begin(), batch.labels().end());
  to.indices_.assign(batch.indices().begin(), batch.indices().end());
  to.step_ = batch.step();
  to.state_ = loader->state();
  const auto begin = FeedClock::now();
  SLUICE_TRY(const std::vector<std::size_t> refused, line.decode(buffer, samples));
  const std::int64_t decoding = elapsed_ns(begin);
  if (encoded > 0) router->decoded(encoded, decoding);
  SLUICE_CHECK(settle());
  stand_ins.clear();
  stand_ins.reserve(refused.size());
  for (const std::size_t i : refused)
    SLUICE_CHECK(stand_in(i, batch, to));
  router->refused_late(refused.size());
  const Resample resample =
      options.recipe.filter == Filter::bicubic ? Resample::bicubic : Resample::bilinear;
  SLUICE_CHECK(line.process(buffer, samples, resample, options.augment, output, reader));
  to.data_ = line.output(buffer);
  to.ready_ = line.ready(buffer);
  busy = Busy{std::move(batch), buffer, std::move(stand_ins)};
  stand_ins = {};
  std::lock_guard lock(mutex);
  to.feed_ = &feed;  // from here on it knows where its buffer belongs
  made.push_back(std::move(to));
  ++totals.batches;
  totals.decode_ns += decoding;
  totals.loader_wait_ns += waited;
  totals.device_bytes = line.own_bytes();
  changed.notify_all();
  return ok;
}

void DeviceFeed::Impl::run(DeviceFeed& feed) {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      if (pause || ended || error) {
        paused = true;
        changed.notify_all();
        changed.wait(lock, [&] { return stopping || (!pause && !ended && !error); });
      }
      if (stopping) break;
      paused = false;
    }
    Result<bool> more = false;
    try {
      more = make_one(feed);
    } catch (const std::exception& e) {
      more = Error{Errc::internal, fmt::format("the thread that feeds a GPU: {}", e.what())};
    }
    if (!more) {
      std::lock_guard lock(mutex);
      if (!stopping) error = more.error();
    }
    changed.notify_all();
  }
  static_cast<void>(settle());
}

/// The thread rests, and nothing is made ahead.
Status DeviceFeed::Impl::hold() {
  std::unique_lock lock(mutex);
  if (stopping) return Error{Errc::interrupted, "the loader was stopped"};
  pause = true;
  changed.notify_all();
  changed.wait(lock, [&] { return paused; });
  std::deque<DeviceBatch> dropped;
  std::swap(dropped, made);
  for (DeviceBatch& batch : dropped) {
    batch.feed_ = nullptr;
    free.push_back(batch.buffer_);
  }
  error.reset();
  ended = false;
  lock.unlock();
  return settle();
}

/// From where the loader is.
void DeviceFeed::Impl::go_on() {
  std::lock_guard lock(mutex);
  given = loader->state();
  steps = loader->steps();
  pause = false;
  changed.notify_all();
}

DeviceBatch& DeviceBatch::operator=(DeviceBatch&& other) noexcept {
  if (this == &other) return *this;
  release();
  feed_ = std::exchange(other.feed_, nullptr);
  buffer_ = other.buffer_;
  data_ = other.data_;
  ready_ = other.ready_;
  labels_ = std::move(other.labels_);
  indices_ = std::move(other.indices_);
  step_ = other.step_;
  state_ = other.state_;
  return *this;
}

void DeviceBatch::release(void* read) {
  if (feed_ != nullptr) std::exchange(feed_, nullptr)->give_back(buffer_, read);
}

DeviceFeed::DeviceFeed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceFeed::~DeviceFeed() {
  stop();
}

Result<std::unique_ptr<DeviceFeed>> DeviceFeed::make(std::shared_ptr<const Dataset> dataset,
                                                     const DeviceFeedOptions& options,
                                                     const Table* table) {
  SLUICE_CHECK(check(options.recipe));
  SLUICE_TRY(const Output output, output_of(options.recipe));
  if (options.buffers < 2 || options.buffers > 64)
    return Error{Errc::usage,
                 fmt::format("{} batches on the device; accepted: 2 to 64", options.buffers)};
  if (options.loader.batch_size < 1 || options.loader.batch_size > 65535)
    return Error{Errc::usage, fmt::format("batch size {} on a GPU; accepted: 1 to 65535",
                                          options.loader.batch_size)};
  LineOptions line_options;
  line_options.device = options.device;
  line_options.shared = options.shared;
  line_options.side = options.recipe.side;
  line_options.most_samples = static_cast<int>(options.loader.batch_size);
  line_options.buffers = options.buffers;
  SLUICE_TRY(ImageLine line, table != nullptr ? ImageLine::open_with(*table, line_options)
                                              : ImageLine::open(line_options));
  if (output == Output::f32_chw) SLUICE_CHECK(line.set_levels(options.recipe.normalization));
  auto impl = std::make_unique<Impl>(dataset, options, std::move(line), output);
  impl->router = std::make_shared<LaneRouter>(options.policy, options.loader.workers);
  SLUICE_TRY(const auto recipe, make_records(options.recipe, impl->router));
  LoaderOptions loader_options = options.loader;
  loader_options.prefetch += 1;  // one slot is still read by the device
  if (loader_options.pinned_allocator == nullptr)
    loader_options.pinned_allocator = impl->line.pinned_allocator();
  SLUICE_TRY(impl->loader, Loader::make(std::move(dataset), recipe, loader_options));
  impl->given = impl->loader->state();
  impl->readers.resize(static_cast<std::size_t>(options.buffers));
  for (int buffer = options.buffers; buffer > 0; --buffer)
    impl->free.push_back(buffer - 1);
  std::unique_ptr<DeviceFeed> feed(new DeviceFeed(std::move(impl)));
  Impl& inside = *feed->impl_;
  inside.thread = std::thread([&inside, made = feed.get()] { inside.run(*made); });
  return feed;
}

Status DeviceFeed::start_epoch(std::uint64_t epoch) {
  SLUICE_CHECK(impl_->hold());
  SLUICE_CHECK(impl_->loader->start_epoch(epoch));
  impl_->go_on();
  return ok;
}

Status DeviceFeed::restore(const LoaderState& state) {
  SLUICE_CHECK(impl_->hold());
  SLUICE_CHECK(impl_->loader->restore(state));
  impl_->go_on();
  return ok;
}

Result<std::optional<DeviceBatch>> DeviceFeed::next() {
  bool fresh = false;
  {
    std::lock_guard lock(impl_->mutex);
    fresh = impl_->pause && !impl_->stopping;
  }
  if (fresh) SLUICE_CHECK(start_epoch(0));
  std::unique_lock lock(impl_->mutex);
  if (impl_->held == impl_->options.buffers)
    return Error{Errc::usage, fmt::format("all {} batches of the device are held; release one",
                                          impl_->options.buffers)};
  impl_->changed.wait(lock, [&] {
    return !impl_->made.empty() || impl_->ended || impl_->error || impl_->stopping;
  });
  if (impl_->stopping) return Error{Errc::interrupted, "the loader was stopped"};
  if (!impl_->made.empty()) {
    DeviceBatch batch = std::move(impl_->made.front());
    impl_->made.pop_front();
    impl_->given = batch.state_;
    ++impl_->held;
    return std::optional<DeviceBatch>(std::move(batch));
  }
  if (impl_->error) return *impl_->error;
  return std::optional<DeviceBatch>();
}

std::uint64_t DeviceFeed::steps() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->steps;
}

LoaderState DeviceFeed::state() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->given;
}

DeviceFeedStats DeviceFeed::stats() const {
  LoaderStats loader = impl_->loader->stats();
  std::lock_guard lock(impl_->mutex);
  DeviceFeedStats stats = impl_->totals;
  stats.loader = std::move(loader);
  stats.lanes = impl_->router->counts();
  stats.gpu_share = impl_->router->share();
  return stats;
}

const LineFacts& DeviceFeed::facts() const {
  return impl_->line.facts();
}

Status DeviceFeed::download(const DeviceBatch& batch, std::span<std::byte> to) {
  {
    std::unique_lock lock(impl_->mutex);  // the line is for one thread at a time
    impl_->pause = true;
    impl_->changed.notify_all();
    impl_->changed.wait(lock, [&] { return impl_->paused; });
  }
  const Status done = impl_->line.download_output(batch.buffer_, to);
  std::lock_guard lock(impl_->mutex);
  impl_->pause = false;
  impl_->changed.notify_all();
  return done;
}

void DeviceFeed::give_back(int buffer, void* read) {
  std::lock_guard lock(impl_->mutex);
  --impl_->held;
  impl_->free.push_back(buffer);
  impl_->readers[static_cast<std::size_t>(buffer)] = read;
  impl_->changed.notify_all();
}

void DeviceFeed::stop() {
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->stopping && !impl_->thread.joinable()) return;
    impl_->stopping = true;
    impl_->stop_flag = true;
  }
  impl_->changed.notify_all();
  impl_->loader->stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  std::lock_guard lock(impl_->mutex);
  for (DeviceBatch& batch : impl_->made)
    batch.feed_ = nullptr;
  impl_->made.clear();
}

}  // namespace sluice::loader::gpu
