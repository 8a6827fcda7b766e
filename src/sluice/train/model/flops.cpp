// sluice/train/model/flops.cpp - one line per matrix product of the model.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flops.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>

namespace sluice::train {
namespace {

constexpr std::array kEstimators{MfuEstimator::six_nd, MfuEstimator::transformer_aware,
                                 MfuEstimator::shapes};

/// The blocks, which both families share.
void add_blocks(std::vector<FlopItem>& items, const ModelSpec& model) {
  const std::int64_t layers = model.layers;
  const std::int64_t tokens = model.tokens();
  const std::int64_t dim = model.dim;
  const std::int64_t hidden = model.hidden();
  items.push_back({"qkv", layers * 3 * dim * dim, layers * 2 * tokens * 3 * dim * dim});
  items.push_back({"attention", 0, layers * 4 * tokens * tokens * dim});  // QKᵀ and AV
  items.push_back({"projection", layers * dim * dim, layers * 2 * tokens * dim * dim});
  items.push_back({"mlp", layers * 2 * dim * hidden, layers * 4 * tokens * dim * hidden});
  const std::int64_t norms = layers * (2 * dim + 2 * model.head_dim()) + dim;
  const std::int64_t scales = model.family == Family::vit5 ? layers * 2 * dim : 0;
  items.push_back({"norms and scales", norms + scales, 0});
}

std::vector<FlopItem> items_of(const ModelSpec& model) {
  const std::int64_t dim = model.dim;
  std::vector<FlopItem> items;
  if (model.family == Family::vit5) {
    const std::int64_t patches = model.patches();
    const std::int64_t pixels = std::int64_t{3} * model.patch * model.patch;
    items.push_back({"patch embedding", pixels * dim, 2 * patches * pixels * dim});
    items.push_back({"position, class, registers", (patches + 1 + model.registers) * dim, 0});
    add_blocks(items, model);
    items.push_back({"head", dim * model.classes, 2 * dim * model.classes});
    return items;
  }
  const std::int64_t table = dim * model.vocabulary;
  items.push_back({"token table", model.tied_head ? 0 : table, 0});
  add_blocks(items, model);
  items.push_back(
      {model.tied_head ? "head (the token table)" : "head", table, 2 * table * model.sequence});
  return items;
}

std::int64_t looked_up(const ModelSpec& model) {
  if (model.family == Family::vit5)
    return std::int64_t{model.patches() + 1 + model.registers} * model.dim;
  return model.tied_head ? 0 : std::int64_t{model.vocabulary} * model.dim;
}

}  // namespace

ModelFlops count_flops(const ModelSpec& model) {
  ModelFlops out;
  out.items = items_of(model);
  for (const FlopItem& item : out.items) {
    out.parameters += item.parameters;
    out.forward += item.forward;
  }
  out.non_embedding_parameters = out.parameters - looked_up(model);
  out.train = 3 * out.forward;
  return out;
}

double flop_6nd(double parameters, double tokens) {
  return 6 * parameters * tokens;
}

double flop_transformer_aware(double parameters, double tokens, double sequence, double dim,
                              double layers) {
  return flop_6nd(parameters, tokens) + 12 * layers * dim * sequence * tokens;
}

const char* to_string(MfuEstimator estimator) {
  switch (estimator) {
    case MfuEstimator::six_nd:
      return "6ND";
    case MfuEstimator::transformer_aware:
      return "transformer_aware";
    case MfuEstimator::shapes:
      return "shapes";
  }
  return "";
}

Result<MfuEstimator> parse_mfu_estimator(std::string_view text) {
  std::vector<std::string> names;
  for (const MfuEstimator estimator : kEstimators) {
    if (text == to_string(estimator)) return estimator;
    names.emplace_back(to_string(estimator));
  }
  return Error{Errc::usage, fmt::format("MFU estimator '{}' is not known; {} are accepted",
                                        printable(text), join(names))};
}

double step_flop(const ModelSpec& model, MfuEstimator estimator, double samples) {
  const ModelFlops flops = count_flops(model);
  const auto parameters = static_cast<double>(flops.non_embedding_parameters);
  const double tokens = samples * model.tokens();
  switch (estimator) {
    case MfuEstimator::six_nd:
      return flop_6nd(parameters, tokens);
    case MfuEstimator::transformer_aware:
      return flop_transformer_aware(parameters, tokens, model.tokens(), model.dim, model.layers);
    case MfuEstimator::shapes:
      break;
  }
  return static_cast<double>(flops.train) * samples;
}

double mfu(double flop, double seconds, int devices, double peak_tflops) {
  if (!(flop > 0) || !(seconds > 0) || devices < 1 || !(peak_tflops > 0)) return 0;
  return flop / seconds / 1e12 / (devices * peak_tflops);
}

}  // namespace sluice::train
