// sluice/analysis/mixture/study_json.cpp - a run of a study to study.json and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/analysis/mixture/study.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace sluice::analysis {
namespace {

template <class T>
struct Field {
  const char* key;
  T MixtureStudyRun::*member;
};
constexpr Field<std::string> kTexts[] = {{"id", &MixtureStudyRun::id},
                                         {"date", &MixtureStudyRun::date},
                                         {"machine", &MixtureStudyRun::machine},
                                         {"failure", &MixtureStudyRun::failure}};
constexpr Field<double> kNumbers[] = {{"batches_per_s", &MixtureStudyRun::batches_per_s},
                                      {"samples_per_s", &MixtureStudyRun::samples_per_s},
                                      {"p50_s", &MixtureStudyRun::p50_s},
                                      {"p90_s", &MixtureStudyRun::p90_s},
                                      {"p99_s", &MixtureStudyRun::p99_s},
                                      {"start_s", &MixtureStudyRun::start_s},
                                      {"teardown_s", &MixtureStudyRun::teardown_s},
                                      {"switch_rate", &MixtureStudyRun::switch_rate}};

struct KnobField {
  const char* key;
  int MixtureKnobs::*member;
  int least;
};
constexpr KnobField kKnobs[] = {{"cpus", &MixtureKnobs::cpus, 1},
                                {"decode", &MixtureKnobs::decode, 1},
                                {"interleave", &MixtureKnobs::interleave, 1},
                                {"mix_block", &MixtureKnobs::mix_block, 1},
                                {"queue", &MixtureKnobs::queue, 1},
                                {"samples_per_episode", &MixtureKnobs::samples_per_episode, 0}};
constexpr std::int64_t kMost = 1'000'000'000;

/// Reads keys of an object and remembers the first that is wrong.
class Keys {
 public:
  Keys(const Json& json, std::string name) : json_(json), name_(std::move(name)) {
    if (!json.is_object()) problem_ = name_ + ": must be an object";
  }
  const Json* at(const char* key) {
    if (!problem_.empty()) return nullptr;
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    problem_ = fmt::format("{}: {} is missing", name_, key);
    return nullptr;
  }
  void text(const char* key, std::string& out) {
    const Json* value = at(key);
    if (value == nullptr) return;
    if (value->is_string())
      out = value->get<std::string>();
    else
      wrong(key, "text");
  }
  void number(const char* key, double& out) {
    const Json* value = at(key);
    if (value == nullptr) return;
    if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() >= 0)
      out = value->get<double>();
    else
      wrong(key, "a number of at least 0");
  }
  std::int64_t integer(const char* key, std::int64_t least) {
    const Json* value = at(key);
    if (value == nullptr) return least;
    if (value->is_number_integer()) {
      const auto found = value->get<std::int64_t>();
      if (found >= least && found <= kMost) return found;
    }
    wrong(key, fmt::format("an integer from {} to {}", least, kMost));
    return least;
  }
  void wrong(const char* key, const std::string& expected) {
    if (problem_.empty()) problem_ = fmt::format("{}: {} must be {}", name_, key, expected);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const Json& json_;
  std::string name_;
  std::string problem_;
};

Json use_json(const MixtureRunUse& use) {
  Json json{{"cpu", use.cpu}, {"ram_bytes", use.ram_bytes}};
  json["gpu"] = use.gpu ? Json(*use.gpu) : Json();
  json["gpu_ram_bytes"] = use.gpu_ram_bytes ? Json(*use.gpu_ram_bytes) : Json();
  if (!use.gpu) json["gpu_reason"] = use.no_gpu;
  return json;
}

/// Of a run's key `use`; the problem with it, if there is one.
std::string read_use(const Json& json, const std::string& name, MixtureRunUse& use) {
  Keys keys(json, name);
  keys.number("cpu", use.cpu);
  keys.number("ram_bytes", use.ram_bytes);
  for (const auto& [key, value] :
       {std::pair{"gpu", &use.gpu}, {"gpu_ram_bytes", &use.gpu_ram_bytes}})
    if (const Json* found = keys.at(key); found != nullptr && !found->is_null())
      keys.number(key, value->emplace());
  if (!use.gpu) keys.text("gpu_reason", use.no_gpu);
  return keys.problem();
}

}  // namespace

