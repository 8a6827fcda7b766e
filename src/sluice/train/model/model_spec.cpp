// sluice/train/model/model_spec.cpp - the presets, and what the engine can do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/model_spec.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
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

Status check_ranges(const ModelSpec& model, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value < field.low || field.value > field.high) {
      return refuse(model, field.name, field.value,
                    fmt::format("{} to {} are accepted", field.low, field.high));
    }
  }
  return ok;
}

Status check_vit5(const ModelSpec& model) {
  SLUICE_CHECK(check_ranges(model, {{"image", model.image, 1, 4096},
                                    {"patch", model.patch, 1, 256},
                                    {"registers", model.registers, 0, 1024},
                                    {"classes", model.classes, 2, 1'000'000}}));
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
  SLUICE_CHECK(check_ranges(model, {{"vocabulary", model.vocabulary, 2, 1'000'000},
                                    {"sequence", model.sequence, 1, 65'536}}));
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
  SLUICE_CHECK(check_ranges(model, {{"dim", model.dim, 1, 65'536},
                                    {"layers", model.layers, 1, 1024},
                                    {"heads", model.heads, 1, 1024},
                                    {"mlp_ratio", model.mlp_ratio, 1, 64}}));
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

const char* to_string(Readout readout) {
  return readout == Readout::cls ? "cls" : "gap";
}

Result<Readout> parse_readout(std::string_view text) {
  for (const Readout readout : {Readout::cls, Readout::gap})
    if (text == to_string(readout)) return readout;
  return Error{Errc::usage,
               fmt::format("readout '{}' is not known; cls and gap are accepted", printable(text))};
}

const char* to_string(LastBlock last_block) {
  return last_block == LastBlock::full ? "full" : "class-token";
}

Result<LastBlock> parse_last_block(std::string_view text) {
  for (const LastBlock last_block : {LastBlock::full, LastBlock::class_token})
    if (text == to_string(last_block)) return last_block;
  return Error{Errc::usage, fmt::format("'{}' is not known; full and class-token are accepted",
                                        printable(text))};
}

LastBlock shortest_last_block(const ModelSpec& model) {
  const bool reads_one = model.family == Family::vit5 && model.readout == Readout::cls;
  return reads_one ? LastBlock::class_token : LastBlock::full;
}

Status check_last_block(const ModelSpec& model, LastBlock last_block) {
  if (last_block == LastBlock::full || shortest_last_block(model) == last_block) return ok;
  return Error{Errc::usage, fmt::format("last-block class-token: {} reads {} out, so every token "
                                        "of its last block counts; full is accepted",
                                        model.name,
                                        model.family == Family::gpt
                                            ? "every token"
                                            : "the mean over its patches (readout gap)")};
}

Json to_json(const ModelSpec& model) {
  return Json{{"name", model.name},
              {"family", model.family == Family::vit5 ? "vit5" : "gpt"},
              {"dim", model.dim},
              {"layers", model.layers},
              {"heads", model.heads},
              {"mlp_ratio", model.mlp_ratio},
              {"norm_epsilon", model.norm_epsilon},
              {"drop_path", model.drop_path},
              {"image", model.image},
              {"patch", model.patch},
              {"registers", model.registers},
              {"classes", model.classes},
              {"readout", to_string(model.readout)},
              {"vocabulary", model.vocabulary},
              {"sequence", model.sequence},
              {"tied_head", model.tied_head}};
}

}  // namespace sluice::train
