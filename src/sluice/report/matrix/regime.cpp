// sluice/report/matrix/regime.cpp - the regime of a result file, and which regimes are the main
// ones.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/regime.h"

#include "sluice/analysis/config_value.h"
#include "sluice/core/text.h"
#include "sluice/measure/media_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

constexpr const char* kMemory = "memory_dataloader_augment";
constexpr const char* kDecode = "decode_dataloader_augment";

/// The sizes at which DataLoader tables are published. Decode scope on a GPU is DALI's, which reads
/// files itself; 9 channels in batches of 256 do not fit the memory of every library.
struct MainLoader {
  const char* scenario;
  const char* device;
  const char* scope;
  std::int64_t batch_size;
  std::int64_t workers;
};
constexpr MainLoader kMainLoaders[] = {
    {"image-rgb", "none", kMemory, 256, 8}, {"image-rgb", "cuda", kMemory, 256, 8},
    {"image-rgb", "cuda", kDecode, 256, 8}, {"image-9ch", "none", kMemory, 64, 8},
    {"image-9ch", "cuda", kMemory, 64, 8},  {"image-9ch", "cuda", kDecode, 64, 8},
    {"video-16f", "none", kMemory, 64, 8},  {"video-16f", "cuda", kMemory, 16, 8},
    {"video-16f", "cuda", kDecode, 16, 8},
};
/// Micro tables are main with these threads, decode tables always.
constexpr const char* kMicroPolicy = "micro-single";

std::int64_t config_integer(const results::ResultFile& file, const char* key) {
  const Json* value = analysis::config_value(file, "execution", key);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

/// What the configuration asks for, else what the rows say was in force, else the mode's own.
std::string thread_policy(const results::ResultFile& file, const std::string& mode) {
  if (std::string asked = analysis::config_text(file, "execution", "thread_policy"); !asked.empty())
    return asked;
  for (const auto& row : file.rows) {
    if (!row.thread_policy.name.empty()) return row.thread_policy.name;
  }
  return mode == "pipeline" ? "pipeline-default" : kMicroPolicy;
}

std::string mode_word(const std::string& mode) {
  if (mode == "pipeline") return "DataLoader";
  if (mode == "micro") return "Profiler";
  return mode == "decode" ? "Decode" : printable(mode);
}

/// "memory" of "memory_dataloader_augment".
std::string scope_word(const std::string& scope) {
  if (scope == kMemory) return "memory scope";
  if (scope == kDecode) return "decode scope";
  if (scope == "decode_dataloader_augment_batch_copy") return "decode and batch copy scope";
  return "scope " + printable(scope);
}

}  // namespace

bool is_matrix(const results::ResultFile& file) {
  return !analysis::config_text(file, "selection", "scenario").empty() &&
         !analysis::config_text(file, "selection", "mode").empty();
}

Regime regime_of(const results::ResultFile& file) {
  Regime regime;
  regime.scenario = analysis::config_text(file, "selection", "scenario");
  regime.mode = analysis::config_text(file, "selection", "mode");
  regime.device = analysis::device_of(file);
  if (regime.mode == "pipeline") {
    regime.scope = analysis::config_text(file, "execution", "pipeline_scope", kDecode);
    regime.batch_size = config_integer(file, "batch_size");
    regime.workers = config_integer(file, "workers");
  }
  regime.thread_policy = thread_policy(file, regime.mode);
  regime.machine_profile = file.machine_profile;
  return regime;
}

bool is_main(const Regime& regime) {
  if (regime.mode == "decode") return true;
  if (regime.mode == "micro") return regime.thread_policy == kMicroPolicy;
  return std::any_of(std::begin(kMainLoaders), std::end(kMainLoaders), [&](const MainLoader& main) {
    return regime.scenario == main.scenario && regime.device == main.device &&
           regime.scope == main.scope && regime.batch_size == main.batch_size &&
           regime.workers == main.workers;
  });
}

int reading_order(const Regime& regime) {
  static constexpr const char* kModes[] = {"pipeline", "decode", "micro"};
  static constexpr const char* kScenarios[] = {"image-rgb", "image-9ch", "video-16f"};
  const auto place = [](const auto& list, const std::string& word) {
    return static_cast<int>(std::find(std::begin(list), std::end(list), word) - std::begin(list));
  };
  const int device = regime.device == "none" ? 0 : 1;
  return (((is_main(regime) ? 0 : 1) * 4 + place(kModes, regime.mode)) * 4 +
          place(kScenarios, regime.scenario)) *
             2 +
         device;
}

std::string heading(const Regime& regime) {
  std::string out = mode_word(regime.mode);
  if (!is_main(regime)) out = "Exploratory: " + out + ",";
  if (is_main(regime)) out += ":";
  out += fmt::format(" {} on {}", printable(regime.scenario),
                     regime.device == "none" ? "the CPU" : printable(regime.device));
  if (regime.mode != "pipeline") return out;
  return out + fmt::format(", {}, batch {}, {} worker{}", scope_word(regime.scope),
                           regime.batch_size, regime.workers, regime.workers == 1 ? "" : "s");
}

double slow_item_s(const results::ResultFile& file) {
  if (const Json* given =
          analysis::config_value(file, "execution", "slow_threshold_sec_per_item")) {
    if (given->is_number() && given->get<double>() > 0) return given->get<double>();
  }
  const bool video = analysis::config_text(file, "selection", "media") == "video" ||
                     analysis::config_text(file, "selection", "scenario").starts_with("video");
  return (video ? measure::video_policy() : measure::image_policy()).slow_item_s;
}

std::string slow_marker(const results::ResultFile& file, const std::string& unit) {
  return measure::slow_marker(slow_item_s(file), printable(unit));
}

std::vector<std::string> configured_transforms(const results::ResultFile& file) {
  std::vector<std::string> names;
  const Json* list = analysis::config_value(file, "selection", "transforms");
  if (list == nullptr || !list->is_array()) return names;
  for (const auto& name : *list) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace sluice::report
