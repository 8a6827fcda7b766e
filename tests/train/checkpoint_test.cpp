// tests/train/checkpoint_test.cpp - what is saved comes back bit by bit and training goes on as if
// nothing had happened; what does not fit is refused by name and changes nothing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/checkpoint.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/rng.h"
#include "sluice/train/bf16.h"
#include "sluice/train/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <unistd.h>

namespace sluice::train::checkpoint_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

ModelSpec toy() {
  ModelSpec model;
  model.name = "toy";
  model.dim = 16;
  model.heads = 2;
  model.layers = 2;
  model.image = 8;
  model.patch = 4;
  model.classes = 5;
  return model;
}

EngineConfig config_of(const ModelSpec& model, std::uint64_t seed) {
  EngineConfig config;
  config.model = model;
  config.batch = 4;
  config.threads = 1;
  config.average = true;
  config.seed = seed;
  config.update.learning_rate = 1e-2;
  config.update.average_decay = 0.5;
  return config;
}

std::unique_ptr<Engine> engine_of(const EngineConfig& config) {
  auto engine = Engine::make(config);
  EXPECT_TRUE(engine) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

void train(Engine& engine, std::uint64_t steps) {
  const ModelSpec& model = engine.config().model;
  for (std::uint64_t i = 0; i < steps; ++i) {
    Rng rng({.seed = 5, .epoch = engine.steps()});
    std::vector<float> images(static_cast<std::size_t>(4 * 3 * model.image * model.image));
    for (float& value : images)
      value = static_cast<float>(rng.normal());
    const std::vector<std::int32_t> labels{0, 1, 2, 3};
    BatchView batch;
    batch.images = images;
    batch.labels = labels;
    ASSERT_TRUE(engine.micro_step(batch));
    ASSERT_TRUE(engine.update());
  }
}

/// Every tensor that a checkpoint is about.
std::map<std::string, std::vector<float>> state_of(const Engine& engine) {
  std::map<std::string, std::vector<float>> out;
  const Program& program = engine.program();
  for (const Parameter& parameter : program.parameters) {
    for (const TensorId id : {parameter.value, parameter.first_moment, parameter.second_moment,
                              parameter.average, parameter.compute}) {
      if (!id.exists()) continue;
      const std::string& name = program.plan.at(id).name;
      auto values = engine.read(name);
      EXPECT_TRUE(values) << name;
      if (values) out[name] = std::move(*values);
    }
  }
  return out;
}

class Checkpoint : public ::testing::Test {
 protected:
  Checkpoint()
      : folder_(std::filesystem::temp_directory_path() /
                ("sluice-checkpoint-" + std::to_string(::getpid()))),
        path_(folder_.path() / "model.safetensors") {
    std::filesystem::create_directories(folder_.path());
  }

  /// Loads what is at path_ into a new engine of `model`: the error, after a look that nothing
  /// changed.
  std::string refusal(const ModelSpec& model = toy()) {
    const auto engine = engine_of(config_of(model, 9));
    const auto before = state_of(*engine);
    const auto loaded = load_checkpoint(path_, *engine);
    EXPECT_EQ(state_of(*engine), before);
    EXPECT_EQ(engine->steps(), 0U);
    if (loaded) return "accepted";
    EXPECT_EQ(loaded.error().code, Errc::invalid_input);
    EXPECT_THAT(loaded.error().message, HasSubstr("model.safetensors: "));
    return loaded.error().message;
  }

  struct Tensor {
    std::vector<std::int64_t> shape;
    Dtype dtype = Dtype::f32;
    std::vector<float> values;
  };
  using Tensors = std::map<std::string, Tensor>;
  /// A file of the toy's weights alone, or whatever `change` makes of them.
  void write_weights(const std::function<void(Tensors&)>& change,
                     const SafetensorsMetadata& metadata = {}) {
    const auto engine = engine_of(config_of(toy(), 3));
    Tensors tensors;
    for (const Parameter& parameter : engine->program().parameters) {
      const auto& planned = engine->program().plan.at(parameter.value);
      tensors[parameter.name] = {planned.shape, Dtype::f32, *engine->read(planned.name)};
    }
    change(tensors);
    std::vector<SafetensorsTensor> layout;
    for (const auto& [name, tensor] : tensors)
      layout.push_back({name, tensor.dtype, tensor.shape});
    SafetensorsWriter writer(layout, metadata);
    for (const auto& [name, tensor] : tensors)
      writer.append(tensor.values);
    ASSERT_TRUE(writer.write(path_));
  }

  FolderGuard folder_;
  std::filesystem::path path_;
};

TEST_F(Checkpoint, comes_back_bit_by_bit_and_training_goes_on_the_same) {
  const auto first = engine_of(config_of(toy(), 1));
  train(*first, 3);
  ASSERT_TRUE(save_checkpoint(path_, *first, Json{{"epoch", 2}}));

  EngineConfig config = config_of(toy(), 1);
  const auto second = engine_of(config);
  const auto loaded = load_checkpoint(path_, *second);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->step, 3U);
  EXPECT_TRUE(loaded->has_optimizer);
  EXPECT_EQ(loaded->extra["epoch"], 2);
  EXPECT_EQ(second->steps(), 3U);
  EXPECT_EQ(state_of(*second), state_of(*first));
  train(*first, 2);
  train(*second, 2);
  EXPECT_EQ(state_of(*second), state_of(*first));
}

