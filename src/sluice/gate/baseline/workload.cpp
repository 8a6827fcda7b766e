// sluice/gate/baseline/workload.cpp - fields as text, whoever wrote the file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/workload.h"

#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

namespace sluice::gate {
namespace {

/// Of numbers and texts; one level of objects becomes fields of their own.
void put(Workload& to, const std::string& name, const Json& value) {
  if (value.is_string())
    to[name] = value.get<std::string>();
  else if (value.is_number() || value.is_boolean())
    to[name] = value.dump();
  else if (value.is_object())
    for (const auto& [key, inner] : value.items())
      if (!inner.is_structured()) put(to, name + "." + key, inner);
}

void put(Workload& to, const std::string& name, const std::string& text) {
  if (!text.empty()) to[name] = text;
}

constexpr const char* kTrainingKeys[] = {"world_size", "seq_len",    "optimizer",  "compile",
                                         "recipe",     "input",      "loader",     "storage",
                                         "framework",  "step_clock", "model_shape"};
constexpr const char *kMixup = "mixup", *kCutmix = "cutmix", *kErasing = "random_erasing";
constexpr const char* kOff = "0.0";
constexpr const char* kEvalKeys[] = {"fixed_shard_sha256", "max_length", "stride", "max_new_tokens",
                                     "temperature"};

/// What is done to images beyond the recipe. Ours used to write mixing only where it was on, and
/// erasing never: what they leave out is 0. Of other programs it is not known.
void put_mixing(Workload& to, const Json& config) {
  const bool ours = at(config, "model_shape").is_object();
  for (const char* key : {kMixup, kCutmix, kErasing}) {
    const Json& value = at(config, key);
    if (value.is_number())
      to[key] = Json(value.get<double>()).dump();
    else if (ours)
      to[key] = kOff;
  }
}

/// A watched program: its file name and the words behind it, as they were given. Where it lies is
/// of the machine.
std::string program_words(const Json& program) {
  std::vector<std::string> words;
  if (!program.is_array()) return {};
  for (const Json& word : program)
    if (word.is_string()) words.push_back(word.get<std::string>());
  if (words.empty()) return {};
  words.front() = words.front().substr(words.front().rfind('/') + 1);
  return join(words, " ");
}

}  // namespace

Workload workload_of(const results::TrainingMetrics& metrics) {
  const results::TrainingMetrics::Config& config = metrics.config;
  Workload work;
  put(work, "mode", config.mode);
  put(work, "model", config.model);
  put(work, "dtype", config.dtype);
  const std::string device = config.device.substr(0, config.device.find(':'));
  put(work, "device", device);
  if (config.per_device_batch_size)
    work["per_device_batch_size"] = std::to_string(*config.per_device_batch_size);
  if (config.grad_accum_steps) work["grad_accum_steps"] = std::to_string(*config.grad_accum_steps);
  if (config.checkpoint_activations)
    work["checkpoint_activations"] = *config.checkpoint_activations ? "true" : "false";
  for (const char* key : kTrainingKeys)
    put(work, key, at(config.other, key));
  put_mixing(work, config.other);
  if (config.mode == "watch") put(work, "program", program_words(at(config.other, "program")));
  if (device == "cpu") put(work, "threads", at(config.other, "threads"));
  return work;
}

Workload workload_of(const Json& eval) {
  Workload work;
  const Json& config = at(eval, "eval_config");
  for (const char* key : kEvalKeys)
    put(work, std::string("eval.") + key, at(config, key));
  for (const char* key : {"tokenizer_sha256", "training_steps", "training_sha256"})
    put(work, std::string("eval.") + key, at(at(eval, "model"), key));
  if (const Json& probes = at(eval, "probes"); probes.is_object())
    for (const auto& [name, probe] : probes.items())
      put(work, "eval.probes." + name, at(probe, "sha256"));
  return work;
}

Workload workload_of(const RunFiles& files) {
  Workload work = files.metrics ? workload_of(*files.metrics) : Workload{};
  if (files.eval) work.merge(workload_of(*files.eval));
  return work;
}

std::vector<std::string> differences(const Workload& baseline, const Workload& run) {
  std::vector<std::string> found;
  for (const auto& [name, stored] : baseline) {
    const auto now = run.find(name);
    if (now != run.end() && now->second != stored)
      found.push_back(fmt::format("{} (baseline '{}', run '{}')", printable(name),
                                  printable(stored), printable(now->second)));
  }
  return found;
}

std::string workload_digest(const RunFiles& files) {
  Workload work = files.metrics ? workload_of(*files.metrics) : Workload{};
  // Digests of what is off are stored already, from before it was told.
  const auto off = [&](const char* key) {
    const auto found = work.find(key);
    return found == work.end() || found->second == kOff;
  };
  if (off(kMixup) && off(kCutmix)) {  // one of them on: both were told
    work.erase(kMixup);
    work.erase(kCutmix);
  }
  if (off(kErasing)) work.erase(kErasing);
  std::string lines;
  for (const auto& [name, value] : work)
    lines += fmt::format("{}={}\n", name, value);
  return sha256_hex(lines).substr(0, 8);
}

}  // namespace sluice::gate
