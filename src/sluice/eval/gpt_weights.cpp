// sluice/eval/gpt_weights.cpp - weights out of engines and checkpoints, and into engines.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/gpt_weights.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/train/checkpoint.h"
#include "sluice/train/safetensors.h"

#include <fmt/format.h>

#include <span>

namespace sluice::eval {
namespace {

constexpr int kContextUnlessStored = 2048;

Error refuse(const std::filesystem::path& path, const std::string& why) {
  return Error{Errc::invalid_input, fmt::format("{}: {}", printable(path.string()), why)};
}

Result<int> size_of(const std::filesystem::path& path, const Json& model, const char* field) {
  const auto found = model.find(field);
  if (found == model.end() || !found->is_number_integer() || found->get<std::int64_t>() < 1 ||
      found->get<std::int64_t>() > 1'000'000)
    return refuse(path, fmt::format("its model has no {} of 1 to 1000000", field));
  return found->get<int>();
}

/// From the metadata that our checkpoints carry.
Result<train::ModelSpec> spec_of(const std::filesystem::path& path,
                                 const train::SafetensorsFile& file) {
  const auto found = file.metadata().find("model");
  if (found == file.metadata().end())
    return refuse(path, "has no description of its model; a checkpoint of ours is accepted");
  SLUICE_TRY(const Json model, parse_json(found->second, path.string() + ": model"));
  if (!model.is_object() || model.value("family", Json()) != "gpt")
    return refuse(path, "is no GPT; only a language model can be evaluated");
  train::ModelSpec spec;
  spec.family = train::Family::gpt;
  spec.name = model.value("name", Json("gpt")).is_string() ? model.value("name", "gpt") : "gpt";
  SLUICE_TRY(spec.dim, size_of(path, model, "dim"));
  SLUICE_TRY(spec.layers, size_of(path, model, "layers"));
  SLUICE_TRY(spec.heads, size_of(path, model, "heads"));
  SLUICE_TRY(spec.mlp_ratio, size_of(path, model, "mlp_ratio"));
  SLUICE_TRY(spec.vocabulary, size_of(path, model, "vocabulary"));
  const Json epsilon = model.value("norm_epsilon", Json(spec.norm_epsilon));
  const Json tied = model.value("tied_head", Json(true));
  if (!epsilon.is_number() || !(epsilon.get<double>() > 0) || !tied.is_boolean())
    return refuse(path, "its model has a norm_epsilon or tied_head that is none");
  spec.norm_epsilon = epsilon.get<float>();
  spec.tied_head = tied.get<bool>();
  return spec;
}

int context_of(const Json& extra) {
  if (!extra.is_object() || !extra.contains("context")) return kContextUnlessStored;
  const Json& context = extra["context"];
  if (!context.is_number_integer()) return kContextUnlessStored;
  const auto tokens = context.get<std::int64_t>();
  return tokens >= 64 && tokens <= 65'536 ? static_cast<int>(tokens) : kContextUnlessStored;
}

/// An engine that only holds the weights.
train::EngineConfig smallest(const train::ModelSpec& model) {
  train::EngineConfig config;
  config.model = model;
  config.model.sequence = 1;
  config.batch = 1;
  config.threads = 1;
  config.optimizer = false;
  return config;
}

}  // namespace

std::string GptWeights::digest() const {
  Sha256 hash;
  for (const Tensor& tensor : tensors) {
    hash.update(tensor.name);
    hash.update(std::as_bytes(std::span(tensor.values)));
  }
  return hash.hex();
}

Result<GptWeights> weights_of(const train::Engine& engine) {
  GptWeights out{engine.config().model, {}};
  for (const train::Parameter& parameter : engine.program().parameters) {
    SLUICE_TRY(std::vector<float> values, engine.read(parameter.name));
    out.tensors.push_back({parameter.name, std::move(values)});
  }
  return out;
}

Status put_weights(const GptWeights& weights, train::Engine& engine) {
  for (const GptWeights::Tensor& tensor : weights.tensors)
    SLUICE_CHECK(engine.write(tensor.name, tensor.values));
  return ok;
}

Result<GptWeights> read_weights(const std::filesystem::path& path, int vocabulary) {
  SLUICE_TRY(const train::SafetensorsFile file, train::SafetensorsFile::read(path));
  SLUICE_TRY(const train::ModelSpec spec, spec_of(path, file));
  if (spec.vocabulary != vocabulary) {
    return refuse(path, fmt::format("its vocabulary has {} tokens; {} is accepted, those of the "
                                    "built-in tokenizer",
                                    spec.vocabulary, vocabulary));
  }
  if (const auto sound = train::check_model(smallest(spec).model); !sound)
    return refuse(path, sound.error().message);
  SLUICE_TRY(const auto engine, train::Engine::make(smallest(spec)));
  SLUICE_TRY(const train::LoadedCheckpoint loaded, train::load_checkpoint(path, *engine));
  SLUICE_TRY(GptWeights weights, weights_of(*engine));
  weights.spec.sequence = context_of(loaded.extra);
  return weights;
}

Status write_weights(const std::filesystem::path& path, const GptWeights& weights) {
  SLUICE_TRY(const auto engine, train::Engine::make(smallest(weights.spec)));
  SLUICE_CHECK(put_weights(weights, *engine));
  return train::save_checkpoint(path, *engine, {{"context", weights.spec.sequence}});
}

}  // namespace sluice::eval
