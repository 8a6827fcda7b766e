// sluice/scenario/training/spec.cpp - the spec of a training row, read and written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/training/spec.h"

#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/measure/worker/reply.h"

#include <fmt/format.h>

#include <limits>

namespace sluice::scenario {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000;
constexpr std::int64_t kMaxRanks = 1024;    // of one machine
constexpr std::int64_t kMaxSize = 1 << 20;  // of one dimension of a model
constexpr std::uint32_t kImageStage = 1, kLabelStage = 2;
constexpr double kPixelRange = 1.7320508;  // uniform in ± this has variance 1

using measure::Reply;

/// A whole number that fits an int.
Status whole(int& value, const Reply& fields, const char* key, std::int64_t low,
             std::int64_t high) {
  SLUICE_TRY(const auto read, fields.integer(key, low, high, value));
  value = static_cast<int>(read);
  return ok;
}

Result<TrainingData> parse_data(const std::string& text) {
  for (const TrainingData data :
       {TrainingData::resident, TrainingData::generated, TrainingData::loader})
    if (text == to_string(data)) return data;
  return Error{Errc::usage, fmt::format("spec: data is {}; expected resident, generated or loader",
                                        printable(text))};
}

Status read_update(train::OptimizerConfig& update, const Json& json) {
  const Json none = Json::object();
  const Reply fields("update", json.is_object() ? json : none);
  SLUICE_TRY(update.learning_rate, fields.number("learning_rate", update.learning_rate));
  SLUICE_TRY(update.weight_decay, fields.number("weight_decay", update.weight_decay));
  SLUICE_TRY(update.max_gradient_norm,
             fields.number("max_gradient_norm", update.max_gradient_norm));
  return ok;
}

}  // namespace

const char* to_string(TrainingData data) {
  switch (data) {
    case TrainingData::resident:
      return "resident";
    case TrainingData::generated:
      return "generated";
    case TrainingData::loader:
      break;
  }
  return "loader";
}

Result<train::ModelSpec> read_model(const Json& json) {
  if (!json.is_object()) return Error{Errc::usage, "spec: model is missing"};
  const Reply fields("model", json);
  train::ModelSpec model;
  SLUICE_TRY(model.name, fields.text("name", ""));
  SLUICE_TRY(const std::string family, fields.text("family", "vit5"));
  if (family != "vit5" && family != "gpt") return fields.wrong("family", "vit5 or gpt");
  model.family = family == "vit5" ? train::Family::vit5 : train::Family::gpt;
  SLUICE_TRY(const std::string readout, fields.text("readout", "cls"));
  const auto parsed = train::parse_readout(readout);
  if (!parsed) return fields.wrong("readout", "cls or gap");
  model.readout = *parsed;
  SLUICE_CHECK(whole(model.dim, fields, "dim", 1, kMaxSize));
  SLUICE_CHECK(whole(model.layers, fields, "layers", 1, kMaxSize));
  SLUICE_CHECK(whole(model.heads, fields, "heads", 1, kMaxSize));
  SLUICE_CHECK(whole(model.mlp_ratio, fields, "mlp_ratio", 1, kMaxSize));
  SLUICE_TRY(const double epsilon, fields.number("norm_epsilon", model.norm_epsilon));
  model.norm_epsilon = static_cast<float>(epsilon);
  SLUICE_TRY(const double drop_path, fields.number("drop_path", model.drop_path));
  model.drop_path = static_cast<float>(drop_path);
  SLUICE_CHECK(whole(model.image, fields, "image", 0, kMaxSize));
  SLUICE_CHECK(whole(model.patch, fields, "patch", 0, kMaxSize));
  SLUICE_CHECK(whole(model.registers, fields, "registers", 0, kMaxSize));
  SLUICE_CHECK(whole(model.classes, fields, "classes", 0, kMaxSize));
  SLUICE_CHECK(whole(model.vocabulary, fields, "vocabulary", 0, kMaxSize));
  SLUICE_CHECK(whole(model.sequence, fields, "sequence", 0, kMaxSize));
  SLUICE_TRY(model.tied_head, fields.boolean("tied_head", true));
  SLUICE_CHECK(train::check_model(model));
  return model;
}

Json to_json(const TrainingSpec& spec) {
  const train::EngineConfig& engine = spec.engine;
  Json json{
      {"mode", "training"},
      {"model", train::to_json(engine.model)},
      {"batch", engine.batch},
      {"grad_accum", engine.grad_accum},
      {"dtype", to_string(engine.regime)},
      {"optimizer", engine.optimizer ? to_string(engine.update.kind) : "none"},
      {"update", Json{{"learning_rate", engine.update.learning_rate},
                      {"weight_decay", engine.update.weight_decay},
                      {"max_gradient_norm", engine.update.max_gradient_norm}}},
      {"average", engine.average},
      {"label_smoothing", engine.label_smoothing},
      {"seed", engine.seed},
      {"device", engine.device},
      {"compile", to_string(engine.rung)},
      {"last_block", to_string(engine.last_block.value_or(shortest_last_block(engine.model)))},
      {"checkpointing", engine.checkpointing},
      {"data", to_string(spec.data)},
      {"warmup_steps", spec.warmup_steps},
      {"phase_steps", spec.phase_steps}};
  if (spec.world_size > 1) {
    json["world_size"] = spec.world_size;
    json["rank_timeout_s"] = spec.rank_timeout_s;
  }
  if (spec.sync_alone) json["sync_alone"] = true;
  if (spec.mix.on()) {
    json["mixup"] = spec.mix.mixup;
    json["cutmix"] = spec.mix.cutmix;
  }
  if (!spec.loader.is_null()) json["loader"] = spec.loader;
  return json;
}

