// sluice/loader/worker.cpp - one sample from its bytes to its place in the batch.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/worker.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::loader {
namespace {

/// Reasons begin with the name of the sample, which stands beside them here.
std::string without_name(std::string reason, const std::string& name) {
  const std::string start = printable(name) + ": ";
  if (reason.starts_with(start)) reason.erase(0, start.size());
  return reason;
}

}  // namespace

bool is_corrupt_sample(const Error& error) {
  return error.code == Errc::invalid_input || error.code == Errc::unsupported ||
         error.code == Errc::not_found;
}

void SkipList::add(SkippedSample sample) {
  std::lock_guard lock(mutex_);
  ++count_;
  const auto is_it = [&](const SkippedSample& one) { return one.index == sample.index; };
  if (named_.size() < LoaderStats::kNamedSkips && std::ranges::none_of(named_, is_it))
    named_.push_back(std::move(sample));
}

void SkipList::add_to(LoaderStats& stats) const {
  std::lock_guard lock(mutex_);
  stats.skipped = count_;
  stats.skipped_samples = named_;
  std::sort(stats.skipped_samples.begin(), stats.skipped_samples.end(),
            [](const SkippedSample& a, const SkippedSample& b) { return a.index < b.index; });
}

LoaderWorker::LoaderWorker(WorkShop& shop, std::size_t trace_spans)
    : shop_(shop), scratch_(shop.recipe->make_scratch()) {
  if (trace_spans > 0) spans_.emplace(trace_spans);
}

StageClock LoaderWorker::clock() {
  return StageClock(*shop_.clock, counters_, spans_ ? &*spans_ : nullptr);
}

void LoaderWorker::run() {
  StageClock time = clock();
  while (const auto item = shop_.ring->wait_for_item(time))
    make(*item, time);
}

void LoaderWorker::make(const Ring::Item& item, StageClock& clock) {
  Status made = ok;
  try {
    made = make_any(item, clock);
  } catch (const std::exception& e) {  // out of memory, or a library's own
    made = Error{Errc::internal, fmt::format("a worker of the loader: {}", e.what())};
  }
  clock.leave();
  if (made) {
    counters_.add_sample();
    shop_.ring->done(item);
  } else {
    shop_.ring->failed(item, std::move(made).error());
  }
}

Status LoaderWorker::make_any(const Ring::Item& item, StageClock& clock) {
  const Slot& slot = *item.slot;
  const std::uint64_t size = shop_.dataset->size();
  const std::uint64_t first = slot.plan->order[slot.range.first + item.place];
  const std::uint64_t most = std::min(size, kMostInARow);
  for (std::uint64_t tries = 0;; ++tries) {
    if (shop_.stop) return Error{Errc::interrupted, "the loader was stopped"};
    const std::uint64_t index = (first + tries) % size;
    auto made = make_from(item, index, clock);
    if (made || !shop_.skip_corrupt || !is_corrupt_sample(made.error())) return made;
    if (tries + 1 == most)
      return Error{made.error().code,
                   fmt::format("{} samples in a row cannot be used, the last: {}", most,
                               made.error().message)};
    const std::string name = shop_.dataset->name(index);
    shop_.skipped.add({index, name, without_name(made.error().message, name)});
  }
}

Status LoaderWorker::make_from(const Ring::Item& item, std::uint64_t index, StageClock& clock) {
  clock.sample(index);
  clock.enter(Stage::read);
  SLUICE_TRY(const std::span<const std::byte> bytes, shop_.dataset->read(index, buffer_));
  clock.add_bytes(Stage::read, bytes.size());
  Slot& slot = *item.slot;
  const std::size_t sample_bytes = shop_.ring->sample_bytes();
  const std::span<std::byte> out = slot.data.subspan(sample_bytes * item.place, sample_bytes);
  RecipeContext context{*scratch_, clock, &shop_.stop};
  const SampleKey key{shop_.seed, slot.plan->epoch, index};
  if (auto made = shop_.recipe->run(out, bytes, key, context); !made)
    return Error{made.error().code, fmt::format("{}: {}", printable(shop_.dataset->name(index)),
                                                made.error().message)};
  clock.add_bytes(Stage::collate, sample_bytes);
  slot.labels[item.place] = shop_.dataset->label(index);
  slot.indices[item.place] = index;
  return ok;
}

}  // namespace sluice::loader
