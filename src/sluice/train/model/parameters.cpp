// sluice/train/model/parameters.cpp - the lists of both families; names are those of the
// checkpoints.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/parameters.h"

#include <fmt/format.h>

namespace sluice::train {
namespace {

using Init = Parameter::Init;

void add_block(std::vector<ParameterShape>& list, const ModelSpec& model, int block) {
  const std::int64_t dim = model.dim;
  const auto name = [&](const char* rest) { return fmt::format("blocks.{}.{}", block, rest); };
  const bool scaled = model.family == Family::vit5;
  list.push_back({name("norm1.weight"), {dim}, Init::ones, false, false});
  list.push_back({name("attn.qkv.weight"), {3 * dim, dim}, Init::fan_in_uniform, true, true});
  list.push_back({name("attn.q_norm.weight"), {model.head_dim()}, Init::ones, false, false});
  list.push_back({name("attn.k_norm.weight"), {model.head_dim()}, Init::ones, false, false});
  list.push_back({name("attn.proj.weight"), {dim, dim}, Init::fan_in_uniform, true, true});
  if (scaled) list.push_back({name("ls1.gamma"), {dim}, Init::layer_scale, false, false});
  list.push_back({name("norm2.weight"), {dim}, Init::ones, false, false});
  list.push_back({name("mlp.fc1.weight"), {model.hidden(), dim}, Init::fan_in_uniform, true, true});
  list.push_back({name("mlp.fc2.weight"), {dim, model.hidden()}, Init::fan_in_uniform, true, true});
  if (scaled) list.push_back({name("ls2.gamma"), {dim}, Init::layer_scale, false, false});
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const ModelSpec& model) {
  const std::int64_t dim = model.dim;
  std::vector<ParameterShape> list;
  if (model.family == Family::vit5) {
    list.push_back(
        {"patch_embed.weight", {dim, 3, model.patch, model.patch}, Init::trunc_normal, true, true});
    list.push_back({"pos_embed", {1, model.patches(), dim}, Init::trunc_normal, false, false});
    list.push_back({"cls_token", {1, 1, dim}, Init::trunc_normal, false, false});
    if (model.registers > 0) {
      list.push_back({"reg_token", {1, model.registers, dim}, Init::trunc_normal, false, false});
    }
  } else {
    list.push_back(
        {"embed.weight", {model.vocabulary, dim}, Init::trunc_normal, true, model.tied_head});
  }
  for (int block = 0; block < model.layers; ++block)
    add_block(list, model, block);
  list.push_back({"norm.weight", {dim}, Init::ones, false, false});
  if (model.family == Family::vit5 || !model.tied_head) {
    list.push_back({"head.weight", {model.outputs(), dim}, Init::trunc_normal, true, true});
  }
  return list;
}

std::int64_t parameter_count(const ModelSpec& model) {
  std::int64_t sum = 0;
  for (const ParameterShape& parameter : parameter_shapes(model)) {
    std::int64_t product = 1;
    for (const std::int64_t side : parameter.shape)
      product *= side;
    sum += product;
  }
  return sum;
}

}  // namespace sluice::train
