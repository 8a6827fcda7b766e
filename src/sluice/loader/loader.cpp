// sluice/loader/loader.cpp - options, threads, epochs: what holds ring and workers together.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/loader.h"

#include "sluice/core/text.h"
#include "sluice/loader/ring.h"
#include "sluice/loader/worker.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::loader {
namespace {

constexpr double kPatience_s = 0.08;           // of stop(), before it cancels reads
constexpr std::int64_t kLook_ns = 50'000'000;  // between two questions to a consumer that waits

Clock& real_clock() {
  static SystemClock clock;
  return clock;
}

template <class T>
Status check_range(const char* name, T value, T low, T high) {
  if (value >= low && value <= high) return ok;
  return Error{Errc::usage, fmt::format("{} is {}; accepted: {} to {}", name, value, low, high)};
}

Status check(const Dataset& dataset, const OutputSpec& output, const LoaderOptions& options) {
  SLUICE_CHECK(check_range("workers", options.workers, 0, Loader::kMaxWorkers));
  SLUICE_CHECK(check_range("prefetch", options.prefetch, 1, Loader::kMaxPrefetch));
  SLUICE_CHECK(check_range("batch size", options.batch_size, 1U, 1U << 20));
  SLUICE_CHECK(check_range("ranks", options.ranks, 1U, 1U << 20));
  SLUICE_CHECK(check_range("rank", options.rank, 0U, options.ranks - 1));
  SLUICE_CHECK(check_range("window", options.window, std::uint64_t{1}, ~std::uint64_t{0} >> 1));
  if (!(options.timeout_s > 0))
    return Error{Errc::usage, fmt::format("timeout of {} s; accepted: above 0", options.timeout_s)};
  if (output.bytes() == 0)
    return Error{Errc::usage, "the recipe makes samples of 0 bytes; accepted: at least 1"};
  if (dataset.size() == 0)
    return Error{Errc::invalid_input, "the dataset has no samples; at least 1 is needed"};
  const std::uint64_t all = std::uint64_t{options.batch_size} * options.ranks;
  if (options.drop_last && all > dataset.size())
    return Error{Errc::usage,
                 options.ranks == 1
                     ? fmt::format("a batch of {} is larger than the dataset of {} samples; "
                                   "accepted: 1 to {}, or keep the last short batch",
                                   options.batch_size, dataset.size(), dataset.size())
                     : fmt::format("{} ranks with a batch of {} need {} samples, the dataset has "
                                   "{}; accepted: fewer, or keep the last short batch",
                                   options.ranks, options.batch_size, all, dataset.size())};
  return ok;
}

std::string describe_pinning(const LoaderOptions& options) {
  if (!options.pin_memory) return "not pinned: not asked for";
  return options.pinned_allocator ? "pinned" : "not pinned: no CUDA";
}

}  // namespace

struct Loader::Impl {
  LoaderOptions options;
  WorkShop shop;
  std::vector<std::unique_ptr<LoaderWorker>> workers;
  std::mutex threads_mutex;  // of `threads`: stop() may come from anywhere
  std::vector<std::thread> threads;
  mutable std::mutex outside_mutex;
  StageTotals outside;

  void start_threads() {
    if (options.workers == 0) return;
    std::lock_guard lock(threads_mutex);
    if (!threads.empty() || shop.stop) return;
    shop.ring->add_threads(options.workers);
    threads.reserve(workers.size());
    for (auto& worker : workers)
      threads.emplace_back([this, made = worker.get()] {
        made->run();
        shop.ring->thread_ended();
      });
  }

  void join_threads() {
    std::lock_guard lock(threads_mutex);
    for (std::thread& thread : threads)
      thread.join();
    threads.clear();
  }

  /// Somebody has been in a read for as long as we care to wait.
  [[nodiscard]] bool reading() const {
    for (const auto& worker : workers)
      if (worker->counters().now_in() == static_cast<int>(Stage::read)) return true;
    return false;
  }

  /// "; worker at: read cats/7.jpg", of the first that is at anything.
  [[nodiscard]] std::string who_is_slow() const {
    for (const auto& worker : workers)
      if (const int stage = worker->counters().now_in(); stage >= 0)
        return fmt::format("; worker at: {} {}", to_string(static_cast<Stage>(stage)),
                           printable(shop.dataset->name(worker->counters().now_at())));
    return "";
  }

  /// The batch that is due, in the thread of next(), which counts as a worker meanwhile. False: the
  /// consumer gave it up, and the next call makes what is left of it.
  bool make_head_here(const KeepWaiting& keep_waiting) {
    shop.ring->add_threads(1);
    StageClock clock = workers[0]->clock();
    std::int64_t asked_ns = shop.clock->now_ns();
    bool wanted = true;
    while (const auto item = shop.ring->take()) {
      workers[0]->make(*item, clock);
      if (item->place + 1 == item->slot->range.count || shop.stop) break;
      if (!keep_waiting || shop.clock->now_ns() - asked_ns < kLook_ns) continue;
      asked_ns = shop.clock->now_ns();
      wanted = keep_waiting();
      if (!wanted) break;
    }
    shop.ring->thread_ended();
    return wanted;
  }
};

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Loader::~Loader() {
  stop();
}