Json to_json(const MixtureStudyRun& run) {
  Json json = Json::object();
  for (const auto& field : kTexts)
    json[field.key] = run.*field.member;
  if (!run.host.empty()) json["host"] = run.host;
  json["labels"] = run.labels;
  json["metadata"] = run.knobs.metadata;
  for (const KnobField& field : kKnobs)
    json[field.key] = run.knobs.*field.member;
  json["warmup"] = run.knobs.warmup;
  json["steps"] = run.knobs.steps;
  json["seed"] = std::to_string(run.seed);  // all 64 bits, whatever reads it
  json["repeat"] = run.repeat;
  for (const auto& field : kNumbers)
    json[field.key] = run.*field.member;
  json["dominants"] = run.dominants;
  json["others"] = run.others ? Json(*run.others) : Json();
  json["throttled"] = run.throttled;
  if (run.use) json["use"] = use_json(*run.use);
  return json;
}

Result<MixtureStudyRun> mixture_study_run_from_json(const Json& json, std::string_view name) {
  Keys keys(json, printable(name));
  MixtureStudyRun run;
  for (const auto& field : kTexts)
    keys.text(field.key, run.*field.member);
  if (json.is_object() && json.contains("host")) keys.text("host", run.host);
  if (const Json* labels = keys.at("labels")) {
    if (!labels->is_array()) keys.wrong("labels", "a list of texts");
    for (const Json& label : *labels)
      run.labels.push_back(label.is_string() ? label.get<std::string>() : std::string());
  }
  keys.text("metadata", run.knobs.metadata);
  for (const KnobField& field : kKnobs)
    run.knobs.*field.member = static_cast<int>(keys.integer(field.key, field.least));
  run.knobs.warmup = static_cast<std::uint64_t>(keys.integer("warmup", 0));
  run.knobs.steps = static_cast<std::uint64_t>(keys.integer("steps", 1));
  std::string seed;
  keys.text("seed", seed);
  run.seed = std::strtoull(seed.c_str(), nullptr, 10);
  run.repeat = static_cast<int>(keys.integer("repeat", 1));
  for (const auto& field : kNumbers)
    keys.number(field.key, run.*field.member);
  run.dominants = keys.integer("dominants", 0);
  if (const Json* others = keys.at("others"); others != nullptr && !others->is_null())
    keys.number("others", run.others.emplace());
  if (const Json* throttled = keys.at("throttled"))
    run.throttled = throttled->is_boolean() && throttled->get<bool>();
  if (json.is_object() && json.contains("use"))
    if (const std::string wrong =
            read_use(json["use"], printable(name) + ": use", run.use.emplace());
        !wrong.empty())
      return Error{Errc::invalid_input, wrong};
  if (!keys.problem().empty()) return Error{Errc::invalid_input, keys.problem()};
  return run;
}

namespace {

constexpr std::pair<const char*, double MixtureTrainedRun::*> kTrained[] = {
    {"trained_samples_per_s", &MixtureTrainedRun::trained_per_s},
    {"wait_fraction", &MixtureTrainedRun::wait_fraction},
    {"step_s", &MixtureTrainedRun::step_s},
    {"first_loss", &MixtureTrainedRun::first_loss},
    {"loss", &MixtureTrainedRun::loss}};

}  // namespace

Json to_json(const MixtureTrainedRun& run) {
  Json json = to_json(run.run);
  json["model"] = run.model;
  json["device"] = run.device;
  for (const auto& field : kTrained)
    json[field.first] = run.*field.second;
  return json;
}

Result<MixtureTrainedRun> mixture_trained_run_from_json(const Json& json, std::string_view name) {
  MixtureTrainedRun run;
  SLUICE_TRY(run.run, mixture_study_run_from_json(json, name));
  Keys keys(json, printable(name));
  keys.text("model", run.model);
  keys.text("device", run.device);
  for (const auto& field : kTrained)
    keys.number(field.first, run.*field.second);
  if (!keys.problem().empty()) return Error{Errc::invalid_input, keys.problem()};
  return run;
}

}  // namespace sluice::analysis
