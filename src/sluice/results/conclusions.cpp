// sluice/results/conclusions.cpp - keys of the parts that kinds of result files share.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/conclusions.h"

#include "sluice/results/sections.h"

#include <array>

namespace sluice::results {
namespace {

struct Bounds {
  double low = 0;
  double high = 0;
};
void keys_of(Keys& keys, Bounds& bounds) {
  keys("low", bounds.low);
  keys("high", bounds.high);
}

constexpr AdviceKind kAdviceKinds[] = {AdviceKind::decode_scaled, AdviceKind::smaller_images,
                                       AdviceKind::more_workers,  AdviceKind::cache,
                                       AdviceKind::buffered,      AdviceKind::bundle,
                                       AdviceKind::pin_memory,    AdviceKind::upload_bytes};
constexpr Bottleneck kBottlenecks[] = {Bottleneck::input,    Bottleneck::compute,
                                       Bottleneck::transfer, Bottleneck::interference,
                                       Bottleneck::sync,     Bottleneck::mixed};

}  // namespace

static void keys_of(Keys& keys, RankTimes& ranks) {
  keys("count", ranks.ranks);
  keys("single_ms_per_batch", ranks.single_ms);
  keys("skew", ranks.skew);
}

void Keys::estimate(const char* key, const char* interval, stats::Estimate& value) {
  std::optional<Bounds> bounds;
  if (writing() && value.confidence > 0) bounds.emplace(Bounds{value.low, value.high});
  (*this)(key, value.point);
  (*this)(interval, bounds);
  if (!writing())
    value = {value.point, bounds ? bounds->low : value.point, bounds ? bounds->high : value.point,
             bounds ? 0.95 : 0};
}

void Keys::estimate(const char* key, const char* interval, std::optional<stats::Estimate>& value) {
  if (!writing() && holds(key)) value.emplace();
  if (value) return estimate(key, interval, *value);
  known_.insert(key);
}

void Keys::estimate_or_null(const char* key, const char* interval,
                            std::optional<stats::Estimate>& value) {
  if (writing() && !value) (*out_)[key] = (*out_)[interval] = nullptr;
  estimate(key, interval, value);
  known_.insert(interval);
}

void Keys::estimate(const char* key, const char* interval,
                    measure::Measured<stats::Estimate>& value) {
  if (value.value || holds(key)) return estimate(key, interval, value.value);
  measure::Measured<double> none{std::nullopt, value.reason};
  (*this)(key, none);
  value.reason = none.reason;
}

void Keys::rest(Json& other) {
  if (writing()) {
    for (const auto& [key, value] : other.items())
      (*out_)[key] = value;
    return;
  }
  if (in_ == nullptr) return;
  for (const auto& [key, value] : in_->items())
    if (!known_.contains(key)) other[key] = value;
}

void Keys::suffixed(const char* key, std::vector<std::pair<std::string, double>>& table,
                    const std::string& suffix) {
  object(key, [&](Keys& in) { in.suffixed(table, suffix); });
}

void Keys::suffixed(std::vector<std::pair<std::string, double>>& table, const std::string& suffix) {
  if (writing()) {
    for (const auto& [name, value] : table)
      (*out_)[name + suffix] = value;
    return;
  }
  if (in_ == nullptr) return;
  for (const auto& [key, value] : in_->items()) {
    if (!key.ends_with(suffix) || known_.contains(key)) continue;
    known_.insert(key);
    double number = 0;
    if (get(value, Where{&where_, key, -1}, number))
      table.emplace_back(key.substr(0, key.size() - suffix.size()), number);
  }
}

bool Keys::get(const Json& in, const Where& where,
               std::vector<std::pair<std::string, double>>& table) {
  if (!in.is_object()) return wrong(where, "an object", in);
  bool sound = true;
  for (const auto& [name, value] : in.items())
    sound = get(value, Where{&where, name, -1}, table.emplace_back(name, 0).second) && sound;
  return sound;
}

bool Keys::get(const Json& in, const Where& where, std::map<std::string, double>& table) {
  if (!in.is_object()) return wrong(where, "an object", in);
  bool sound = true;
  for (const auto& [name, value] : in.items())
    sound = get(value, Where{&where, name, -1}, table[name]) && sound;
  return sound;
}

const char* to_string(Mark mark) {
  return mark == Mark::good ? "pass" : mark == Mark::bad ? "fail" : "unknown";
}

const char* to_string(AdviceKind kind) {
  constexpr const char* kNames[] = {"decode_scaled", "smaller_images", "more_workers",
                                    "cache",         "buffered",       "bundle",
                                    "pin_memory",    "upload_bytes"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(Bottleneck bottleneck) {
  constexpr std::array<const char*, 6> kNames{"INPUT",        "COMPUTE", "TRANSFER",
                                              "INTERFERENCE", "SYNC",    "MIXED"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

void keys_of(Keys& keys, stats::Estimate& estimate) {
  keys("point", estimate.point);
  keys("low", estimate.low);
  keys("high", estimate.high);
}

void keys_of(Keys& keys, Check& check) {
  constexpr Mark kMarks[] = {Mark::good, Mark::bad, Mark::unknown};
  keys("name", check.name);
  keys("target", check.target);
  keys("found", check.found);
  keys.choice("status", check.mark, kMarks);
}

void keys_of(Keys& keys, Finding& finding) {
  keys("diagnosis", finding.diagnosis);
  keys("evidence", finding.evidence);
  keys("solutions", finding.solutions);
}

void keys_of(Keys& keys, Advice& advice) {
  keys.choice("kind", advice.kind, kAdviceKinds);
  keys("what", advice.what);
  keys("how", advice.how);
  keys("number", advice.number);
  keys("gain", advice.gain);
}

void keys_of(Keys& keys, AdviceOutcome& outcome) {
  keys("what", outcome.what);
  keys("promised", outcome.promised);
  keys("gain", outcome.gain);
  keys("pairs", outcome.pairs);
}

void keys_of(Keys& keys, StageShare& stage) {
  keys("stage", stage.stage);
  keys("share_of_worker_time", stage.share);
  keys("us_per_sample", stage.us_per_sample);
  keys("ceiling_samples_per_sec", stage.ceiling);
  keys("mb_per_s", stage.mb_per_s);
}

void keys_of(Keys& keys, Attribution& found) {
  StepTimes& times = found.times;
  keys.choice("verdict", found.verdict, kBottlenecks);
  keys("statement", found.statement);
  keys.choices("could_also_be", found.could_also_be, kBottlenecks);
  keys.estimate("loader_ms_per_batch", "loader_ms_per_batch_ci95", times.loader);
  keys.estimate("step_ms_per_batch", "step_ms_per_batch_ci95", times.model);
  measure::Measured<stats::Estimate> transfer{
      times.transfer, times.no_transfer.empty() ? kMissingKey : times.no_transfer};
  keys.estimate("transfer_ms_per_batch", "transfer_ms_per_batch_ci95", transfer);
  if (!keys.writing()) {
    times.transfer = transfer.value;
    if (transfer.reason != kMissingKey) times.no_transfer = transfer.reason;
  }
  keys.estimate("together_ms_per_batch", "together_ms_per_batch_ci95", times.together);
  keys.estimate("wait_share", "wait_share_ci95", times.wait_share);
  keys("ideal_ms_per_batch", found.ideal_ms);
  keys("serial_ms_per_batch", found.serial_ms);
  keys("overlap", found.overlap);
  keys("residual_ms_per_batch", found.residual_ms);
  keys("residual_share", found.residual_share);
  keys("headspace", found.headspace);
  keys("accelerator_use", found.busy_share);
  keys("loader_slowdown", times.loader_slowdown);
  keys("step_slowdown", times.model_slowdown);
  keys("ranks", times.ranks);
}

void keys_of(Keys& keys, PeerRatio& ratio) {
  keys("case", ratio.case_name);
  keys("library", ratio.library);
  keys("peer", ratio.peer);
  keys.estimate("ratio", "ci95", ratio.ratio);
  keys("pairs", ratio.pairs);
}

void keys_of(Keys& keys, EpochEstimate& epoch) {
  keys("sample_ratio", epoch.sample_ratio);
  keys("samples", epoch.samples);
  keys.estimate("estimated_full_epoch_time_seconds", "ci95", epoch.seconds);
  if (!keys.writing()) epoch.in_minutes = keys.has("estimated_full_epoch_time_minutes");
  double minutes = epoch.seconds.point / 60;
  if (epoch.in_minutes) keys("estimated_full_epoch_time_minutes", minutes);
  keys("estimated_total_batches", epoch.batches);
}

void keys_of(Sections& file, Diagnosis& found) {
  file.summary("batch_size", found.batch_size);
  file.summary("attribution", found.attribution);
  if (!file.writing()) found.is_the_verdict = file.verdict.holds("bottleneck");
  file.summary.unless_empty("diagnosis", found.findings);
  file.summary.unless_empty("advice", found.advice);
  file.summary("advice_taken", found.outcome);
  file.summary.unless_empty("stages", found.stages);
  file.summary.unless_empty("step", found.step);
  file.summary.unless_empty("step_rows", found.step_rows);
  if (!found.is_the_verdict || !found.attribution.value) return;
  Attribution verdict = *found.attribution.value;
  file.verdict.choice("bottleneck", verdict.verdict, kBottlenecks);
  file.verdict("statement", verdict.statement);
}

void keys_of(Sections& file, TourSummary& tour) {
  file.summary.unless_empty("peers_reason", tour.peers_reason);
  file.summary.unless_empty("found", tour.found);
}

Json to_json(const PeerRatio& ratio) {
  Json json;
  Keys::put(json, ratio);
  return json;
}

}  // namespace sluice::results
