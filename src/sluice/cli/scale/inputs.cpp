// sluice/cli/scale/inputs.cpp - flags and result files to a step, its gradients and a cluster.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/scale/inputs.h"

#include "sluice/cli/flags/storage.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"
#include "sluice/results/result_file.h"
#include "sluice/scenario/training/spec.h"
#include "sluice/train/cuda/bucket_bytes.h"
#include "sluice/train/engine.h"
#include "sluice/train/world/ready_shares.h"
#include "sluice/train/world/reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::cli {
namespace {

constexpr int kMostRanks = 1 << 20;

Result<std::vector<int>> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& word : split(text, ',')) {
    int value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || stop != end || value < 1 || value > kMostRanks)
      return usage_error(fmt::format("--ranks {}: '{}' is not a number from 1 to {}",
                                     printable(text), printable(word), kMostRanks));
    ranks.push_back(value);
  }
  if (ranks.empty()) return usage_error("--ranks: no value; 8,64,512 are such");
  return ranks;
}

Result<double> parse_latency(const std::string& text, const char* flag) {
  const auto seconds = config::parse_seconds(text);
  if (!seconds) return usage_error(fmt::format("{}: {}", flag, seconds.error().message));
  return *seconds;
}

/// The one file of a run whose kind is wanted.
Result<results::ResultFile> read_run(const std::string& flag, const std::string& input,
                                     bool (*wanted)(const results::ResultFile&),
                                     const char* command) {
  SLUICE_TRY(const auto paths, results::find(input));
  for (const auto& path : paths) {
    SLUICE_TRY(results::ResultFile file, results::read(path));
    if (wanted(file)) return file;
  }
  return Error{Errc::invalid_input,
               fmt::format("{} {}: holds no result of `{}`", flag, printable(input), command)};
}

/// A step of one rank and its phases, seconds by name.
struct OneRank {
  double step_s = 0;
  std::map<std::string, double> phases;
  std::string dtype;
  int batch = 0, grad_accum = 1;
};

Result<OneRank> one_rank(const results::ResultFile& file, const std::string& input) {
  OneRank one;
  if (const Json& accum = at(file.run_config, "grad_accum"); accum.is_number_integer())
    one.grad_accum = std::max(1, accum.get<int>());
  if (file.training_summary)
    for (const results::TrainingSweepLine& line : file.training_summary->sweep) {
      if (!line.samples_per_s.value || line.world_size.value_or(1) != 1 || line.phases_ms.empty())
        continue;
      one.step_s = line.step_ms * 1e-3;
      for (const auto& [name, ms] : line.phases_ms)
        one.phases[name] = ms * 1e-3;
      one.dtype = line.dtype;
      one.batch = static_cast<int>(line.batch);
      return one;
    }
  const auto& metrics = file.training;
  const bool alone = metrics && at(metrics->config.other, "world_size").is_number_integer() &&
                     at(metrics->config.other, "world_size") == 1;
  if (!alone || !metrics->phases.value || !metrics->timing.p50.value)
    return Error{
        Errc::invalid_input,
        fmt::format("--result {}: has no step of one rank with its phases", printable(input))};
  one.step_s = *metrics->timing.p50.value;
  for (const auto& [name, seconds] : metrics->phases.value->per_step)
    one.phases[name] = seconds;
  one.dtype = metrics->config.dtype;
  one.batch = static_cast<int>(metrics->config.per_device_batch_size.value_or(0));
  return one;
}

/// Buckets of the engine that trains it, as the reducer has them.
Result<std::vector<analysis::GradientPiece>> pieces_of(const train::ModelSpec& model, int batch,
                                                       train::Regime regime, std::size_t bucket) {
  train::EngineConfig config;
  config.model = model;
  config.batch = batch;
  config.regime = regime;
  config.device = "cpu";  // only planned: the lists of operations are alike
  SLUICE_TRY(const train::Program program, train::plan_engine(config));
  const std::vector<train::Bucket> buckets = train::gradient_buckets(program, bucket);
  const std::vector<double> shares = train::ready_shares(program, buckets);
  std::vector<analysis::GradientPiece> pieces;
  for (std::size_t i = 0; i < buckets.size(); ++i)
    pieces.push_back({static_cast<double>(buckets[i].elements * sizeof(float)), shares[i]});
  return pieces;
}

/// As the flag says, or as the engine of that device has it.
Result<std::size_t> bucket_of(const ScaleFlags& flags, const std::string& device) {
  if (flags.bucket.empty())
    return device == "cpu" ? train::GradientReducer::kBucketBytes : train::cuda::kBucketBytes;
  SLUICE_TRY(const std::uint64_t bytes, parse_bytes(flags.bucket, "--bucket"));
  return static_cast<std::size_t>(bytes);
}

Status set_measured(ScaleInputs& inputs, const ScaleFlags& flags) {
  SLUICE_TRY(const auto file,
             read_run(
                 "--result", flags.result,
                 [](const results::ResultFile& one) { return one.training_summary.has_value(); },
                 "bench training"));
  SLUICE_TRY(const OneRank one, one_rank(file, flags.result));
  SLUICE_TRY(const train::ModelSpec model, scenario::read_model(at(file.run_config, "model")));
  inputs.measured = true;
  inputs.model = model.name;
  const Json& device = at(file.run_config, "device");
  inputs.device = device.is_string() ? device.get<std::string>() : "cpu";
  const auto phase = [&](const char* name) {
    const auto found = one.phases.find(name);
    return found != one.phases.end() ? found->second : 0.0;
  };
  inputs.batch = one.batch * one.grad_accum;
  inputs.forward_s = phase("forward");
  inputs.step.step_s = one.step_s;
  inputs.step.backward_s = phase("backward") / one.grad_accum;  // of the last micro-step
  if (!(inputs.step.backward_s > 0))
    return Error{Errc::invalid_input, fmt::format("--result {}: the time of backward is missing",
                                                  printable(flags.result))};
  SLUICE_TRY(const std::size_t bucket, bucket_of(flags, inputs.device));
  SLUICE_TRY(inputs.step.pieces, pieces_of(model, one.batch, train::Regime::fp32, bucket));
  return ok;
}

