// sluice/loader/episodes/make_episode.cpp - one generated episode, and its features.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/make_episode.h"

#include "sluice/core/rng.h"
#include "sluice/storage/format/crc32c.h"
#include "sluice/storage/format/example_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

namespace sluice::loader::episodes {
namespace {

enum Stage : std::uint32_t { kLength, kAction, kState, kWords };

/// What belongs to a data set depends on its name, not on its place in the table.
std::uint64_t key_of(const DatasetSpec& spec) {
  return storage::crc32c(std::as_bytes(std::span(spec.folder)));
}

Rng rng_of(const DatasetSpec& spec, std::uint64_t seed, std::uint64_t index, Stage stage) {
  return Rng(RngKey{.seed = seed, .epoch = key_of(spec), .index = index, .stage = stage});
}

std::uint64_t scene_index(const DatasetSpec& spec, std::uint64_t index) {
  return key_of(spec) << 32U | (index & 0xffffffffU);
}

std::string sentence(Rng& rng) {
  constexpr std::array kVerbs = {"pick up", "push", "place", "open", "turn", "slide"};
  constexpr std::array kColours = {"red", "green", "blue", "yellow", "wooden"};
  constexpr std::array kThings = {"block", "cup", "drawer", "spoon", "cloth", "cable", "bowl"};
  const auto one_of = [&](const auto& words) { return words[rng.below(words.size())]; };
  const char* verb = one_of(kVerbs);
  const char* colour = one_of(kColours);
  return fmt::format("{} the {} {}", verb, colour, one_of(kThings));
}

/// A walk: each step's numbers lie near those of the step before, within [-1, 1].
std::vector<float> walk(Rng rng, int steps, int size) {
  constexpr std::int64_t kOne = 65536;
  std::vector<std::int64_t> at(static_cast<std::size_t>(size));
  std::vector<float> values;
  for (int t = 0; t < steps; ++t)
    for (std::int64_t& value : at) {
      value += static_cast<std::int64_t>(rng.below(8193)) - 4096;
      value = std::clamp(value, -kOne, kOne);
      values.push_back(static_cast<float>(value) / static_cast<float>(kOne));
    }
  return values;
}

Json feature(const char* module, const char* name, const char* key, Json content) {
  return {{"pythonClassName", fmt::format("tensorflow_datasets.core.features.{}.{}", module, name)},
          {key, std::move(content)}};
}

Json tensor(const char* dtype, const std::vector<int>& shape) {
  Json dimensions = Json::object();
  for (const int size : shape)
    dimensions["dimensions"].push_back(std::to_string(size));
  return feature("tensor_feature", "Tensor", "tensor",
                 {{"dtype", dtype}, {"encoding", "none"}, {"shape", dimensions}});
}

Json text() {
  return feature("text_feature", "Text", "text", Json::object());
}

Json dictionary(Json features) {
  return feature("features_dict", "FeaturesDict", "featuresDict",
                 {{"features", std::move(features)}});
}

constexpr std::string_view kStepsFolder = "steps/";
constexpr std::string_view kObservation = "steps/observation/";

std::string name_below(std::string_view feature, std::string_view folder) {
  return std::string(feature.substr(folder.size()));
}

bool is_coded(const DatasetSpec& spec) {  // language as numbers of characters
  return spec.language == "steps/observation/instruction";
}

}  // namespace

int made_steps(const DatasetSpec& spec, std::uint64_t seed, std::uint64_t index) {
  const int spread = spec.episode_steps / 5;
  Rng rng = rng_of(spec, seed, index, kLength);
  return spec.episode_steps - spread +
         static_cast<int>(rng.below(static_cast<std::uint64_t>(2 * spread + 1)));
}

Result<std::uint64_t> made_frame_bytes(Scene& scene, const DatasetSpec& spec, std::uint64_t seed,
                                       std::uint64_t index) {
  SLUICE_CHECK(scene.open(seed, scene_index(spec, index), spec.width, spec.height));
  SLUICE_TRY(const auto frame, scene.frame(0, spec.codec));
  return frame.size();
}

Result<std::string> make_episode(Scene& scene, const DatasetSpec& spec, std::uint64_t seed,
                                 std::uint64_t index) {
  const int steps = made_steps(spec, seed, index);
  const auto count = static_cast<std::size_t>(steps);
  SLUICE_CHECK(scene.open(seed, scene_index(spec, index), spec.width, spec.height));
  std::vector<std::string> frames;
  for (int t = 0; t < steps; ++t) {
    SLUICE_TRY(const auto frame, scene.frame(t, spec.codec));
    frames.emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
  }
  Rng words = rng_of(spec, seed, index, kWords);
  const std::string said = sentence(words);
  const std::string robot = fmt::format("{} robot", spec.name);
  const std::string file = fmt::format("generated/{}/{}", spec.folder, index);

  // In the order of their names, as TFDS has them.
  std::map<std::string, std::function<void(storage::ExampleWriter&, const std::string&)>> features;
  const auto strings = [&](std::string name, std::vector<std::string_view> values) {
    features[std::move(name)] = [values = std::move(values)](auto& writer, const auto& key) {
      writer.add_bytes(key, values);
    };
  };
  const auto floats = [&](std::string name, std::vector<float> values) {
    features[std::move(name)] = [values = std::move(values)](auto& writer, const auto& key) {
      writer.add_floats(key, values);
    };
  };
  const auto ints = [&](std::string name, std::vector<std::int64_t> values) {
    features[std::move(name)] = [values = std::move(values)](auto& writer, const auto& key) {
      writer.add_ints(key, values);
    };
  };
  strings("episode_metadata/file_path", {file});
  strings("episode_metadata/robot", {robot});
  strings(spec.image, {frames.begin(), frames.end()});
  if (spec.action_size > 0)
    floats(spec.action, walk(rng_of(spec, seed, index, kAction), steps, spec.action_size));
  if (spec.state_size > 0)
    floats(spec.state, walk(rng_of(spec, seed, index, kState), steps, spec.state_size));
  if (is_coded(spec)) {
    std::vector<std::int64_t> coded(count * kInstructionSize);
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t i = 0; i < said.size(); ++i)
        coded[t * kInstructionSize + i] = static_cast<unsigned char>(said[i]);
    ints(spec.language, std::move(coded));
  } else {
    strings(spec.language, std::vector<std::string_view>(count, said));
  }
  std::vector<std::int64_t> first(count), last(count);
  std::vector<float> reward(count);
  first.front() = last.back() = 1;
  reward.back() = 1;
  ints("steps/is_first", first);
  ints("steps/is_last", last);
  ints("steps/is_terminal", last);
  floats("steps/reward", reward);
  floats("steps/discount", std::vector<float>(count, 1.0F));
  storage::ExampleWriter writer;
  for (const auto& [name, write] : features)
    write(writer, name);
  return writer.take();
}