/// Where the CPU has no bf16 products these run as fp32 and hold all the same.
TEST_F(Checkpoint, copies_in_bf16_follow_the_weights) {
  EngineConfig config = config_of(toy(), 1);
  config.regime = Regime::mixed;
  const auto first = engine_of(config);
  train(*first, 2);
  ASSERT_TRUE(save_checkpoint(path_, *first, nullptr));
  config.seed = 8;
  const auto second = engine_of(config);
  ASSERT_NE(state_of(*second), state_of(*first));
  ASSERT_TRUE(load_checkpoint(path_, *second));
  EXPECT_EQ(state_of(*second), state_of(*first));
}

TEST_F(Checkpoint, bf16_weights_take_rounded_values) {
  const auto trained = engine_of(config_of(toy(), 1));
  train(*trained, 2);
  ASSERT_TRUE(save_checkpoint(path_, *trained, nullptr));
  EngineConfig config = config_of(toy(), 2);
  config.regime = Regime::bf16;
  config.optimizer = false;
  config.average = false;
  const auto engine = engine_of(config);
  ASSERT_TRUE(load_checkpoint(path_, *engine));
  const bool rounded = engine->info().regime == Regime::bf16;
  for (const Parameter& parameter : engine->program().parameters) {
    const std::string& name = engine->program().plan.at(parameter.value).name;
    std::vector<float> expected = *trained->read(name);
    for (float& value : expected)
      value = rounded ? to_float(to_bf16(value)) : value;
    EXPECT_EQ(*engine->read(name), expected) << name;
  }
}

TEST_F(Checkpoint, file_holds_what_the_page_says) {
  const auto engine = engine_of(config_of(toy(), 1));
  train(*engine, 1);
  ASSERT_TRUE(save_checkpoint(path_, *engine, Json::object()));
  const auto file = SafetensorsFile::read(path_);
  ASSERT_TRUE(file) << file.error().message;
  const auto& parameters = engine->program().parameters;
  EXPECT_EQ(file->entries().size(), 4 * parameters.size());
  for (const Parameter& parameter : parameters) {
    for (const char* prefix : {"", "optimizer.m.", "optimizer.v.", "ema."})
      EXPECT_NE(file->find(prefix + parameter.name), nullptr) << prefix << parameter.name;
  }
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->metadata().at("step"), "1");
  EXPECT_EQ(file->metadata().at("seed"), "1");
  EXPECT_THAT(file->metadata().at("model"), HasSubstr("\"name\":\"toy\""));
  EXPECT_THAT(file->metadata().at("optimizer"), HasSubstr("\"kind\":\"lamb\""));
}

