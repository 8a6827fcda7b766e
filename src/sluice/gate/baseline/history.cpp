// sluice/gate/baseline/history.cpp - figures out of files, and visits as lines of JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/history.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/workload.h"
#include "sluice/gate/compare/training_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::gate {
namespace {

bool is_sound(const CanarySpeed& canary) {
  return !canary.parts.empty() && std::ranges::all_of(canary.parts, [](const auto& part) {
    return std::isfinite(part.second) && part.second > 0;
  });
}

void keep_finite(std::map<std::string, double>& figures, const std::string& name,
                 const Json& value) {
  if (value.is_number() && std::isfinite(value.get<double>())) figures[name] = value.get<double>();
}

/// What the runs of a visit say of its median step: the figures are those of the fastest.
void add_ranges(Visit& visit, const results::TrainingMetrics& metrics) {
  const auto& runs = metrics.timing.run_p50;
  if (!runs || runs->size() < 2) return;
  const auto [low, high] = std::ranges::minmax(*runs);
  if (!(low > 0) || !std::isfinite(high)) return;
  visit.ranges["step_time_p50_s"] = {low, high};
  if (const auto tokens = metrics.throughput.tokens_per_step)
    visit.ranges["tokens_per_sec_p50"] = {static_cast<double>(*tokens) / high,
                                          static_cast<double>(*tokens) / low};
  if (const auto samples = metrics.throughput.samples_per_step)
    visit.ranges["samples_per_sec_p50"] = {static_cast<double>(*samples) / high,
                                           static_cast<double>(*samples) / low};
}

std::optional<Range> range_from_json(const Json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() || !json[1].is_number())
    return std::nullopt;
  const Range range{json[0].get<double>(), json[1].get<double>()};
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) return std::nullopt;
  return range;
}

}  // namespace

Json to_json(const CanarySpeed& canary) {
  return Json{{"version", canary.version}, {"passes_per_s", canary.parts}};
}

std::optional<CanarySpeed> canary_from_json(const Json& json) {
  CanarySpeed canary;
  canary.version = string_at(json, "version");
  if (!json.is_object() || !json.contains("passes_per_s")) return std::nullopt;
  for (const auto& [name, speed] : json["passes_per_s"].items()) {
    if (!speed.is_number()) return std::nullopt;
    canary.parts[name] = speed.get<double>();
  }
  return is_sound(canary) ? std::optional(std::move(canary)) : std::nullopt;
}

Visit visit_of(const RunFiles& files) {
  Visit visit;
  visit.source = files.name;
  if (files.metrics) {
    const results::TrainingMetrics& metrics = *files.metrics;
    const std::pair<const char*, const results::TrainingMetrics::Figure*> figures[] = {
        {"tokens_per_sec_p50", &metrics.throughput.tokens_p50},
        {"samples_per_sec_p50", &metrics.throughput.samples_p50},
        {"step_time_p50_s", &metrics.timing.p50},
        {"step_time_p90_s", &metrics.timing.p90},
        {"peak_allocated_bytes", &metrics.memory.peak_allocated_bytes},
        {"loss_slope", &metrics.loss.slope}};
    for (const auto& [name, figure] : figures)
      if (figure->value && std::isfinite(*figure->value)) visit.figures[name] = *figure->value;
    if (metrics.canary && is_sound(*metrics.canary)) visit.canary = metrics.canary;
    add_ranges(visit, metrics);
    visit.last_block = last_block_of(metrics);
    visit.workload = workload_digest(files);
  }
  if (files.eval) {
    if (const auto at = files.eval->find("ppl_fixed_shard"); at != files.eval->end())
      keep_finite(visit.figures, "ppl_fixed_shard", *at);
    const auto probes = files.eval->find("task_probe_accuracy");
    if (probes != files.eval->end() && probes->is_object()) {
      for (const auto& [name, accuracy] : probes->items())
        keep_finite(visit.figures, "probe/" + name, accuracy);
    }
  }
  if (!files.metrics && !files.eval) return visit;
  visit.timestamp = files.metrics ? files.metrics->timestamp : string_at(*files.eval, "timestamp");
  const Json& env = files.metrics ? files.metrics->env : at(*files.eval, "env");
  visit.commit = string_at(env, "git_sha", "unknown");
  visit.dirty = at(env, "git_dirty") == true;
  return visit;
}

Json to_json(const Visit& visit) {
  Json json{{"timestamp", visit.timestamp},
            {"commit", visit.commit},
            {"dirty", visit.dirty},
            {"figures", visit.figures},
            {"canary", visit.canary ? to_json(*visit.canary) : Json(nullptr)}};
  if (!visit.last_block.empty()) json["last_block"] = visit.last_block;
  if (!visit.workload.empty()) json["workload"] = visit.workload;
  for (const auto& [name, range] : visit.ranges)
    json["ranges"][name] = {range.low, range.high};
  return json;
}

Result<Visit> visit_from_json(const Json& json, const std::string& name) {
  if (!json.is_object() || !json.contains("figures") || !json["figures"].is_object())
    return Error{Errc::invalid_input, name + ": not an object with 'figures'"};
  Visit visit;
  visit.timestamp = string_at(json, "timestamp");
  visit.commit = string_at(json, "commit", "unknown");
  if (json.contains("dirty") && json["dirty"].is_boolean()) visit.dirty = json["dirty"].get<bool>();
  visit.source = "promoted";
  for (const auto& [figure, value] : json["figures"].items())
    keep_finite(visit.figures, figure, value);
  for (const auto& [figure, value] : at(json, "ranges").items())
    if (const auto range = range_from_json(value)) visit.ranges[figure] = *range;
  if (json.contains("canary")) visit.canary = canary_from_json(json["canary"]);
  visit.last_block = string_at(json, "last_block");
  visit.workload = string_at(json, "workload");
  return visit;
}

Result<std::vector<Visit>> read_history(const std::filesystem::path& path) {
  std::vector<std::string> problems;
  std::vector<Visit> visits = read_history(path, problems);
  if (!problems.empty()) return Error{Errc::invalid_input, problems.front()};
  return visits;
}

std::vector<Visit> read_history(const std::filesystem::path& path,
                                std::vector<std::string>& problems) {
  std::vector<Visit> visits;
  const auto text = read_text_file(path);
  if (!text && text.error().code == Errc::not_found) return visits;
  if (!text) {
    problems.push_back(text.error().message);
    return visits;
  }
  int number = 0;
  for (const std::string& line : split(*text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string name = fmt::format("{}:{}", printable(path.string()), number);
    const auto json = parse_json(line, name);
    auto visit = json ? visit_from_json(*json, name) : Result<Visit>(json.error());
    if (visit)
      visits.push_back(*std::move(visit));
    else
      problems.push_back(visit.error().message);
  }
  return visits;
}

}  // namespace sluice::gate
