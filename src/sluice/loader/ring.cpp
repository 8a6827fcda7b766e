// sluice/loader/ring.cpp - handing out samples, waiting, leasing and taking back slots.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>

namespace sluice::loader {
namespace {

constexpr std::size_t kSlotAlignment = 4096;
constexpr double kLook_s = 0.05;  // between two questions to a consumer that waits

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

std::chrono::duration<double> seconds(double s) {
  return std::chrono::duration<double>(s);
}

Error stopped() {
  return {Errc::interrupted, "the loader was stopped"};
}

}  // namespace

Error given_up() {
  return {Errc::interrupted, "the wait for a batch was given up"};
}

Ring::Ring(std::shared_ptr<const Dataset> dataset, const RingOptions& options, Clock& clock)
    : dataset_(std::move(dataset)),
      options_(options),
      clock_(clock),
      sample_bytes_(options.output.bytes()),
      slots_(static_cast<std::size_t>(options.slots)),
      schedule_(slots_.size()),
      sizes_(slots_.size()) {
  free_.reserve(slots_.size());
  deferred_.reserve(slots_.size());
  if (options.trace_spans > 0) {
    counter_.resize(options.trace_spans);
    consumer_spans_.emplace(options.trace_spans);
  }
}

Result<std::shared_ptr<Ring>> Ring::make(std::shared_ptr<const Dataset> dataset,
                                         const RingOptions& options, Clock& clock,
                                         std::shared_ptr<PinnedAllocator> pinned) {
  std::shared_ptr<Ring> ring(new Ring(std::move(dataset), options, clock));
  const std::size_t batch = options.batches.batch_size;
  const std::size_t used = ring->sample_bytes_ * batch;
  const std::size_t slot_bytes = round_up(used, kSlotAlignment);
  SLUICE_TRY(ring->memory_, SlotMemory::make(slot_bytes * ring->slots_.size(), std::move(pinned)));
  for (std::size_t i = 0; i < ring->slots_.size(); ++i) {
    Slot& slot = ring->slots_[i];
    slot.data = ring->memory_.bytes().subspan(i * slot_bytes, used);
    slot.labels.resize(batch);
    slot.indices.resize(batch);
    ring->free_.push_back(&slot);
  }
  return ring;
}

std::shared_ptr<const EpochPlan> Ring::plan_for(std::uint64_t epoch, std::uint64_t consumed) const {
  return std::make_shared<const EpochPlan>(EpochPlan{
      epoch, EpochOrder(dataset_->size(), dataset_->shard_starts(), options_.order, epoch),
      BatchPlan(dataset_->size(), options_.batches, consumed)});
}

std::optional<Ring::Item> Ring::take() {
  std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  const std::uint64_t batch_size = options_.batches.batch_size;
  for (;;) {
    if (ticket >= limit_.load(std::memory_order_acquire)) return std::nullopt;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) continue;
    // A shorter batch has tickets without a sample. They do not hold its slot, which may have been
    // given another batch by now: the size says whose it is.
    const std::uint64_t batch = ticket / batch_size;
    const auto at = static_cast<std::size_t>(batch % schedule_.size());
    const auto place = static_cast<std::uint32_t>(ticket % batch_size);
    const std::uint64_t size = sizes_[at].load(std::memory_order_acquire);
    if (size >> 32 == (batch & 0xFFFF'FFFFU) && place < (size & 0xFFFF'FFFFU))
      return Item{schedule_[at], place};
    ++ticket;
  }
}

std::optional<Ring::Item> Ring::wait_for_item(StageClock& clock) {
  if (auto item = take()) return item;
  clock.wait_begins();
  std::optional<Item> item;
  {
    std::unique_lock lock(mutex_);
    ++parked_;
    if (parked_ == threads_) idle_.notify_all();
    work_.wait(lock, [&] { return ending_ || (item = take()).has_value(); });
    --parked_;
    if (ending_) item.reset();
  }
  clock.wait_ends();
  return item;
}