TEST_F(Checkpoint, weights_alone_begin_a_new_training) {
  write_weights([](Tensors& tensors) {
    for (auto& [name, tensor] : tensors)
      tensor.dtype = Dtype::bf16;  // as half-size files of PyTorch are
  });
  const auto engine = engine_of(config_of(toy(), 1));
  train(*engine, 2);
  const auto loaded = load_checkpoint(path_, *engine);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->has_optimizer);
  EXPECT_EQ(engine->steps(), 0U);
  EXPECT_TRUE(loaded->extra.is_null());
  const auto file = SafetensorsFile::read(path_);
  for (const Parameter& parameter : engine->program().parameters) {
    const auto& plan = engine->program().plan;
    const auto values = *engine->read(plan.at(parameter.value).name);
    EXPECT_EQ(values, *file->floats(*file->find(parameter.name)));
    EXPECT_EQ(values, *engine->read(plan.at(parameter.average).name));
    EXPECT_THAT(*engine->read(plan.at(parameter.first_moment).name), Each(0.0F));
    EXPECT_THAT(*engine->read(plan.at(parameter.second_moment).name), Each(0.0F));
  }
}

TEST_F(Checkpoint, state_that_this_engine_does_not_keep_is_left_alone) {
  const auto trained = engine_of(config_of(toy(), 1));
  train(*trained, 1);
  ASSERT_TRUE(save_checkpoint(path_, *trained, nullptr));
  EngineConfig config = config_of(toy(), 2);
  config.optimizer = false;
  config.average = false;
  const auto engine = engine_of(config);
  const auto loaded = load_checkpoint(path_, *engine);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto state = state_of(*trained);
  for (const auto& [name, values] : state_of(*engine))
    EXPECT_EQ(values, state.at(name)) << name;
}

TEST_F(Checkpoint, another_model_is_refused_by_name) {
  const auto engine = engine_of(config_of(toy(), 1));
  ASSERT_TRUE(save_checkpoint(path_, *engine, nullptr));
  ModelSpec other = toy();
  other.name = "toy-wide";
  other.dim = 24;
  EXPECT_THAT(refusal(other),
              HasSubstr("is a checkpoint of model \"toy\"; toy-wide is accepted here"));
  other.name = "toy";
  EXPECT_THAT(refusal(other), HasSubstr("is a checkpoint of a toy with dim 16; 24 is accepted"));
  other = toy();
  other.readout = Readout::gap;  // the same shapes
  EXPECT_THAT(refusal(other), HasSubstr("with readout \"cls\"; \"gap\" is accepted"));
}

TEST_F(Checkpoint, missing_unknown_and_misshapen_tensors_are_named) {
  const auto name = engine_of(config_of(toy(), 1))->program().parameters.front().name;
  write_weights([&](Tensors& tensors) { tensors.erase(name); });
  EXPECT_THAT(refusal(), HasSubstr("tensor '" + name + "' is missing"));
  write_weights([](Tensors& tensors) { tensors["extra.bias"] = {{1}, Dtype::f32, {0}}; });
  EXPECT_THAT(refusal(), HasSubstr("tensor 'extra.bias' is not one of toy"));
  write_weights([&](Tensors& tensors) { tensors[name].shape.push_back(1); });
  EXPECT_THAT(refusal(), HasSubstr("tensor '" + name + "' has shape ["));
  write_weights([&](Tensors& tensors) { tensors["optimizer.m." + name] = tensors[name]; });
  EXPECT_THAT(refusal(), HasSubstr("tensor 'optimizer.m."));
  write_weights([](Tensors&) {}, {{"step", "3x"}});
  EXPECT_THAT(refusal(), HasSubstr("its step '3x' is no number"));
  write_weights([](Tensors&) {}, {{"model", "{"}});
  EXPECT_THAT(refusal(), HasSubstr("not valid JSON"));
}

TEST_F(Checkpoint, truncated_files_are_refused) {
  const auto engine = engine_of(config_of(toy(), 1));
  ASSERT_TRUE(save_checkpoint(path_, *engine, nullptr));
  const std::string whole = *read_text_file(path_);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    ASSERT_TRUE(write_file_atomic(path_, whole.substr(0, size)));
    EXPECT_NE(refusal(), "accepted") << size;
  }
}

TEST_F(Checkpoint, a_folder_that_is_not_there_is_an_error_of_the_save) {
  const auto engine = engine_of(config_of(toy(), 1));
  EXPECT_FALSE(save_checkpoint(folder_.path() / "absent" / "m.safetensors", *engine, nullptr));
}

}  // namespace
}  // namespace sluice::train::checkpoint_test
