// sluice/train/checkpoint.cpp - an engine's state to safetensors and back; all is checked before
// anything is changed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/checkpoint.h"

#include "sluice/core/text.h"
#include "sluice/train/bf16.h"
#include "sluice/train/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace sluice::train {
namespace {

constexpr std::string_view kFirstMoment = "optimizer.m.";
constexpr std::string_view kSecondMoment = "optimizer.v.";
constexpr std::string_view kAverage = "ema.";

/// What must agree for weights to mean the same; DropPath and a GPT's sequence may change.
Json model_json(const ModelSpec& model) {
  Json out = to_json(model);
  const bool vit5 = model.family == Family::vit5;
  for (const char* field : {"drop_path", "sequence"})
    out.erase(field);
  for (const char* field : {"image", "patch", "registers", "classes", "readout"})
    if (!vit5) out.erase(field);
  for (const char* field : {"vocabulary", "tied_head"})
    if (vit5) out.erase(field);
  return out;
}

Json optimizer_json(const OptimizerConfig& config) {
  return {{"kind", to_string(config.kind)},
          {"learning_rate", config.learning_rate},
          {"weight_decay", config.weight_decay},
          {"beta1", config.beta1},
          {"beta2", config.beta2},
          {"epsilon", config.epsilon},
          {"max_gradient_norm", config.max_gradient_norm},
          {"warmup_steps", config.warmup_steps},
          {"total_steps", config.total_steps},
          {"average_decay", config.average_decay}};
}

Error refuse(const SafetensorsFile& file, const std::string& what) {
  return Error{Errc::invalid_input, fmt::format("{}: {}", printable(file.name()), what)};
}

/// A tensor of the plan and its name in the file.
struct Place {
  std::string file_name;
  TensorId id;
};

/// The copies of the parameters that `kind` names; none where the program has none.
std::vector<Place> places_of(const Program& program, TensorId Parameter::*kind,
                             std::string_view prefix) {
  std::vector<Place> out;
  for (const Parameter& parameter : program.parameters) {
    if ((parameter.*kind).exists())
      out.push_back({std::string(prefix) + parameter.name, parameter.*kind});
  }
  return out;
}

std::vector<Place> all_places(const Program& program) {
  std::vector<Place> out = places_of(program, &Parameter::value, "");
  for (auto&& more : {places_of(program, &Parameter::first_moment, kFirstMoment),
                      places_of(program, &Parameter::second_moment, kSecondMoment),
                      places_of(program, &Parameter::average, kAverage)})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

bool has_prefix(const SafetensorsFile& file, std::string_view prefix) {
  return std::any_of(file.entries().begin(), file.entries().end(), [&](const auto& entry) {
    return std::string_view(entry.name).substr(0, prefix.size()) == prefix;
  });
}

Result<Json> metadata_json(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return Json(nullptr);
  return parse_json(found->second, fmt::format("{}: {}", file.name(), key));
}

Status check_model_of(const SafetensorsFile& file, const ModelSpec& model) {
  SLUICE_TRY(const Json theirs, metadata_json(file, "model"));
  if (theirs.is_null()) return ok;  // weights alone, as PyTorch writes them
  if (!theirs.is_object()) return refuse(file, "its model is no JSON object");
  const Json wanted = model_json(model);
  for (const auto& [field, value] : wanted.items()) {
    if (!theirs.contains(field) || theirs[field] == value) continue;
    const std::string shown = printable(dump_json(theirs[field], -1));
    if (field == "name")
      return refuse(
          file, fmt::format("is a checkpoint of model {}; {} is accepted here", shown, model.name));
    return refuse(file, fmt::format("is a checkpoint of a {} with {} {}; {} is accepted here",
                                    model.name, field, shown, dump_json(value, -1)));
  }
  return ok;
}

/// Every tensor of `places` is there, of the planned shape and of a type that can be read.
Status check_tensors(const SafetensorsFile& file, const std::vector<Place>& places,
                     const MemoryPlan& plan) {
  for (const Place& place : places) {
    const SafetensorsEntry* entry = file.find(place.file_name);
    if (entry == nullptr)
      return refuse(file, fmt::format("tensor '{}' is missing", place.file_name));
    const Tensor& planned = plan.at(place.id);
    if (entry->shape != planned.shape) {
      return refuse(file,
                    fmt::format("tensor '{}' has shape [{}]; [{}] is accepted", place.file_name,
                                fmt::join(entry->shape, ", "), fmt::join(planned.shape, ", ")));
    }
    if (entry->dtype != "F32" && entry->dtype != "BF16") {
      return refuse(file, fmt::format("tensor '{}' is {}; F32 and BF16 are accepted",
                                      place.file_name, entry->dtype));
    }
  }
  return ok;
}

/// No tensor that the model does not have. State of an optimizer or average that this engine does
/// not keep is known, and left alone.
Status check_no_other(const SafetensorsFile& file, const Program& program) {
  std::set<std::string_view> known;
  for (const Parameter& parameter : program.parameters)
    known.insert(parameter.name);
  for (const SafetensorsEntry& entry : file.entries()) {
    std::string_view name = entry.name;
    for (const std::string_view prefix : {kFirstMoment, kSecondMoment, kAverage}) {
      if (name.substr(0, prefix.size()) != prefix) continue;
      name.remove_prefix(prefix.size());
      break;
    }
    if (known.count(name) == 0) {
      return refuse(file, fmt::format("tensor '{}' is not one of {}", printable(entry.name),
                                      program.model.name));
    }
  }
  return ok;
}

Result<std::uint64_t> step_of(const SafetensorsFile& file) {
  const auto found = file.metadata().find("step");
  if (found == file.metadata().end()) return std::uint64_t{0};
  const std::string& text = found->second;
  std::uint64_t step = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (code != std::errc() || end != text.data() + text.size())
    return refuse(file, fmt::format("its step '{}' is no number", printable(text)));
  return step;
}

Status copy_in(const SafetensorsFile& file, const std::vector<Place>& places, Engine& engine) {
  const MemoryPlan& plan = engine.program().plan;
  const bool rounded = engine.program().options.regime == Regime::bf16;
  for (const Place& place : places) {
    SLUICE_TRY(std::vector<float> values, file.floats(*file.find(place.file_name)));
    if (rounded) {
      for (float& value : values)
        value = to_float(to_bf16(value));
    }
    SLUICE_CHECK(engine.write(plan.at(place.id).name, values));
  }
  return ok;
}

/// As a new engine has them: moments 0, the average equal to the weights.
Status reset_moments(Engine& engine) {
  const Program& program = engine.program();
  for (const Parameter& parameter : program.parameters) {
    for (const TensorId id : {parameter.first_moment, parameter.second_moment}) {
      if (!id.exists()) continue;
      const Tensor& tensor = program.plan.at(id);
      const std::vector<float> zeros(static_cast<std::size_t>(tensor.elements()), 0.0F);
      SLUICE_CHECK(engine.write(tensor.name, zeros));
    }
  }
  return ok;
}

Status average_from_weights(const SafetensorsFile& file, Engine& engine) {
  std::vector<Place> places;
  for (const Parameter& parameter : engine.program().parameters) {
    if (parameter.average.exists()) places.push_back({parameter.name, parameter.average});
  }
  return copy_in(file, places, engine);
}

}  // namespace

Status save_checkpoint(const std::filesystem::path& path, const Engine& engine, const Json& extra) {
  const Program& program = engine.program();
  const std::vector<Place> places = all_places(program);
  std::vector<SafetensorsTensor> layout;
  layout.reserve(places.size());
  for (const Place& place : places)
    layout.push_back({place.file_name, Dtype::f32, program.plan.at(place.id).shape});
  SafetensorsMetadata metadata{{"format", "pt"},  // what PyTorch's own tools look for
                               {"model", dump_json(model_json(program.model), -1)},
                               {"step", std::to_string(engine.steps())},
                               {"seed", std::to_string(engine.config().seed)},
                               {"extra", dump_json(extra, -1)}};
  if (engine.config().optimizer)
    metadata["optimizer"] = dump_json(optimizer_json(engine.config().update), -1);
  SafetensorsWriter writer(layout, metadata);
  for (const Place& place : places) {
    SLUICE_TRY(const std::vector<float> values, engine.read(program.plan.at(place.id).name));
    writer.append(values);
  }
  return writer.write(path);
}

Result<LoadedCheckpoint> load_checkpoint(const std::filesystem::path& path, Engine& engine) {
  SLUICE_TRY(const SafetensorsFile file, SafetensorsFile::read(path));
  const Program& program = engine.program();
  SLUICE_CHECK(check_model_of(file, program.model));
  SLUICE_CHECK(check_no_other(file, program));
  std::vector<Place> places = places_of(program, &Parameter::value, "");
  LoadedCheckpoint loaded;
  loaded.has_optimizer = has_prefix(file, kFirstMoment) || has_prefix(file, kSecondMoment);
  const bool has_average = has_prefix(file, kAverage);
  const auto add = [&](TensorId Parameter::*kind, std::string_view prefix) {
    const auto more = places_of(program, kind, prefix);
    places.insert(places.end(), more.begin(), more.end());
  };
  if (loaded.has_optimizer) {
    add(&Parameter::first_moment, kFirstMoment);
    add(&Parameter::second_moment, kSecondMoment);
  }
  if (has_average) add(&Parameter::average, kAverage);
  SLUICE_CHECK(check_tensors(file, places, program.plan));
  SLUICE_TRY(loaded.step, step_of(file));
  SLUICE_TRY(loaded.extra, metadata_json(file, "extra"));

  SLUICE_CHECK(copy_in(file, places, engine));
  if (!loaded.has_optimizer) SLUICE_CHECK(reset_moments(engine));
  if (!has_average) SLUICE_CHECK(average_from_weights(file, engine));
  engine.set_steps(loaded.step);
  return loaded;
}

}  // namespace sluice::train