Json made_features(const DatasetSpec& spec) {
  Json shape = {{"dimensions", {std::to_string(spec.height), std::to_string(spec.width), "3"}}};
  Json picture = {{"dtype", "uint8"}};
  if (spec.codec != Codec::unstated)
    picture["encodingFormat"] = spec.codec == Codec::jpeg ? "jpeg" : "png";
  picture["shape"] = std::move(shape);
  Json observation = Json::object();
  observation[name_below(spec.image, kObservation)] =
      feature("image_feature", "Image", "image", std::move(picture));
  if (spec.state_size > 0)
    observation[name_below(spec.state, kObservation)] = tensor("float32", {spec.state_size});
  Json steps = Json::object();
  const Json language = is_coded(spec) ? tensor("int32", {kInstructionSize}) : text();
  if (spec.language.starts_with(kObservation))
    observation[name_below(spec.language, kObservation)] = language;
  else
    steps[name_below(spec.language, kStepsFolder)] = language;
  steps["observation"] = dictionary(std::move(observation));
  if (spec.action_size > 0) {
    const Json action = tensor("float32", {spec.action_size});
    steps["action"] = spec.action == "steps/action"
                          ? action
                          : dictionary(Json{{name_below(spec.action, "steps/action/"), action}});
  }
  for (const char* flag : {"is_first", "is_last", "is_terminal"})
    steps[flag] = feature("scalar", "Scalar", "tensor",
                          {{"dtype", "bool"}, {"encoding", "none"}, {"shape", Json::object()}});
  for (const char* number : {"reward", "discount"})
    steps[number] =
        feature("scalar", "Scalar", "tensor",
                {{"dtype", "float32"}, {"encoding", "none"}, {"shape", Json::object()}});
  Json top = Json::object();
  top["episode_metadata"] = dictionary({{"file_path", text()}, {"robot", text()}});
  top["steps"] = feature("dataset_feature", "Dataset", "sequence",
                         {{"feature", dictionary(std::move(steps))}, {"length", "-1"}});
  return dictionary(std::move(top));
}

}  // namespace sluice::loader::episodes