Result<std::unique_ptr<Loader>> Loader::make(std::shared_ptr<const Dataset> dataset,
                                             std::shared_ptr<const Recipe> recipe,
                                             const LoaderOptions& options) {
  const OutputSpec output = recipe->output();
  SLUICE_CHECK(check(*dataset, output, options));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  WorkShop& shop = impl->shop;
  shop.clock = options.clock != nullptr ? options.clock : &real_clock();
  RingOptions ring;
  ring.output = output;
  ring.order = {options.shuffle, options.window, options.seed};
  ring.batches = {options.batch_size, options.rank, options.ranks, options.drop_last};
  ring.slots = options.prefetch;
  ring.ahead = options.next_epoch_ahead && options.persistent_workers && options.workers > 0;
  ring.timeout_s = options.timeout_s;
  ring.trace_spans = options.trace_spans;
  SLUICE_TRY(shop.ring, Ring::make(dataset, ring, *shop.clock,
                                   options.pin_memory ? options.pinned_allocator : nullptr));
  shop.dataset = std::move(dataset);
  shop.recipe = std::move(recipe);
  shop.seed = options.seed;
  shop.skip_corrupt = options.on_error == OnError::skip;
  for (int i = 0; i < std::max(options.workers, 1); ++i)
    impl->workers.push_back(std::make_unique<LoaderWorker>(shop, options.trace_spans));
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Status Loader::start_epoch(std::uint64_t epoch) {
  if (impl_->shop.ring->go_on_with(epoch)) return ok;
  SLUICE_CHECK(impl_->shop.ring->restart(epoch, 0));
  impl_->start_threads();
  return ok;
}

Status Loader::restore(const LoaderState& state) {
  const LoaderState own = this->state();
  const auto differs = [](const char* what, const auto& theirs, const auto& ours) {
    return Error{
        Errc::invalid_input,
        fmt::format("the state was saved with {} {}, this loader has {}", what, theirs, ours)};
  };
  if (state.seed != own.seed) return differs("seed", state.seed, own.seed);
  if (state.shuffle != own.shuffle)
    return differs("shuffle", to_string(state.shuffle), to_string(own.shuffle));
  if (state.window != own.window) return differs("window", state.window, own.window);
  if (state.dataset_size != own.dataset_size)
    return differs("a dataset of", state.dataset_size, own.dataset_size);
  SLUICE_CHECK(impl_->shop.ring->restart(state.epoch, state.consumed));
  impl_->start_threads();
  return ok;
}

Result<std::optional<Batch>> Loader::next(const KeepWaiting& keep_waiting) {
  Ring& ring = *impl_->shop.ring;
  if (!ring.started()) SLUICE_CHECK(start_epoch(0));
  SLUICE_TRY(const Ring::Head head, ring.head());
  if (head == Ring::Head::end) {
    if (!impl_->options.persistent_workers && impl_->options.workers > 0) {
      ring.end_threads(false);
      impl_->join_threads();
    }
    return std::optional<Batch>();
  }
  if (impl_->options.workers == 0 && head == Ring::Head::coming &&
      !impl_->make_head_here(keep_waiting))
    return given_up();
  auto slot = ring.next(keep_waiting);
  if (!slot && slot.error().code == Errc::timeout)
    return Error{Errc::timeout, slot.error().message + impl_->who_is_slow()};
  if (!slot) return std::move(slot).error();
  return std::optional<Batch>(Batch(impl_->shop.ring, **slot));
}

bool Loader::ready() {
  return impl_->options.workers > 0 && impl_->shop.ring->ready();
}

std::uint64_t Loader::steps() const {
  return impl_->shop.ring->position().steps;
}

LoaderState Loader::state() const {
  const Ring::Position position = impl_->shop.ring->position();
  const LoaderOptions& options = impl_->options;
  LoaderState state;
  state.epoch = position.epoch;
  state.consumed = position.consumed;
  state.seed = options.seed;
  state.shuffle = options.shuffle;
  const bool windows = options.shuffle == Shuffle::windowed || options.shuffle == Shuffle::shards;
  state.window = windows ? options.window : 0;
  state.dataset_size = impl_->shop.dataset->size();
  return state;
}

LoaderStats Loader::stats() const {
  LoaderStats stats;
  impl_->shop.ring->add_stats(stats);
  impl_->shop.skipped.add_to(stats);
  for (const auto& worker : impl_->workers)
    stats.workers.push_back(worker->counters().totals());
  stats.pinning = describe_pinning(impl_->options);
  std::lock_guard lock(impl_->outside_mutex);
  stats.outside = impl_->outside;
  return stats;
}

void Loader::account(Stage stage, std::int64_t ns, std::uint64_t bytes) {
  std::lock_guard lock(impl_->outside_mutex);
  impl_->outside.busy_ns[static_cast<std::size_t>(stage)] += ns;
  impl_->outside.bytes[static_cast<std::size_t>(stage)] += bytes;
}

Status Loader::write_trace(const std::filesystem::path& path) const {
  if (impl_->options.trace_spans == 0)
    return Error{Errc::usage, "the loader was made without a trace: trace_spans is 0"};
  if (!impl_->shop.stop)
    return Error{Errc::usage, "a trace is written after stop(); the loader is still running"};
  std::vector<TraceThread> threads{impl_->shop.ring->consumer_trace()};
  for (std::size_t i = 0; i < impl_->workers.size(); ++i) {
    const SpanRing& spans = *impl_->workers[i]->spans();
    TraceThread thread;
    thread.name = fmt::format("worker {}", i);
    thread.spans = spans.in_order();
    thread.dropped = spans.added() - thread.spans.size();
    threads.push_back(std::move(thread));
  }
  return loader::write_trace(path, threads, impl_->shop.ring->ready_over_time());
}

void Loader::stop() {
  Ring& ring = *impl_->shop.ring;
  impl_->shop.stop = true;
  ring.end_threads(true);
  while (!ring.wait_until_ended(kPatience_s))
    if (impl_->reading()) impl_->shop.dataset->cancel();
  impl_->join_threads();
}

const LoaderOptions& Loader::options() const {
  return impl_->options;
}

const OutputSpec& Loader::output() const {
  return impl_->shop.ring->output();
}

}  // namespace sluice::loader
