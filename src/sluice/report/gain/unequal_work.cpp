// sluice/report/gain/unequal_work.cpp - fields of work, compared as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gain/unequal_work.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/workload.h"
#include "sluice/gate/compare/training_work.h"
#include "sluice/report/facts.h"

#include <fmt/format.h>

#include <set>
#include <span>

namespace sluice::report {
namespace {

using results::ResultFile;

/// A setting that a run which does not use it leaves out.
struct WorkKey {
  const char* name;
  const char* otherwise;  // what it is then; empty: not known, so nothing is said of it
};
constexpr WorkKey kLoadingWork[] = {
    {"case", ""},     {"batch_size", ""},  {"device", ""},     {"sample_ratio", "1"},
    {"step_ms", "0"}, {"decode", "exact"}, {"upload", "none"}, {"random_erasing", "0"}};
constexpr WorkKey kTrainingWork[] = {{"sample_ratio", "1"}, {"decode", "exact"},
                                     {"upload", "none"},    {"random_erasing", "0"},
                                     {"mixup", "0"},        {"cutmix", "0"}};
/// How a training is done, and what other remarks are of.
const std::set<std::string> kNoWork = {
    "compile", "dtype", "checkpoint_activations", "loader", "input", "storage", "threads", "model"};

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? fmt::format("{:g}", value.get<double>()) : value.dump();
}

std::string text_at(const Json& json, const WorkKey& key) {
  const Json& value = at(json, key.name);
  return value.is_null() ? key.otherwise : value_text(value);
}

void put_settings(gate::Workload& work, std::span<const WorkKey> keys, const Json& config) {
  for (const WorkKey& key : keys)
    if (std::string text = text_at(config, key); !text.empty()) work[key.name] = std::move(text);
}

gate::Workload training_work(const ResultFile& file) {
  gate::Workload work = gate::workload_of(*file.training);
  std::erase_if(work, [](const auto& one) { return kNoWork.contains(one.first); });
  put_settings(work, kTrainingWork, file.run_config);
  if (std::string last = gate::last_block_of(*file.training); !last.empty())
    work["last_block"] = std::move(last);
  constexpr std::size_t kMostFields = 50;
  for (const char* key : {"source", "recipe"})
    if (const Json& of = at(file.training->data, key); of.is_structured())
      for (const Fact& fact : flatten(of, kMostFields))
        work[fmt::format("data.{}.{}", key, fact.name)] = fact.value;
    else if (of.is_string())
      work[fmt::format("data.{}", key)] = of.get<std::string>();
  return work;
}

gate::Workload work_of(const ResultFile& file) {
  if (file.training) return training_work(file);
  gate::Workload work;
  put_settings(work, kLoadingWork, file.run_config);
  return work;
}

}  // namespace

std::vector<std::string> unequal_work(const ResultFile& baseline, const ResultFile& run) {
  gate::Workload was = work_of(baseline);
  // Another model has another shape.
  if (baseline.training && run.training &&
      baseline.training->config.model != run.training->config.model)
    std::erase_if(was, [](const auto& one) { return one.first.starts_with("model_shape."); });
  return gate::differences(was, work_of(run));
}

}  // namespace sluice::report
