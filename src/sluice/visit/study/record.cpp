// sluice/visit/study/record.cpp - study.json and the pages made of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/study/record.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr int kVersion = 1;

Json knobs_json(const analysis::MixtureKnobs& knobs) {
  Json json = Json::object();
  for (const analysis::MixtureKnob knob : analysis::kMixtureKnobs)
    json[to_string(knob)] = analysis::value_of(knobs, knob);
  json["warmup"] = knobs.warmup;
  json["steps"] = knobs.steps;
  return json;
}

}  // namespace

Json study_json(const StudyFile& study) {
  Json cases = Json::array();
  for (const StudyCase& one : study.cases) {
    Json json = knobs_json(one.knobs);
    json["label"] = join(one.labels);
    json["seed"] = std::to_string(one.seed);
    cases.push_back(std::move(json));
  }
  Json json{{"name", study.name},
            {"preset", loader::episodes::preset_label(study.preset)},
            {"batch_size", study.batch_size},
            {"pipeline_interleave", study.pipeline_interleave},
            {"order", to_string(study.order)},
            {"min_ready", study.min_ready},
            {"prime", study.prime},
            {"base", knobs_json(study.base)},
            {"settings", std::move(cases)}};
  if (study.prime_samples > 0) json["prime_samples"] = study.prime_samples;
  return json;
}

Json to_json(const StudyRecord& record) {
  Json runs = Json::array();
  for (const analysis::MixtureStudyRun& run : record.runs)
    runs.push_back(analysis::to_json(run));
  Json machines = Json::object();
  for (const auto& machine : record.remarks)
    machines[machine.first] = Json{{"remarks", machine.second}};
  Json json{{"schema_version", kVersion},
            {"study", record.study},
            {"machines", std::move(machines)},
            {"runs", std::move(runs)}};
  for (const analysis::MixtureTrainedRun& run : record.trained)
    json["trained"].push_back(analysis::to_json(run));
  return json;
}

Result<StudyRecord> read_study_record(const std::filesystem::path& path) {
  const std::string name = printable(path.string());
  SLUICE_TRY(const std::string text, read_text_file(path));
  SLUICE_TRY(const Json json, parse_json(text, name));
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", name, what)};
  };
  if (!json.is_object() || !json.contains("schema_version"))
    return wrong("is no study.json of a study");
  if (json["schema_version"] != kVersion)
    return wrong(
        fmt::format("schema_version {}, {} is read", json["schema_version"].dump(), kVersion));
  if (!json.contains("study") || !json["study"].is_object() || !json.contains("runs") ||
      !json["runs"].is_array())
    return wrong("study or runs are missing");
  StudyRecord record;
  record.study = json["study"];
  if (json.contains("machines") && json["machines"].is_object()) {
    for (const auto& [machine, about] : json["machines"].items()) {
      std::vector<std::string>& remarks = record.remarks[machine];
      if (!about.is_object() || !about.contains("remarks")) continue;
      for (const Json& remark : about["remarks"])
        if (remark.is_string()) remarks.push_back(remark.get<std::string>());
    }
  }
  for (std::size_t i = 0; i < json["runs"].size(); ++i) {
    SLUICE_TRY(auto run, analysis::mixture_study_run_from_json(
                             json["runs"][i], fmt::format("{}: runs[{}]", name, i)));
    record.runs.push_back(std::move(run));
  }
  if (!json.contains("trained")) return record;
  if (!json["trained"].is_array()) return wrong("trained must be a list");
  for (std::size_t i = 0; i < json["trained"].size(); ++i) {
    SLUICE_TRY(auto run, analysis::mixture_trained_run_from_json(
                             json["trained"][i], fmt::format("{}: trained[{}]", name, i)));
    record.trained.push_back(std::move(run));
  }
  return record;
}

bool is_finished(const StudyRecord& record, const std::string& machine, const StudyCase& one,
                 int repeat) {
  return std::any_of(record.runs.begin(), record.runs.end(), [&](const auto& run) {
    return machine_of(run) == machine && run.repeat == repeat && run.seed == one.seed &&
           run.knobs == one.knobs && run.failure.empty();
  });
}

report::StudyFacts facts_of(const StudyFile& study) {
  return {.name = study.name,
          .preset = loader::episodes::preset_label(study.preset),
          .batch_size = study.batch_size,
          .base = study.base,
          .repeats = study.repeats,
          .target_samples_per_s = study.target_samples_per_s};
}

Status write_study(const std::filesystem::path& folder, const StudyRecord& record,
                   const report::StudyFacts& facts) {
  const auto verdicts = analysis::judge_study(record.runs, facts.base);
  SLUICE_CHECK(write_file_atomic(folder / kStudyRecord, results::to_text(to_json(record))));
  SLUICE_CHECK(
      write_file_atomic(folder / kStudyLog, report::study_run_log(facts, record.runs, verdicts)));
  return write_file_atomic(folder / kStudyAdvice, report::study_recommendation(facts, verdicts) +
                                                      report::study_end_to_end(record.trained));
}

}  // namespace sluice::visit
