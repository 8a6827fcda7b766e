// sluice/loader/mixture/pipeline.cpp - readers, mixer and decoders.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/pipeline.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader::mixture {
namespace {

constexpr std::chrono::duration<double> kLook(0.05);  // between two questions to who waits
constexpr std::chrono::milliseconds kPatience(80);    // with a read, before it is cancelled

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Pipeline::~Pipeline() {
  end();
  join();
}

void Pipeline::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  read_wanted_.notify_all();
  block_ready_.notify_all();
  decode_wanted_.notify_all();
  batch_ready_.notify_all();
}

void Pipeline::join() {
  const std::lock_guard lock(threads_mutex_);
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void Pipeline::close() {
  end();
  const auto no_reader = [this] {
    return std::none_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.busy; });
  };
  std::unique_lock lock(mutex_);
  while (!batch_ready_.wait_for(lock, kPatience, no_reader)) {
    lock.unlock();
    for (const SourceSpec& spec : specs_)
      spec.dataset->store->cancel();
    lock.lock();
  }
  lock.unlock();
  join();
}

void Pipeline::run() {
  for (int i = 0; i < options_.read_threads; ++i)
    threads_.emplace_back([this] { read(); });
  threads_.emplace_back([this] { mix(); });
  for (int i = 0; i < options_.decode_threads; ++i)
    threads_.emplace_back([this] { decode(); });
}

void Pipeline::fail(const Error& error) {
  if (!error_) error_ = error;
  batch_ready_.notify_all();
  block_ready_.notify_all();
  read_wanted_.notify_all();
}

std::size_t Pipeline::primed_blocks() const {
  const auto block = static_cast<std::size_t>(options_.mix_block);
  return (static_cast<std::size_t>(options_.prime) + block - 1) / block;
}

std::size_t Pipeline::room() const {
  const auto queue = static_cast<std::size_t>(options_.queue);
  return started_ ? queue : std::max(queue, primed_blocks());
}

/// The shortest queue; of equal ones the next in turn, so that none is looked at last for ever.
Pipeline::Lane* Pipeline::wanted() {
  Lane* best = nullptr;
  const std::size_t start = turn_;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::size_t at = (start + i) % lanes_.size();
    Lane& lane = lanes_[at];
    if (lane.busy || lane.ended || lane.ready.size() >= room()) continue;
    if (best != nullptr && lane.ready.size() >= best->ready.size()) continue;
    best = &lane;
    turn_ = at + 1;
  }
  return best;
}

void Pipeline::read() {
  std::unique_lock lock(mutex_);
  while (!over_ && !error_) {
    Lane* const lane = wanted();
    if (lane == nullptr) {
      read_wanted_.wait(lock);
      continue;
    }
    lane->busy = true;
    lane->since = SteadyClock::now();
    lock.unlock();
    Block block(static_cast<std::size_t>(options_.mix_block));
    FillReport report;
    const auto filled = lane->source->fill(block, report);
    const double took_s = seconds(SteadyClock::now() - lane->since);
    account(MixtureStage::read, report.read_ns);
    account(MixtureStage::parse, report.parse_ns);
    lock.lock();
    lane->busy = false;
    if (over_) batch_ready_.notify_all();  // close() waits for readers
    lane->stats.read_s += took_s;
    if (filled) lane->stats.samples_read += *filled;
    lane->stats.too_short += report.too_short;
    lane->stats.bad_records += report.bad_records;
    if (lane->stats.first_error.empty()) lane->stats.first_error = report.first_error;
    if (!filled) {
      fail(filled.error());
      return;
    }
    block.resize(*filled);
    if (!block.empty()) lane->ready.push_back(std::move(block));
    lane->ended = report.ended;
    lane->stats.dropped = report.dropped;
    if (report.dropped && options_.on_error == OnBadData::stop) {
      fail({Errc::invalid_input,
            fmt::format("data set {}: no episode with a pair of frames {} steps apart{}",
                        printable(lane->stats.name),
                        specs_[static_cast<std::size_t>(lane - lanes_.data())].offset,
                        report.first_error.empty() ? "" : "; " + report.first_error)});
      return;
    }
    block_ready_.notify_one();
    read_wanted_.notify_one();  // there may be room for another reader
  }
}

/// A source that has ended leaves the mix: at once or, so that nothing depends on time, when it
/// would be due.
std::optional<std::size_t> Pipeline::choose(std::unique_lock<std::mutex>& lock) {
  std::vector<char> ready(lanes_.size());
  while (!over_ && !error_) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      ready[i] = lane.ready.empty() ? 0 : 1;
      const bool gone = lane.ended && lane.ready.empty() && !lane.out;
      if (gone && (!options_.deterministic || schedule_.due() == i)) {
        lane.out = true;
        schedule_.leave_out(i);
      }
      left += lane.out ? 0 : 1;
    }
    if (left == 0) return std::nullopt;
    const std::size_t due = schedule_.due();
    Lane& turn = lanes_[due];
    if (options_.deterministic) {
      if (ready[due] != 0) return due;
      if (turn.ended) continue;  // who ended before it in this round made it due
    } else if (const auto chosen = schedule_.choose(ready)) {
      if (*chosen != due && ready[due] == 0) ++turn.stats.starved;
      return chosen;
    }
    block_ready_.wait(lock);
  }
  return std::nullopt;
}