void Ring::done(const Item& item) {
  Slot& slot = *item.slot;
  if (slot.remaining.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::lock_guard lock(mutex_);
  slot.ready = true;
  ++ready_batches_;
  note_head();
  if (&slot == head_slot()) ready_.notify_all();
}

void Ring::failed(const Item& item, Error error) {
  {
    std::lock_guard lock(mutex_);
    Slot& slot = *item.slot;
    if (!slot.error || item.place < slot.error_item) {
      slot.error = std::move(error);
      slot.error_item = item.place;
    }
  }
  done(item);
}

Slot* Ring::head_slot() const {
  return taken_ < assigned_ ? schedule_[static_cast<std::size_t>(taken_ % schedule_.size())]
                            : nullptr;
}

bool Ring::at_end() const {
  return !plans_.empty() && consumed_step_ >= plans_.front()->batches.steps();
}

void Ring::note_head() {
  const Slot* head = head_slot();
  const bool ready = head != nullptr && head->ready;
  const std::int64_t now = clock_.now_ns();
  if (!head_ready_) empty_ns_ += now - head_since_ns_;
  head_since_ns_ = now;
  head_ready_ = ready;
  if (counter_.empty()) return;
  counter_[static_cast<std::size_t>(counted_ % counter_.size())] = {now, ready_batches_};
  ++counted_;
}

void Ring::assign_free_slots() {
  bool assigned = false;
  while (!free_.empty() && !plans_.empty()) {
    if (produced_step_ >= plans_.back()->batches.steps()) {
      if (!options_.ahead) break;
      auto next = plan_for(plans_.back()->epoch + 1, 0);
      if (next->batches.steps() == 0) break;
      plans_.push_back(std::move(next));
      produced_step_ = 0;
    }
    Slot& slot = *free_.back();
    free_.pop_back();
    slot.plan = plans_.back();
    slot.step = produced_step_++;
    slot.range = slot.plan->batches.step(slot.step);
    slot.ready = false;
    slot.error.reset();
    slot.remaining.store(slot.range.count, std::memory_order_relaxed);
    const auto at = static_cast<std::size_t>(assigned_ % schedule_.size());
    schedule_[at] = &slot;
    sizes_[at].store(assigned_ << 32 | slot.range.count, std::memory_order_release);
    ++assigned_;
    assigned = true;
  }
  if (!assigned) return;
  limit_.store(assigned_ * options_.batches.batch_size, std::memory_order_release);
  if (parked_ > 0) work_.notify_all();
}

Status Ring::restart(std::uint64_t epoch, std::uint64_t consumed) {
  auto plan = plan_for(epoch, consumed);
  std::unique_lock lock(mutex_);
  if (stopped_) return stopped();
  limit_.store(0, std::memory_order_release);
  if (!idle_.wait_for(lock, seconds(options_.timeout_s),
                      [&] { return stopped_ || parked_ == threads_; }))
    return Error{Errc::timeout,
                 fmt::format("workers did not finish their samples in {} s", options_.timeout_s)};
  if (stopped_) return stopped();
  for (; taken_ < assigned_; ++taken_) {
    Slot* dropped = head_slot();
    ready_batches_ -= dropped->ready ? 1 : 0;
    free_.push_back(dropped);
  }
  plans_.clear();
  plans_.push_back(std::move(plan));
  produced_step_ = consumed_step_ = assigned_ = taken_ = 0;
  consumed_ = consumed;
  ticket_.store(0, std::memory_order_relaxed);
  fatal_.reset();
  if (started_ns_ < 0) started_ns_ = head_since_ns_ = clock_.now_ns();
  note_head();
  assign_free_slots();
  return ok;
}

bool Ring::go_on_with(std::uint64_t epoch) {
  std::lock_guard lock(mutex_);
  if (stopped_ || fatal_ || !at_end() || plans_.size() < 2 || plans_[1]->epoch != epoch)
    return false;
  plans_.pop_front();
  consumed_step_ = consumed_ = 0;
  return true;
}

void Ring::reclaim_events() {
  const auto done = std::partition(deferred_.begin(), deferred_.end(),
                                   [](Slot* slot) { return !slot->event->ready(); });
  for (auto i = done; i != deferred_.end(); ++i) {
    (*i)->event.reset();
    free_.push_back(*i);
  }
  deferred_.erase(done, deferred_.end());
  assign_free_slots();
}

/// All slots are in the consumer's hands: one that it has given back becomes free when its event
/// is.
Status Ring::wait_for_event(std::unique_lock<std::mutex>& lock) {
  while (head_slot() == nullptr) {
    if (deferred_.empty())
      return Error{Errc::usage,
                   fmt::format("all {} batches of the ring are held; release one before the next "
                               "(or a larger prefetch)",
                               slots_.size())};
    const std::shared_ptr<SlotEvent> event = deferred_.front()->event;
    lock.unlock();
    event->wait();
    lock.lock();
    reclaim_events();
  }
  return ok;
}

Result<Ring::Head> Ring::head() {
  std::unique_lock lock(mutex_);
  if (stopped_) return stopped();
  if (fatal_) return *fatal_;
  if (at_end()) {
    consumed_ = dataset_->size();
    return Head::end;
  }
  reclaim_events();
  SLUICE_CHECK(wait_for_event(lock));
  return head_slot()->ready ? Head::ready : Head::coming;
}

bool Ring::ready() {
  std::lock_guard lock(mutex_);
  if (stopped_ || fatal_ || at_end()) return true;
  if (plans_.empty()) return false;
  reclaim_events();
  const Slot* head = head_slot();
  return head != nullptr && head->ready;
}

Result<bool> Ring::wait_for(std::unique_lock<std::mutex>& lock, const Slot& slot,
                            const std::function<bool()>& keep_waiting) {
  const auto answered = [&] { return slot.ready || stopped_; };
  if (!keep_waiting) return ready_.wait_for(lock, seconds(options_.timeout_s), answered);
  for (double left_s = options_.timeout_s; left_s > 0; left_s -= kLook_s) {
    if (ready_.wait_for(lock, seconds(std::min(kLook_s, left_s)), answered)) return true;
    lock.unlock();
    const bool wanted = keep_waiting();
    lock.lock();
    if (!wanted) return given_up();
  }
  return false;
}

Result<Slot*> Ring::next(const std::function<bool()>& keep_waiting) {
  std::unique_lock lock(mutex_);
  Slot* slot = head_slot();
  assert(slot != nullptr);
  if (!slot->ready && !stopped_) {
    ++waited_;
    const std::int64_t begin = clock_.now_ns();
    const auto came = wait_for(lock, *slot, keep_waiting);
    const std::int64_t end = clock_.now_ns();
    consumer_wait_ns_ += end - begin;
    if (consumer_spans_) consumer_spans_->add({begin, end, slot->step, StageClock::kWaiting});
    if (!came) return came.error();
    if (!*came) return Error{Errc::timeout, fmt::format("no batch in {} s", options_.timeout_s)};
  }
  if (stopped_) return stopped();
  return lease(*slot);
}

Result<Slot*> Ring::lease(Slot& slot) {
  if (slot.error) {
    fatal_ = *slot.error;
    return *fatal_;
  }
  ++taken_;
  --ready_batches_;
  ++batches_;
  samples_ += slot.range.count;
  consumed_ = slot.plan->batches.consumed_after(slot.step);
  ++consumed_step_;
  note_head();
  return &slot;
}

void Ring::release(Slot& slot) {
  std::lock_guard lock(mutex_);
  slot.plan.reset();
  if (slot.event && !slot.event->ready()) {
    deferred_.push_back(&slot);
    return;
  }
  slot.event.reset();
  free_.push_back(&slot);
  if (!stopped_) assign_free_slots();
}

void Ring::add_threads(int count) {
  std::lock_guard lock(mutex_);
  threads_ += count;
  ending_ = stopped_;
}

void Ring::end_threads(bool forever) {
  std::lock_guard lock(mutex_);
  ending_ = true;
  if (forever && !stopped_) {
    stopped_ = true;
    stopped_ns_ = clock_.now_ns();
    limit_.store(0, std::memory_order_release);
  }
  work_.notify_all();
  ready_.notify_all();
  idle_.notify_all();
}

void Ring::thread_ended() {
  std::lock_guard lock(mutex_);
  --threads_;
  idle_.notify_all();
}

bool Ring::wait_until_ended(double limit_s) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, seconds(limit_s), [&] { return threads_ == 0; });
}

