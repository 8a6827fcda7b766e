// sluice/scenario/training/state.cpp - the state of a training as JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/state.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::scenario {
namespace {

constexpr int kVersion = 1;

Error malformed(std::string_view what) {
  return Error{
      Errc::invalid_input,
      fmt::format("the training state in it: {}; it was not written by sluice train", what)};
}

template <class T>
Status read(T& value, const Json& json, const char* key) {
  const auto found = json.find(key);
  const bool right =
      found != json.end() &&
      (std::is_floating_point_v<T> ? found->is_number() : found->is_number_integer());
  if (!right) return malformed(fmt::format("'{}' is no number", key));
  value = found->get<T>();
  return ok;
}

Json sums_json(const EpochSums& sums) {
  return Json{{"steps", sums.steps},    {"samples", sums.samples}, {"loss_sum", sums.loss_sum},
              {"judged", sums.judged},  {"correct", sums.correct}, {"busy_ns", sums.busy_ns},
              {"wait_ns", sums.wait_ns}};
}

Result<EpochSums> sums_from(const Json& json) {
  if (!json.is_object()) return malformed("'sums' is no object");
  EpochSums sums;
  SLUICE_CHECK(read(sums.steps, json, "steps"));
  SLUICE_CHECK(read(sums.samples, json, "samples"));
  SLUICE_CHECK(read(sums.loss_sum, json, "loss_sum"));
  SLUICE_CHECK(read(sums.judged, json, "judged"));
  SLUICE_CHECK(read(sums.correct, json, "correct"));
  SLUICE_CHECK(read(sums.busy_ns, json, "busy_ns"));
  SLUICE_CHECK(read(sums.wait_ns, json, "wait_ns"));
  return sums;
}

/// Files from before there were ranks say how a step is made up, not what it comes to.
void add_step_sizes(Json& settings) {
  const auto take = [&](const char* key) {
    const Json value = settings.value(key, Json());
    settings.erase(key);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  };
  if (settings.contains(kSamplesOfStep) || !settings.contains("--batch-size")) return;
  const std::uint64_t batch = std::max<std::uint64_t>(take("--batch-size"), 1);
  const std::uint64_t accum = std::max<std::uint64_t>(take("--grad-accum"), 1);
  const std::uint64_t most = take("--num-batches");
  const Json samples = settings.value("number of training samples", Json());
  std::uint64_t batches = samples.is_number_unsigned() ? samples.get<std::uint64_t>() / batch : 0;
  if (most > 0) batches = std::min(batches, most);
  settings[kSamplesOfStep] = batch * accum;
  settings[kStepsOfEpoch] = batches / accum;
}

Json share(double part, double whole) {
  return whole > 0 ? Json(part / whole) : Json();
}

}  // namespace

Json to_json(const EpochRecord& record) {
  const EpochSums& sums = record.sums;
  const double seconds = static_cast<double>(sums.busy_ns) * 1e-9;
  Json json{
      {"epoch", record.epoch + 1},
      {"steps", sums.steps},
      {"total_steps", record.steps_so_far},
      {"samples", sums.samples},
      {"loss", share(sums.loss_sum, static_cast<double>(sums.steps))},
      {"accuracy", share(static_cast<double>(sums.correct), static_cast<double>(sums.judged))}};
  const auto put = [&](const std::string& prefix, const std::optional<Accuracy>& found) {
    json[prefix + "val_loss"] = found ? Json(found->loss()) : Json();
    json[prefix + "val_accuracy"] = found ? Json(found->top1()) : Json();
  };
  put("", record.validation);
  put("ema_", record.average_validation);
  json["samples_per_s"] = share(static_cast<double>(sums.samples), seconds);
  json["wait_fraction"] = share(static_cast<double>(sums.wait_ns) * 1e-9, seconds);
  json["seconds"] = seconds;
  return json;
}

Json to_json(const TrainingState& state) {
  return Json{{"version", kVersion},
              {"epoch", state.epoch},
              {"sums", sums_json(state.sums)},
              {"loader", loader::to_json(state.loader)},
              {"best_accuracy", state.best_accuracy},
              {"history", state.history},
              {"settings", state.settings}};
}

Result<TrainingState> training_state_from_json(const Json& json) {
  if (!json.is_object()) return malformed("there is none");
  int version = 0;
  SLUICE_CHECK(read(version, json, "version"));
  if (version != kVersion) return malformed(fmt::format("version {} is not known", version));
  TrainingState state;
  SLUICE_CHECK(read(state.epoch, json, "epoch"));
  SLUICE_TRY(state.sums, sums_from(json.value("sums", Json())));
  SLUICE_TRY(state.loader, loader::state_from_json(json.value("loader", Json())));
  SLUICE_CHECK(read(state.best_accuracy, json, "best_accuracy"));
  state.history = json.value("history", Json());
  if (!state.history.is_array()) return malformed("'history' is no list");
  state.settings = json.value("settings", Json());
  if (!state.settings.is_object()) return malformed("'settings' is no object");
  add_step_sizes(state.settings);
  return state;
}

Status same_settings(const Json& saved, const Json& wanted) {
  const auto differs = [](const std::string& key, const Json& there, const Json& here) {
    const auto words = [](const Json& value) {
      return value.is_null() ? std::string("not given") : value.dump();
    };
    return Error{Errc::invalid_input,
                 fmt::format("{} is {} there and {} here; a training goes on with the settings it "
                             "began with",
                             printable(key), words(there), words(here))};
  };
  for (const auto& [key, value] : wanted.items())
    if (const Json there = saved.value(key, Json()); there != value)
      return differs(key, there, value);
  for (const auto& [key, value] : saved.items())
    if (!wanted.contains(key)) return differs(key, value, Json());
  return ok;
}

}  // namespace sluice::scenario