/// False: nothing is left. A block never lies in two batches.
bool Pipeline::mix_batch(Slot& slot, std::unique_lock<std::mutex>& lock) {
  const std::int64_t start = thread_ns();  // waits take none
  slot.samples.clear();
  const auto size = static_cast<std::size_t>(options_.batch_size);
  const auto most = static_cast<std::size_t>(options_.mix_block);
  while (slot.samples.size() + most <= size) {
    const auto chosen = choose(lock);
    if (!chosen) break;
    Lane& lane = lanes_[*chosen];
    Block block = std::move(lane.ready.front());
    lane.ready.pop_front();
    schedule_.take(*chosen);
    for (Sample& sample : block)
      slot.samples.push_back(std::move(sample));
    read_wanted_.notify_one();
  }
  account(MixtureStage::mix, thread_ns() - start);
  return !slot.samples.empty();
}

void Pipeline::mix() {
  std::unique_lock lock(mutex_);
  const auto enough = [this] {
    const std::size_t blocks = std::max<std::size_t>(primed_blocks(), 1);
    const auto ready = static_cast<std::size_t>(std::count_if(
        lanes_.begin(), lanes_.end(),
        [blocks](const Lane& lane) { return lane.ended || lane.ready.size() >= blocks; }));
    const std::size_t most = lanes_.size();
    return ready >= (options_.prime > 0
                         ? most
                         : std::min(most, static_cast<std::size_t>(options_.min_ready)));
  };
  block_ready_.wait(lock, [&] { return over_ || error_ || enough(); });
  start_s_ = seconds(SteadyClock::now() - opened_);
  started_ = true;
  while (!over_ && !error_) {
    Slot* slot = nullptr;
    for (const auto& candidate : slots_)
      if (candidate->at == Slot::At::free) slot = candidate.get();
    if (slot == nullptr) {
      block_ready_.wait(lock);
      continue;
    }
    slot->at = Slot::At::mixing;
    if (!mix_batch(*slot, lock)) {
      slot->at = Slot::At::free;
      mixed_all_ = true;
      batch_ready_.notify_all();
      return;
    }
    if (over_ || error_) return;
    slot->index = next_mixed_++;
    slot->begun = slot->done = 0;
    slot->errors.assign(slot->samples.size(), "");
    slot->schedule = schedule_.state();
    slot->at = Slot::At::decoding;
    decode_wanted_.notify_all();
  }
}

void Pipeline::decode() {
  PairDecoder decoder;
  std::unique_lock lock(mutex_);
  while (!over_) {
    Slot* slot = nullptr;  // the earliest with a sample that nobody has begun
    for (const auto& candidate : slots_)
      if (candidate->at == Slot::At::decoding && candidate->begun < candidate->samples.size() &&
          (slot == nullptr || candidate->index < slot->index))
        slot = candidate.get();
    if (slot == nullptr) {
      decode_wanted_.wait(lock);
      continue;
    }
    const std::size_t at = slot->begun++;
    lock.unlock();
    const Sample& sample = slot->samples[at];
    PairDecoder::Times times;
    const Status done =
        decoder.decode(slot->memory.images_of(at), sample, options_.image_size, times);
    const std::int64_t start = thread_ns();
    slot->memory.put(at, sample, specs_[sample.source]);
    if (!done) slot->errors[at] = done.error().message;
    times.collate_ns += thread_ns() - start;
    account(MixtureStage::decode, times.decode_ns);
    account(MixtureStage::resize, times.resize_ns);
    account(MixtureStage::collate, times.collate_ns);
    lock.lock();
    SourceStats& stats = lanes_[sample.source].stats;
    ++stats.samples_decoded;
    stats.decode_s +=
        1e-9 * static_cast<double>(times.decode_ns + times.resize_ns + times.collate_ns);
    if (++slot->done == slot->samples.size()) {
      slot->at = Slot::At::ready;
      batch_ready_.notify_all();
    }
  }
}

Pipeline::Slot* Pipeline::find(Slot::At at, std::uint64_t index) {
  for (const auto& slot : slots_)
    if (slot->at == at && slot->index == index) return slot.get();
  return nullptr;
}

