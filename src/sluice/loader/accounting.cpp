// sluice/loader/accounting.cpp - attributing a worker's time, and sums over workers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/accounting.h"

#include "sluice/loader/trace.h"

#include <numeric>

namespace sluice::loader {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Json stages_json(const StageTotals& totals) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kStages; ++i)
    json[to_string(static_cast<Stage>(i))] =
        Json{{"busy_ns", totals.busy_ns[i]}, {"bytes", totals.bytes[i]}};
  return json;
}

}  // namespace

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::list:
      return "list";
    case Stage::read:
      return "read";
    case Stage::decode:
      return "decode";
    case Stage::augment:
      return "augment";
    case Stage::collate:
      return "collate";
    case Stage::transfer:
      return "transfer";
  }
  return "?";
}

std::int64_t StageTotals::all_ns() const {
  return std::accumulate(busy_ns.begin(), busy_ns.end(), std::int64_t{0});
}

StageTotals& StageTotals::operator+=(const StageTotals& other) {
  for (std::size_t i = 0; i < kStages; ++i) {
    busy_ns[i] += other.busy_ns[i];
    bytes[i] += other.bytes[i];
  }
  return *this;
}

WorkerTotals WorkerCounters::totals() const {
  WorkerTotals totals;
  for (std::size_t i = 0; i < kStages; ++i) {
    totals.stages.busy_ns[i] = busy_[i].load(std::memory_order_relaxed);
    totals.stages.bytes[i] = bytes_[i].load(std::memory_order_relaxed);
  }
  totals.wait_ns = wait_.load(std::memory_order_relaxed);
  totals.other_ns = other_.load(std::memory_order_relaxed);
  totals.samples = samples_.load(std::memory_order_relaxed);
  return totals;
}

void StageClock::pass_to(int next) {
  const std::int64_t now = clock_->now_ns();
  const std::int64_t spent = now - last_ns_;
  if (in_ >= 0)
    counters_->add_busy(static_cast<Stage>(in_), spent);
  else if (in_ == kWaiting)
    counters_->add_wait(spent);
  else
    counters_->add_other(spent);
  if (spans_ != nullptr && in_ != WorkerCounters::kIdle)
    spans_->add({last_ns_, now, counters_->now_at(), in_});
  last_ns_ = now;
  in_ = next;
  counters_->now_in(next);
}

double LoaderStats::readiness() const {
  return running_ns > 0 ? 1.0 - share(empty_ns, running_ns) : 0.0;
}

double LoaderStats::prefetch_efficiency() const {
  return batches > 0 ? 1.0 - static_cast<double>(waited_batches) / static_cast<double>(batches)
                     : 0.0;
}

StageTotals LoaderStats::stages() const {
  StageTotals sum = outside;
  for (const WorkerTotals& worker : workers)
    sum += worker.stages;
  return sum;
}

double LoaderStats::worker_efficiency() const {
  std::int64_t busy = 0;
  for (const WorkerTotals& worker : workers)
    busy += worker.stages.all_ns();
  return share(busy, running_ns * static_cast<std::int64_t>(workers.size()));
}

Json to_json(const LoaderStats& stats) {
  Json workers = Json::array();
  for (const WorkerTotals& worker : stats.workers)
    workers.push_back(Json{{"samples", worker.samples},
                           {"wait_ns", worker.wait_ns},
                           {"other_ns", worker.other_ns},
                           {"stages", stages_json(worker.stages)}});
  Json skipped = Json::array();
  for (const SkippedSample& sample : stats.skipped_samples)
    skipped.push_back(
        Json{{"index", sample.index}, {"name", sample.name}, {"reason", sample.reason}});
  return Json{{"running_ns", stats.running_ns},
              {"batches", stats.batches},
              {"samples", stats.samples},
              {"consumer_wait_ns", stats.consumer_wait_ns},
              {"empty_ns", stats.empty_ns},
              {"waited_batches", stats.waited_batches},
              {"readiness", stats.readiness()},
              {"prefetch_efficiency", stats.prefetch_efficiency()},
              {"worker_efficiency", stats.worker_efficiency()},
              {"skipped", stats.skipped},
              {"skipped_samples", std::move(skipped)},
              {"ring_slots", stats.ring_slots},
              {"ring_bytes", stats.ring_bytes},
              {"pinning", stats.pinning},
              {"stages", stages_json(stats.stages())},
              {"workers", std::move(workers)}};
}

}  // namespace sluice::loader
