// sluice/visit/training/anchors.cpp - reads the table of anchors, and puts rows beside it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/anchors.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr double kSlowest = 0.05;  // share of the anchor

/// "NVIDIA H200" of "cuda:0 NVIDIA H200".
std::string device_name(const Json& engine) {
  const auto found = engine.is_object() ? engine.find("device") : engine.end();
  if (found == engine.end() || !found->is_string()) return "";
  const auto text = found->get<std::string>();
  const std::size_t space = text.find(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

std::string param(const measure::Row& row, const char* name) {
  const auto found = row.params.find(name);
  return found == row.params.end() ? std::string() : found->second;
}

bool is_preset(const train::ModelSpec& model) {
  const auto preset = train::find_model(model.name);
  return preset && *preset == model;
}

}  // namespace

Result<TrainingAnchors> read_training_anchors(const std::filesystem::path& adapters) {
  const std::filesystem::path file = adapters / "anchors.json";
  TrainingAnchors anchors;
  if (adapters.empty() || !std::filesystem::exists(file)) return anchors;
  SLUICE_TRY(const std::string text, read_text_file(file));
  SLUICE_TRY(const Json json, parse_json(text, file.string()));
  try {
    for (const Json& one : json.at("training")) {
      SLUICE_TRY(const train::Regime regime,
                 train::parse_regime(one.at("dtype").get<std::string>()));
      anchors.push_back({one.at("device"), one.at("model"), one.at("batch"), regime,
                         one.at("library"), one.at("step_ms")});
    }
  } catch (const Json::exception& problem) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: {}; expected a list `training` of device, model, batch, dtype, "
                             "library and step_ms",
                             file.string(), problem.what())};
  }
  return anchors;
}

bool AnchorCheck::valid() const {
  return off() <= kSlowest;
}

std::string AnchorCheck::text() const {
  return fmt::format("anchor: {:.1f} ms, measured {:.1f} ms, off by {:+.1f} %", anchor_ms,
                     measured_ms, off() * 100);
}

results::AnchorCheck record_of(const AnchorCheck& check) {
  return {check.anchor_ms, check.measured_ms, check.off(), check.valid(), check.text()};
}

std::optional<AnchorCheck> check_anchor(const measure::Row& row, const TrainingPlan& plan,
                                        const TrainingAnchors& anchors) {
  const train::EngineConfig& engine = plan.engine;
  if (plan.mix.on()) return std::nullopt;  // anchors are of images as they are
  if (!plan.synthetic || engine.grad_accum != 1 || !is_preset(engine.model)) return std::nullopt;
  if (row.params.contains("last_block")) return std::nullopt;  // anchors are of the whole model
  const auto use = analysis::training_use(row);
  if (!use) return std::nullopt;
  const std::string device = device_name(use->engine);
  for (const TrainingAnchor& anchor : anchors) {
    if (anchor.device == device && anchor.model == engine.model.name &&
        std::to_string(anchor.batch) == param(row, "batch_size") &&
        to_string(anchor.regime) == param(row, "dtype") && anchor.library == row.library)
      return AnchorCheck{anchor.step_ms, *stats::median(use->step_s) * 1e3};
  }
  return std::nullopt;
}

void fail_slow_peers(results::ResultFile& file, const TrainingPlan& plan,
                     const TrainingAnchors& anchors) {
  for (measure::Row& row : file.rows) {
    if (row.status != measure::RowStatus::ok) continue;
    const auto check = check_anchor(row, plan, anchors);
    if (!check || check->valid()) continue;
    row.status = measure::RowStatus::failed;
    row.reason = fmt::format("{}: slower than it is known to be, so nothing is compared with it",
                             check->text());
    row.summary.reset();
  }
}

}  // namespace sluice::visit