/// Samples whose images could not be read become copies of the next sound one.
Status Pipeline::repair(Slot& slot) {
  const std::size_t count = slot.samples.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (slot.errors[i].empty()) continue;
    SourceStats& stats = lanes_[slot.samples[i].source].stats;
    const std::string what = fmt::format(
        "data set {}: shard {}, record {}, frame {}: {}", printable(stats.name),
        slot.samples[i].shard, slot.samples[i].record, slot.samples[i].frame, slot.errors[i]);
    ++stats.bad_images;
    if (stats.first_error.empty()) stats.first_error = what;
    if (options_.on_error == OnBadData::stop) return Error{Errc::invalid_input, what};
    std::size_t sound = 1;
    while (sound < count && !slot.errors[(i + sound) % count].empty())
      ++sound;
    if (sound >= count)
      return Error{Errc::invalid_input,
                   fmt::format("batch {}: none of its {} samples can be decoded; the first: {}",
                               slot.index, count, what)};
    slot.memory.copy(i, (i + sound) % count);
  }
  return ok;
}

Error Pipeline::stalled() const {
  std::string who;
  int named = 0;
  const auto now = SteadyClock::now();
  for (const Lane& lane : lanes_)
    if (lane.ready.empty() && !lane.ended && lane.busy && named < 5) {
      who += fmt::format("{}{} (for {:.1f} s)", named++ == 0 ? "" : ", ",
                         printable(lane.stats.name), seconds(now - lane.since));
    }
  return {Errc::timeout, fmt::format("no batch for {} s; still reading: {}", options_.stall_limit_s,
                                     who.empty() ? "nobody, the decoders are at it" : who)};
}

Result<bool> Pipeline::wait_for_batch(std::unique_lock<std::mutex>& lock,
                                      const std::function<bool()>& there,
                                      const std::function<bool()>& keep_waiting) {
  using Seconds = std::chrono::duration<double>;
  const Seconds limit(options_.stall_limit_s);
  if (!keep_waiting) return batch_ready_.wait_for(lock, limit, there);
  for (Seconds left = limit; left.count() > 0; left -= kLook) {
    if (batch_ready_.wait_for(lock, std::min(kLook, left), there)) return true;
    lock.unlock();
    const bool wanted = keep_waiting();
    lock.lock();
    if (!wanted) return Error{Errc::interrupted, "the wait for a batch was given up"};
  }
  return false;
}

Result<const MixtureBatch*> Pipeline::next(const std::function<bool()>& keep_waiting) {
  std::unique_lock lock(mutex_);
  if (held_ != nullptr) {
    held_->at = Slot::At::free;
    held_ = nullptr;
    block_ready_.notify_one();
  }
  const auto asked = SteadyClock::now();
  Slot* slot = nullptr;
  const auto there = [&] {
    slot = find(Slot::At::ready, next_given_);
    return slot != nullptr || over_ || error_ || (mixed_all_ && next_given_ == next_mixed_);
  };
  const Result<bool> in_time = wait_for_batch(lock, there, keep_waiting);
  wait_s_ += seconds(SteadyClock::now() - asked);
  if (over_) return Error{Errc::interrupted, "the mixture was closed"};
  if (!in_time) return in_time.error();
  if (!*in_time) fail(stalled());
  if (error_) return *error_;
  if (slot == nullptr) {
    const bool none = next_given_ == 0;
    if (none) fail({Errc::invalid_input, "no data set has a usable episode"});
    if (none) return *error_;
    return static_cast<const MixtureBatch*>(nullptr);
  }
  slot->at = Slot::At::held;
  held_ = slot;
  if (const Status sound = repair(*slot); !sound) {
    fail(sound.error());
    return *error_;
  }
  for (const Sample& sample : slot->samples) {
    Lane& lane = lanes_[sample.source];
    lane.given = sample.after;
    ++lane.stats.samples;
    const std::array<std::uint64_t, 4> id = {sample.source, sample.shard, sample.record,
                                             static_cast<std::uint64_t>(sample.frame)};
    hash_.update(std::as_bytes(std::span(id)));
  }
  samples_given_ += slot->samples.size();
  given_schedule_ = std::move(slot->schedule);
  ++next_given_;
  batch_ = slot->memory.show(slot->index, slot->samples.size());
  return &batch_;
}

MixtureStats Pipeline::stats() const {
  const std::lock_guard lock(mutex_);
  MixtureStats stats;
  for (const Lane& lane : lanes_)
    stats.sources.push_back(lane.stats);
  stats.batches = next_given_;
  stats.samples = samples_given_;
  stats.start_s = start_s_;
  stats.wait_s = wait_s_;
  for (std::size_t i = 0; i < kStages; ++i)
    stats.cpu_s[i] = static_cast<double>(cpu_ns_[i].load(std::memory_order_relaxed)) * 1e-9;
  storage::Checksum hash = hash_;
  stats.schedule_hash = fmt::format("{:016x}", hash.value());
  return stats;
}

}  // namespace sluice::loader::mixture
