// sluice/train/model_spec.cpp - the presets, and what the engine can do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model_spec.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace sluice::train {
namespace {

ModelSpec vit5(std::string name, int dim, int heads) {
  ModelSpec model;
  model.name = std::move(name);
  model.dim = dim;
  model.heads = heads;
  return model;
}

ModelSpec gpt(std::string name, int dim, int layers, int heads, int vocabulary, int sequence) {
  ModelSpec model;
  model.name = std::move(name);
  model.family = Family::gpt;
  model.dim = dim;
  model.layers = layers;
  model.heads = heads;
  model.vocabulary = vocabulary;
  model.sequence = sequence;
  return model;
}

Error refuse(const ModelSpec& model, std::string_view field, int value, std::string_view rule) {
  return Error{Errc::usage, fmt::format("model {}: {} {}; {}", model.name, field, value, rule)};
}

struct Field {
  std::string_view name;
  int value;
  int low;
  int high;
};

bool is_square(int value) {
  const int root = static_cast<int>(std::lround(std::sqrt(static_cast<double>(value))));
  return root * root == value;
}

Status check_vit5(const ModelSpec& model) {
  const std::array<Field, 4> fields{{{"image", model.image, 1, 4096},
                                     {"patch", model.patch, 1, 256},
                                     {"registers", model.registers, 0, 1024},
                                     {"classes", model.classes, 2, 1'000'000}}};
  for (const Field& field : fields) {
    if (field.value < field.low || field.value > field.high) {
      return refuse(model, field.name, field.value,
                    fmt::format("{} to {} are accepted", field.low, field.high));
    }
  }
  if (model.image % model.patch != 0) {
    return refuse(model, "image", model.image,
                  fmt::format("a multiple of the patch ({}) is accepted", model.patch));
  }
  if (!is_square(model.registers)) {
    return refuse(model, "registers", model.registers,
                  "a square number (0, 1, 4, 9, …) is accepted");
  }
  if (model.head_dim() % 4 != 0) {
    return refuse(model, "dim / heads", model.head_dim(),
                  "a multiple of 4 is accepted (two axes of pairs)");
  }
  return ok;
}

Status check_gpt(const ModelSpec& model) {
  if (model.vocabulary < 2 || model.vocabulary > 1'000'000) {
    return refuse(model, "vocabulary", model.vocabulary, "2 to 1000000 are accepted");
  }
  if (model.sequence < 1 || model.sequence > 65'536) {
    return refuse(model, "sequence", model.sequence, "1 to 65536 are accepted");
  }
  if (model.head_dim() % 2 != 0) {
    return refuse(model, "dim / heads", model.head_dim(), "an even number is accepted (pairs)");
  }
  return ok;
}

}  // namespace

const std::vector<ModelSpec>& model_presets() {
  static const std::vector<ModelSpec> presets{
      vit5("vit5-tiny", 192, 3), vit5("vit5-small", 384, 6), vit5("vit5-base", 768, 12),
      gpt("gpt-tiny", 128, 4, 4, 4096, 128), gpt("gpt-small", 768, 12, 12, 50'304, 1024)};
  return presets;
}

Result<ModelSpec> find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const ModelSpec& model : model_presets()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  return Error{Errc::usage,
               fmt::format("model '{}' is not known; {} are accepted", name, join(names))};
}

Status check_model(const ModelSpec& model) {
  const std::array<Field, 4> fields{{{"dim", model.dim, 1, 65'536},
                                     {"layers", model.layers, 1, 1024},
                                     {"heads", model.heads, 1, 1024},
                                     {"mlp_ratio", model.mlp_ratio, 1, 64}}};
  for (const Field& field : fields) {
    if (field.value < field.low || field.value > field.high) {
      return refuse(model, field.name, field.value,
                    fmt::format("{} to {} are accepted", field.low, field.high));
    }
  }
  if (model.dim % model.heads != 0) {
    return refuse(model, "dim", model.dim,
                  fmt::format("a multiple of the heads ({}) is accepted", model.heads));
  }
  if (model.drop_path < 0 || model.drop_path >= 1) {
    return Error{Errc::usage,
                 fmt::format("model {}: drop_path {}; at least 0 and below 1 is accepted",
                             model.name, model.drop_path)};
  }
  return model.family == Family::vit5 ? check_vit5(model) : check_gpt(model);
}

}  // namespace sluice::train