Status set_given(ScaleInputs& inputs, const ScaleFlags& flags) {
  if (flags.batch_size < 1 || !(flags.step_ms > 0))
    return usage_error(
        fmt::format("--model {}: give --batch-size N and --step-ms T, a step of one rank; or "
                    "--result RUN, which has both",
                    printable(flags.model)));
  SLUICE_TRY(const train::ModelSpec model, train::find_model(flags.model));
  constexpr double kBackward = 2.0 / 3;  // of the FLOP of forward and backward
  inputs.model = model.name;
  inputs.device = "cuda";
  inputs.batch = flags.batch_size;
  inputs.step.step_s = flags.step_ms * 1e-3;
  inputs.step.backward_s = kBackward * inputs.step.step_s;
  inputs.forward_s = inputs.step.step_s - inputs.step.backward_s;
  SLUICE_TRY(const std::size_t bucket, bucket_of(flags, inputs.device));
  SLUICE_TRY(inputs.step.pieces,
             pieces_of(model, 1, train::Regime::fp32, bucket));  // sizes are of the weights
  return ok;
}

Status set_links(ScaleInputs& inputs, const ScaleFlags& flags) {
  analysis::Cluster& cluster = inputs.cluster;
  if (flags.link.empty() == flags.allreduce.empty())
    return usage_error(
        "--link: give it, such as 400Gb/s, or --allreduce RUN, a run of `bench allreduce`");
  if (!flags.link.empty()) {
    SLUICE_TRY(cluster.between.bytes_per_s, parse_bandwidth(flags.link, "--link"));
    SLUICE_TRY(cluster.between.latency_s, parse_latency(flags.latency, "--latency"));
  } else {
    SLUICE_TRY(const auto file,
               read_run(
                   "--allreduce", flags.allreduce,
                   [](const results::ResultFile& one) { return one.allreduce.has_value(); },
                   "bench allreduce"));
    double low = inputs.step.pieces.front().bytes;
    double high = low;
    for (const analysis::GradientPiece& piece : inputs.step.pieces) {
      low = std::min(low, piece.bytes);
      high = std::max(high, piece.bytes);
    }
    inputs.fitted = analysis::fitted_link(*file.allreduce, low / 2, high * 2);
    if (!inputs.fitted)
      return Error{Errc::invalid_input,
                   fmt::format("--allreduce {}: two sizes are needed, the larger one slower",
                               printable(flags.allreduce))};
    cluster.between = inputs.fitted->link;
  }
  cluster.per_node = flags.per_node;
  if (flags.per_node > 1 && flags.node_link.empty())
    return usage_error(
        fmt::format("--per-node {}: needs --node-link, such as 450GB/s, the link "
                    "of a rank within its node",
                    flags.per_node));
  if (flags.per_node == 1 && !flags.node_link.empty())
    return usage_error(fmt::format("--node-link {}: needs --per-node N, the ranks of a node",
                                   printable(flags.node_link)));
  if (flags.per_node > 1) {
    SLUICE_TRY(cluster.within.bytes_per_s, parse_bandwidth(flags.node_link, "--node-link"));
    SLUICE_TRY(cluster.within.latency_s, parse_latency(flags.node_latency, "--node-latency"));
  }
  for (const int ranks : inputs.ranks)
    if (ranks > flags.per_node && ranks % flags.per_node != 0)
      return usage_error(
          fmt::format("--ranks {}: is no multiple of --per-node {}", ranks, flags.per_node));
  return ok;
}

}  // namespace

Result<double> parse_bandwidth(const std::string& text, const std::string& flag) {
  const auto wrong = [&] {
    return usage_error(
        fmt::format("{} {}: expected a bandwidth such as 400Gb/s (bits) or 50GB/s (bytes)", flag,
                    printable(text)));
  };
  if (!text.ends_with("b/s") && !text.ends_with("B/s")) return wrong();
  const double unit = text.ends_with("b/s") ? 0.125 : 1;
  std::string number = text.substr(0, text.size() - 3);
  double scale = 1;
  constexpr std::string_view kScales = "kMGT";
  if (const auto at = number.empty() ? std::string_view::npos : kScales.find(number.back());
      at != std::string_view::npos) {
    for (std::size_t i = 0; i <= at; ++i)
      scale *= 1e3;
    number.pop_back();
  }
  const auto value = config::parse_number(trimmed(number));
  if (!value || !(*value > 0)) return wrong();
  return *value * scale * unit;
}

Result<ScaleInputs> scale_inputs(const ScaleFlags& flags) {
  ScaleInputs inputs;
  SLUICE_TRY(inputs.ranks, parse_ranks(flags.ranks));
  if (flags.result.empty() == flags.model.empty())
    return usage_error(
        "--result: give it, a run of `bench training`, or --model NAME with "
        "--batch-size N and --step-ms T");
  SLUICE_CHECK(flags.result.empty() ? set_given(inputs, flags) : set_measured(inputs, flags));
  inputs.step.samples = inputs.batch;
  inputs.step.contention = flags.contention.value_or(inputs.device == "cpu" ? 1 : 0);
  SLUICE_CHECK(set_links(inputs, flags));
  return inputs;
}

}  // namespace sluice::cli
