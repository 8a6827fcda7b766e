// sluice/analysis/loader_use.cpp - details that nobody vouches for, summed up.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/loader_use.h"

#include <algorithm>
#include <cmath>

namespace sluice::analysis {
namespace {

/// A number at `key`, 0 where there is none or it is none.
double finite_at(const Json& json, const char* key) {
  if (!json.is_object()) return 0;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) ? value : 0;
}

const Json& object(const Json& json, const char* key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : kNone;
}

void add_to(std::optional<double>& sum, double value) {
  sum = sum.value_or(0) + value;
}

void add_stages(LoaderUse& use, const Json& stages) {
  if (!stages.is_object()) return;
  for (auto it = stages.begin(); it != stages.end(); ++it) {
    const auto known = std::find_if(use.stages.begin(), use.stages.end(),
                                    [&](const StageUse& one) { return one.name == it.key(); });
    StageUse& sum = known != use.stages.end() ? *known : use.stages.emplace_back();
    sum.name = it.key();
    sum.busy_s += finite_at(*it, "busy_ns") * 1e-9;
    sum.bytes += finite_at(*it, "bytes");
  }
}

/// A cached store has hits and the counters of the inner one; a remote one tells of requests.
void add_store(StoreUse& use, const Json& store) {
  if (!store.is_object()) return;
  if (store.contains("hits")) {
    add_to(use.hits, finite_at(store, "hits"));
    add_to(use.misses, finite_at(store, "misses"));
    add_to(use.evictions, finite_at(store, "evictions"));
  }
  const Json& inner = object(store, "inner");
  const Json& far = inner.is_object() ? inner : store;
  if (!far.contains("requests")) return;
  add_to(use.downloaded_bytes, finite_at(far, "bytes"));
  use.requests += finite_at(far, "requests");
  use.retries += finite_at(far, "retries");
  use.hedges += finite_at(far, "hedges");
}

void add_mapped(LoaderUse& use, const Json& store) {
  if (!store.is_object()) return;
  use.mapped_bytes += finite_at(store, "mapped_bytes");
  add_mapped(use, object(store, "inner"));
}

void add_sample(LoaderUse& use, const Json& details) {
  use.wall_s += finite_at(details, "wall_ns") * 1e-9;
  use.batches += static_cast<std::int64_t>(finite_at(details, "batches"));
  use.samples += static_cast<std::int64_t>(finite_at(details, "samples"));
  use.skipped += static_cast<std::int64_t>(finite_at(details, "skipped"));
  use.waited_batches += static_cast<std::int64_t>(finite_at(details, "waited_batches"));
  use.workers = std::max(use.workers, static_cast<int>(finite_at(details, "workers")));
  use.worker_busy_s += finite_at(details, "worker_busy_ns") * 1e-9;
  use.worker_wait_s += finite_at(details, "worker_wait_ns") * 1e-9;
  use.worker_other_s += finite_at(details, "worker_other_ns") * 1e-9;
  use.consumer_wait_s += finite_at(details, "consumer_wait_ns") * 1e-9;
  use.step_s += finite_at(details, "step_ms") * 1e-3 * finite_at(details, "batches");
  add_stages(use, object(details, "stages"));
  add_store(use.store, object(details, "store"));
  add_mapped(use, object(details, "store"));
  const Json& spread = object(details, "batch_ms");
  if (finite_at(spread, "mean") > 0)
    use.batch_cv.push_back(finite_at(spread, "sd") / finite_at(spread, "mean"));
  use.rss_bytes = std::max(use.rss_bytes, finite_at(details, "rss_bytes"));
  use.ring_bytes = std::max(use.ring_bytes, finite_at(details, "ring_bytes"));
  use.ring_slots =
      std::max(use.ring_slots, static_cast<std::int64_t>(finite_at(details, "ring_slots")));
  if (details.contains("touched_bytes"))
    add_to(use.touched_bytes, finite_at(details, "touched_bytes"));
  use.dataset_items = static_cast<std::int64_t>(finite_at(details, "dataset_items"));
  use.epoch_items = static_cast<std::int64_t>(finite_at(details, "epoch_items"));
  if (details.contains("stop_ms")) use.stop_ms = finite_at(details, "stop_ms");
  if (const auto state = details.find("page_cache"); state != details.end() && state->is_string())
    use.page_cache = state->get<std::string>();
  if (const auto epochs = details.find("anonymous_by_epoch");
      epochs != details.end() && epochs->is_array() &&
      epochs->size() > use.anonymous_by_epoch.size()) {
    use.anonymous_by_epoch.clear();
    for (const Json& bytes : *epochs)
      use.anonymous_by_epoch.push_back(bytes.is_number() ? bytes.get<double>() : 0);
  }
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::optional<LoaderUse> loader_use(const measure::Row& row) {
  LoaderUse use;
  std::vector<double> first_batch, opened;
  bool any = false;
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array() || run.details.empty()) continue;
    for (const Json& details : run.details) {
      if (!details.is_object() || finite_at(details, "wall_ns") <= 0) continue;
      any = true;
      add_sample(use, details);
    }
    first_batch.push_back(finite_at(run.details.back(), "first_batch_ms"));
    opened.push_back(finite_at(run.details.back(), "open_ms"));
    use.cpu_s += static_cast<double>(run.cpu_ns) * 1e-9;
    use.major_faults += static_cast<double>(run.major_faults);
  }
  if (!any) return std::nullopt;
  use.first_batch_ms = median_of(std::move(first_batch));
  use.open_ms = median_of(std::move(opened));
  return use;
}

std::optional<LoaderUse> fed_use(const measure::Row& row, FedPart part) {
  const char* key = part == FedPart::timed ? "timed" : "before";
  LoaderUse use;
  for (const measure::Run& run : row.runs) {
    if (!run.details.is_array()) continue;
    for (const Json& details : run.details)
      if (const Json& fed = object(object(details, "loader"), key); finite_at(fed, "wall_ns") > 0)
        add_sample(use, fed);
  }
  return use.wall_s > 0 ? std::optional(std::move(use)) : std::nullopt;
}

std::vector<results::StageShare> stage_shares(const LoaderUse& use) {
  std::vector<results::StageShare> list;
  const double capacity_s = use.workers * use.wall_s;
  if (capacity_s <= 0 || use.samples == 0) return list;
  const auto samples = static_cast<double>(use.samples);
  const auto add = [&](const std::string& name, double seconds) -> results::StageShare& {
    return list.emplace_back(
        results::StageShare{name, seconds / capacity_s, seconds * 1e6 / samples, {}, {}});
  };
  for (const StageUse& stage : use.stages) {
    results::StageShare& line = add(stage.name, stage.busy_s);
    if (stage.busy_s <= 0) continue;
    line.ceiling = use.workers * samples / stage.busy_s;
    if (stage.bytes > 0) line.mb_per_s = stage.bytes / 1e6 / use.wall_s;
  }
  add("output queue full", use.worker_wait_s);
  add("hand-off", use.worker_other_s);
  add("unaccounted", capacity_s - use.worker_busy_s - use.worker_wait_s - use.worker_other_s);
  return list;
}

}  // namespace sluice::analysis
