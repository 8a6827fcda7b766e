// sluice/visit/training/anchors.cpp - the table of anchors, and rows beside it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/training/anchors.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::visit {
namespace {

constexpr double kSlowest = 0.05;  // share of the anchor

// PyTorch 2.11 with CUDA 13.0.
constexpr std::array<TrainingAnchor, 3> kAnchors = {{
    {"NVIDIA H200", "vit5-small", 256, train::Regime::bf16, "torch-eager", 58.8},
    {"NVIDIA H200", "vit5-small", 256, train::Regime::bf16, "torch-compile", 28.5},
    {"NVIDIA H200", "vit5-small", 256, train::Regime::bf16, "torch-max-autotune", 27.7},
}};

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

std::span<const TrainingAnchor> training_anchors() {
  return kAnchors;
}

bool AnchorCheck::valid() const {
  return off() <= kSlowest;
}

std::string AnchorCheck::text() const {
  return fmt::format("anchor: {:.1f} ms, measured {:.1f} ms, off by {:+.1f} %", anchor_ms,
                     measured_ms, off() * 100);
}

Json to_json(const AnchorCheck& check) {
  return Json{{"step_ms", check.anchor_ms},
              {"measured_ms", check.measured_ms},
              {"off", check.off()},
              {"valid", check.valid()},
              {"text", check.text()}};
}

std::optional<AnchorCheck> check_anchor(const measure::Row& row, const TrainingPlan& plan) {
  const train::EngineConfig& engine = plan.engine;
  if (!plan.synthetic || engine.grad_accum != 1 || !is_preset(engine.model)) return std::nullopt;
  const auto use = analysis::training_use(row);
  if (!use) return std::nullopt;
  const std::string device = device_name(use->engine);
  for (const TrainingAnchor& anchor : kAnchors) {
    if (anchor.device == device && anchor.model == engine.model.name &&
        std::to_string(anchor.batch) == param(row, "batch_size") &&
        to_string(anchor.regime) == param(row, "dtype") && anchor.library == row.library)
      return AnchorCheck{anchor.step_ms, *stats::median(use->step_s) * 1e3};
  }
  return std::nullopt;
}

void fail_slow_peers(results::ResultFile& file, const TrainingPlan& plan) {
  for (measure::Row& row : file.rows) {
    if (row.status != measure::RowStatus::ok) continue;
    const auto check = check_anchor(row, plan);
    if (!check || check->valid()) continue;
    row.status = measure::RowStatus::failed;
    row.reason = fmt::format("{}: slower than it is known to be, so nothing is compared with it",
                             check->text());
    row.summary.reset();
  }
}

}  // namespace sluice::visit