Ring::Position Ring::position() const {
  std::lock_guard lock(mutex_);
  if (plans_.empty()) return {};
  return {plans_.front()->epoch, consumed_, plans_.front()->batches.steps()};
}

bool Ring::started() const {
  std::lock_guard lock(mutex_);
  return !plans_.empty();
}

void Ring::add_stats(LoaderStats& stats) const {
  std::lock_guard lock(mutex_);
  const std::int64_t now = stopped_ ? stopped_ns_ : clock_.now_ns();
  stats.running_ns = started_ns_ < 0 ? 0 : now - started_ns_;
  stats.empty_ns = started_ns_ < 0 ? 0 : empty_ns_ + (head_ready_ ? 0 : now - head_since_ns_);
  stats.consumer_wait_ns = consumer_wait_ns_;
  stats.batches = batches_;
  stats.samples = samples_;
  stats.waited_batches = waited_;
  stats.ring_bytes = memory_.bytes().size();
  stats.ring_slots = static_cast<int>(slots_.size());
}

std::vector<TraceCounter> Ring::ready_over_time() const {
  std::lock_guard lock(mutex_);
  std::vector<TraceCounter> result;
  const std::uint64_t kept = std::min<std::uint64_t>(counted_, counter_.size());
  for (std::uint64_t i = counted_ - kept; i < counted_; ++i)
    result.push_back(counter_[static_cast<std::size_t>(i % counter_.size())]);
  return result;
}

TraceThread Ring::consumer_trace() const {
  std::lock_guard lock(mutex_);
  TraceThread thread;
  thread.name = "consumer";
  if (!consumer_spans_) return thread;
  thread.spans = consumer_spans_->in_order();
  thread.dropped = consumer_spans_->added() - thread.spans.size();
  return thread;
}

}  // namespace sluice::loader
