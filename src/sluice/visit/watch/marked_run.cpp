// sluice/visit/watch/marked_run.cpp - marks in, samples and details out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/watch/marked_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace sluice::visit {
namespace {

using measure::MarkedKind;
using Places = std::vector<std::size_t>;  // in Marks::steps
using Values = std::vector<std::optional<double>>;

std::int64_t duration_ns(const measure::MarkedSpan& span) {
  return span.end_ns - span.begin_ns;
}

/// The steps that count, by their place.
Places counted_places(std::size_t marked, const Values& device_ns, bool by_device,
                      std::int64_t warmup, std::int64_t steps) {
  Places places;
  for (auto i = static_cast<std::size_t>(warmup); i < marked; ++i) {
    if (by_device && !device_ns[i]) continue;
    if (steps > 0 && places.size() == static_cast<std::size_t>(steps)) break;
    places.push_back(i);
  }
  return places;
}

/// A value for every counted step, under `key`; where some have none, how many.
void put_counts(Json& details, const measure::Marks& marks, const Places& places, MarkedKind what,
                const char* key) {
  const measure::ValueTable table = values_by_step(marks, what);
  Json list = Json::array();
  for (const std::size_t i : places)
    if (table.by_step[i]) list.push_back(*table.by_step[i]);
  if (list.empty()) return;
  if (list.size() == places.size())
    details[key] = std::move(list);
  else
    details[std::string(key) + "_missing"] = places.size() - list.size();
}

void put_losses(Json& details, const measure::Marks& marks, const Places& places) {
  const measure::ValueTable table = values_by_step(marks, MarkedKind::loss);
  Json losses = Json::array();
  Json at = Json::array();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& loss = table.by_step[places[i]];
    if (!loss) continue;
    losses.push_back(*loss);
    at.push_back(i);
  }
  if (losses.empty()) return;
  if (losses.size() != places.size()) details["loss_at"] = std::move(at);
  details["losses"] = std::move(losses);
  details["steps_before"] = places.front();
}

/// Of the whole run: a peak does not know steps.
void put_memory(Json& details, const measure::Marks& marks) {
  for (const auto& [what, key] : {std::pair(MarkedKind::peak_bytes, "peak_bytes"),
                                  std::pair(MarkedKind::reserved_bytes, "reserved_bytes")}) {
    std::optional<double> most;
    for (const measure::MarkedValue& value : marks.values)
      if (value.what == what) most = std::max(most.value_or(0), value.value);
    if (most) details[key] = *most;
  }
}

void put_framework(Json& details, const measure::MarkedFramework& framework) {
  Json json = Json::object();
  for (const auto& [key, text] :
       {std::pair("torch", &framework.torch), std::pair("cuda", &framework.cuda),
        std::pair("python", &framework.python)})
    if (!text->empty()) json[key] = *text;
  if (!json.empty()) details["framework"] = std::move(json);
}

void put_phases(Json& details, const measure::Marks& marks, const Places& places) {
  const measure::PhaseTable table = measure::phases_by_step(marks);
  details["phases_outside_steps"] = table.outside;
  Json phases = Json::object();
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    Json times = Json::array();
    bool any = false;
    for (const std::size_t place : places) {
      times.push_back(table.times_ns[i][place]);
      any = any || table.times_ns[i][place] != 0;
    }
    if (any) phases[table.names[i]] = std::move(times);
  }
  if (phases.empty()) return;
  Json steps = Json::array();
  for (const std::size_t place : places)
    steps.push_back(duration_ns(marks.steps[place]));
  details["phased_step_ns"] = std::move(steps);
  details["phases_ns"] = std::move(phases);
}

}  // namespace

std::size_t main_process(const std::vector<measure::Marks>& all) {
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.steps.size() < b.steps.size();
  });
  return static_cast<std::size_t>(std::distance(all.begin(), most));
}

measure::Run watched_run(const measure::Marks& marks, std::int64_t warmup, std::int64_t steps) {
  const Values device_ns = values_by_step(marks, MarkedKind::device_ns).by_step;
  const bool by_device =
      std::ranges::any_of(device_ns, [](const auto& value) { return value.has_value(); });
  const Places places = counted_places(marks.steps.size(), device_ns, by_device, warmup, steps);
  measure::Run run;
  run.pid = marks.pid;
  run.warmup_discarded =
      static_cast<int>(std::min(static_cast<std::size_t>(warmup), marks.steps.size()));
  if (places.empty()) return run;
  Json details{{"steps", places.size()},
               {"dropped_marks", marks.dropped},
               {"skipped_records", marks.skipped}};
  Json host = Json::array();
  for (const std::size_t i : places) {
    host.push_back(duration_ns(marks.steps[i]));
    run.samples_ns.push_back(by_device ? std::llround(*device_ns[i]) : duration_ns(marks.steps[i]));
  }
  if (by_device) {
    details["step_clock"] = "device";
    details["host_step_ns"] = std::move(host);
    details["steps_without_device_time"] = std::ranges::count(device_ns, std::optional<double>());
  }
  run.start_ns = marks.steps[places.front()].begin_ns;
  put_phases(details, marks, places);
  put_losses(details, marks, places);
  put_counts(details, marks, places, MarkedKind::tokens, "step_tokens");
  put_counts(details, marks, places, MarkedKind::samples, "step_samples");
  put_counts(details, marks, places, MarkedKind::flop, "step_flop");
  put_memory(details, marks);
  put_framework(details, marks.framework);
  run.details = Json::array({std::move(details)});
  return run;
}

std::string broken_loss(const measure::Marks& marks) {
  const measure::ValueTable table = values_by_step(marks, MarkedKind::loss);
  for (std::size_t i = 0; i < table.by_step.size(); ++i)
    if (table.by_step[i] && !std::isfinite(*table.by_step[i]))
      return fmt::format("reported a loss that is not finite ({}) in step {}", *table.by_step[i],
                         i + 1);
  return {};
}

}  // namespace sluice::visit