Result<TrainingSpec> read_training_spec(const measure::SubjectContext& context) {
  if (!context.spec.is_object())
    return Error{Errc::usage, "spec: is missing; a training case names its model and batch there"};
  const Reply fields("spec", context.spec);
  TrainingSpec spec;
  train::EngineConfig& engine = spec.engine;
  SLUICE_TRY(engine.model, read_model(fields.field("model")));
  SLUICE_CHECK(whole(engine.batch, fields, "batch", 1, kMaxBatch));
  SLUICE_CHECK(whole(engine.grad_accum, fields, "grad_accum", 1, kMaxBatch));
  SLUICE_TRY(const std::string dtype, fields.text("dtype", to_string(engine.regime)));
  SLUICE_TRY(engine.regime, train::parse_regime(dtype));
  SLUICE_TRY(const std::string optimizer, fields.text("optimizer", "lamb"));
  engine.optimizer = optimizer != "none";
  if (engine.optimizer) {
    SLUICE_TRY(engine.update.kind, train::parse_optimizer(optimizer));
  }
  SLUICE_CHECK(read_update(engine.update, fields.field("update")));
  SLUICE_TRY(engine.average, fields.boolean("average", false));
  SLUICE_TRY(const double smoothing, fields.number("label_smoothing", 0));
  engine.label_smoothing = static_cast<float>(smoothing);
  SLUICE_TRY(const auto seed, fields.integer("seed", 0, std::numeric_limits<std::int64_t>::max(),
                                             static_cast<std::int64_t>(engine.seed)));
  engine.seed = static_cast<std::uint64_t>(seed);
  SLUICE_TRY(engine.device, fields.text("device", "cpu"));
  SLUICE_TRY(const std::string rung, fields.text("compile", to_string(engine.rung)));
  SLUICE_TRY(engine.rung, train::parse_rung(rung));
  SLUICE_TRY(const std::string last_block,
             fields.text("last_block", to_string(shortest_last_block(engine.model))));
  const auto block = train::parse_last_block(last_block);
  if (!block) return fields.wrong("last_block", "full or class-token");
  SLUICE_CHECK(train::check_last_block(engine.model, *block));
  engine.last_block = *block;
  SLUICE_TRY(engine.checkpointing, fields.boolean("checkpointing", false));
  engine.threads = context.threads;
  SLUICE_TRY(const std::string data, fields.text("data", to_string(spec.data)));
  SLUICE_TRY(spec.data, parse_data(data));
  SLUICE_TRY(spec.mix.mixup, fields.number("mixup", 0));
  SLUICE_TRY(spec.mix.cutmix, fields.number("cutmix", 0));
  SLUICE_CHECK(check_mixing(spec.mix, engine.model, engine.batch));
  engine.soft_targets = spec.mix.on();
  SLUICE_CHECK(whole(spec.warmup_steps, fields, "warmup_steps", 0, kMaxSteps));
  SLUICE_CHECK(whole(spec.phase_steps, fields, "phase_steps", 0, kMaxSteps));
  SLUICE_CHECK(whole(spec.world_size, fields, "world_size", 1, kMaxRanks));
  SLUICE_TRY(spec.rank_timeout_s, fields.number("rank_timeout_s", spec.rank_timeout_s));
  SLUICE_TRY(spec.sync_alone, fields.boolean("sync_alone", false));
  spec.loader = fields.field("loader");
  if (spec.data == TrainingData::loader && !spec.loader.is_object())
    return fields.wrong("loader", "an object, since data is loader");
  return spec;
}

train::BatchView GeneratedBatch::view() const {
  train::BatchView view;
  view.images = images;
  view.ids = ids;
  view.labels = labels;
  return view;
}

GeneratedBatch generate_batch(const train::ModelSpec& model, int batch, std::uint64_t seed,
                              int rank) {
  GeneratedBatch made;
  const auto index = static_cast<std::uint64_t>(rank);
  Rng values(RngKey{seed, 0, index, 0, kImageStage});
  Rng labels(RngKey{seed, 0, index, 0, kLabelStage});
  const auto samples = static_cast<std::size_t>(batch);
  const auto outputs = static_cast<std::uint64_t>(model.outputs());
  if (model.family == train::Family::vit5) {
    const auto side = static_cast<std::size_t>(model.image);
    made.images.resize(samples * 3 * side * side);
    constexpr double kStep = 2 * kPixelRange / 4294967296.0;
    for (float& value : made.images)
      value = static_cast<float>(static_cast<double>(values.next_u32()) * kStep - kPixelRange);
  } else {
    made.ids.resize(samples * static_cast<std::size_t>(model.sequence));
    for (std::int32_t& id : made.ids)
      id = static_cast<std::int32_t>(values.below(outputs));
  }
  made.labels.resize(samples * static_cast<std::size_t>(model.predictions()));
  for (std::int32_t& label : made.labels)
    label = static_cast<std::int32_t>(labels.below(outputs));
  return made;
}

}  // namespace sluice::scenario
