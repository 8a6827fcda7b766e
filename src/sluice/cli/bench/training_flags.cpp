// sluice/cli/bench/training_flags.cpp - the flags of `sluice bench training`, and what they come
// to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/bench/training_flags.h"

#include "sluice/cli/command.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/cli/flags/world.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/loader/spec.h"
#include "sluice/train/world/local_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

namespace sluice::cli {
namespace {

constexpr int kMaxSteps = 1'000'000;
constexpr std::uint64_t kWeightSeed = 42;  // weights and generated numbers
constexpr int kLongestTrainingTurn = 10;   // steps in a row beside other rows

/// Values of a flag that takes several, none of them twice.
template <class Value>
Result<std::vector<Value>> parse_each(const char* flag, const std::string& text,
                                      Result<Value> (*parse)(std::string_view)) {
  std::vector<Value> values;
  for (const std::string& word : split(text, ',')) {
    const auto parsed = parse(word);
    if (!parsed) return usage_error(fmt::format("{}: {}", flag, parsed.error().message));
    if (std::find(values.begin(), values.end(), *parsed) != values.end())
      return usage_error(
          fmt::format("{} {}: '{}' is named twice", flag, printable(text), printable(word)));
    values.push_back(*parsed);
  }
  return values;
}

Status set_rungs(visit::TrainingPlan& plan, const std::string& text) {
  SLUICE_TRY(plan.rungs, parse_each("--compile", text, train::parse_rung));
  std::sort(plan.rungs.begin(), plan.rungs.end());
  if (plan.rungs.size() > 1 && plan.gpu_index < 0)
    return usage_error(fmt::format(
        "--compile {}: the CPU has only one form; several need --gpu cuda:N", printable(text)));
  return ok;
}

/// The whole model unless asked for, so that every library does the same work as it comes.
Status set_last_blocks(visit::TrainingPlan& plan, const train::ModelSpec& model,
                       const std::optional<std::string>& text) {
  if (!text) return ok;
  SLUICE_TRY(plan.last_blocks, parse_each("--last-block", *text, train::parse_last_block));
  std::sort(plan.last_blocks.begin(), plan.last_blocks.end());
  for (const train::LastBlock last_block : plan.last_blocks)
    SLUICE_CHECK(last_block_of(to_string(last_block), model));
  return ok;
}

/// The count from shapes is exact for a ViT, whose head sees one token of many; of a GPT 6ND is
/// what is quoted everywhere.
Status set_estimator(visit::TrainingPlan& plan, const std::optional<std::string>& text, bool gpt) {
  plan.estimator = gpt ? train::MfuEstimator::six_nd : train::MfuEstimator::shapes;
  if (!text) return ok;
  const auto parsed = train::parse_mfu_estimator(*text);
  if (!parsed) return usage_error("--mfu-estimator: " + parsed.error().message);
  plan.estimator = *parsed;
  return ok;
}

constexpr const char* kRankPeer = "torch-ddp";

/// Which libraries have several ranks. Those of a launcher are ours alone: MPI began them.
Status check_rank_libraries(const BenchTrainingFlags& flags, const train::LaunchedRank& launched) {
  for (const std::string& name : split(flags.libraries, ',')) {
    if (name == "sluice") continue;
    if (launched.size > 1)
      return usage_error(
          fmt::format("--libraries {}: the ranks that {} started are sluice's; --world-size {} "
                      "starts those of other libraries too",
                      printable(flags.libraries), to_string(launched.launcher), launched.size));
    if (name != kRankPeer)
      return usage_error(
          fmt::format("--libraries {}: with several ranks sluice and {} are "
                      "measured",
                      printable(flags.libraries), kRankPeer));
  }
  return ok;
}

/// Ranks of a launcher, or those that the flag asks for.
Status set_world(visit::TrainingPlan& plan, const BenchTrainingFlags& flags) {
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  SLUICE_TRY(const int places, places_of_ranks(flags.world_size, launched, plan.gpu_index));
  SLUICE_TRY(plan.world_size, world_size_of(flags.world_size, launched, places));
  plan.ranks_launched = launched.size > 1;
  plan.rank_timeout_s = flags.rank_timeout_s;
  plan.sync_alone = flags.sync_alone;
  if (flags.sync_alone && (plan.gpu_index < 0 || plan.world_size > 1))
    return usage_error("--sync-alone: is for one rank on a GPU");
  if (plan.world_size == 1) {
    const std::vector<std::string> names = split(flags.libraries, ',');
    if (std::find(names.begin(), names.end(), kRankPeer) == names.end()) return ok;
    return usage_error(
        fmt::format("--libraries {}: {} is for several ranks; give --world-size 2 "
                    "or more, or torch-eager",
                    printable(flags.libraries), kRankPeer));
  }
  SLUICE_CHECK(check_rank_libraries(flags, launched));
  if (launched.size > 1 && flags.repeat > 1)
    return usage_error(
        fmt::format("--repeat {}: the ranks that {} started can be used once; "
                    "--world-size {} starts new ones for every run",
                    flags.repeat, to_string(launched.launcher), launched.size));
  return ok;
}

/// Ranks of a launcher may be bound to cores of their own, or be on several machines.
Result<int> threads_of_each(int world_size) {
  SLUICE_TRY(const train::LaunchedRank launched, train::find_rank());
  if (launched.size > 1)
    return train::threads_of_rank(train::rank_cores(), train::local_ranks_of(launched));
  return std::max(1, static_cast<int>(usable_cores()) / world_size);
}

constexpr std::string_view kToMax = "..max";

/// `to_max`: the last is doubled until memory is full.
Result<std::vector<int>> parse_batches(const std::string& text, bool& to_max) {
  const std::size_t equals = text.find('=');
  if (text.substr(0, equals) != "batch-size" || equals == std::string::npos)
    return usage_error(
        fmt::format("--sweep {}: expected batch-size=64,256,512 or 64..max", printable(text)));
  std::vector<int> batches;
  std::string values = text.substr(equals + 1);
  to_max = values.size() > kToMax.size() &&
           values.compare(values.size() - kToMax.size(), kToMax.size(), kToMax) == 0;
  if (to_max) values.resize(values.size() - kToMax.size());
  for (const std::string& word : split(values, ',')) {
    int value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || stop != end || value < 1 || value > scenario::kMaxBatch)
      return usage_error(fmt::format("--sweep {}: '{}' is not a number from 1 to {}",
                                     printable(text), printable(word), scenario::kMaxBatch));
    if (std::find(batches.begin(), batches.end(), value) == batches.end()) batches.push_back(value);
  }
  if (batches.empty()) return usage_error(fmt::format("--sweep {}: no value", printable(text)));
  std::sort(batches.begin(), batches.end());
  return batches;
}

/// One set of loader flags for every input, as they were given.
Result<std::vector<LoaderFlags>> inputs_of(const BenchTrainingFlags& flags) {
  std::vector<LoaderFlags> all;
  const bool in_other_words = !flags.loader.input_dir.empty() || flags.loader.input_s3 ||
                              flags.loader.input_gcs || !flags.loader.bucket.empty() ||
                              !flags.loader.prefix.empty();
  const std::size_t count = flags.inputs.size() + flags.cold_inputs.size();
  if (in_other_words && count > 0)
    return usage_error(
        "--input: with several inputs every one is named by --input or --input-cold");
  if (count > 1 && flags.loader.bundling)
    return usage_error("--enable-bundling: is for one --input");
  if (count <= 1 && flags.cold_inputs.empty()) {  // every flag has its say
    all.push_back(flags.loader);
    if (!flags.inputs.empty()) all.back().input = flags.inputs.front();
    return all;
  }
  const auto is_bucket = [](const std::string& input) {
    return input.find("://") != std::string::npos;
  };
  // Where inputs are of both kinds, each takes the flags that are for its kind; otherwise all.
  const bool bucket = std::any_of(flags.inputs.begin(), flags.inputs.end(), is_bucket);
  const bool folder = !std::all_of(flags.inputs.begin(), flags.inputs.end(), is_bucket) ||
                      !flags.cold_inputs.empty();
  for (const std::string& input : flags.inputs) {
    all.push_back(bucket && folder ? flags_for_input(flags.loader, input) : flags.loader);
    all.back().input = input;
  }
  for (const std::string& input : flags.cold_inputs) {
    if (is_bucket(input))
      return usage_error(
          fmt::format("--input-cold {}: is a folder of this machine; give --input "
                      "for buckets, which no page cache holds",
                      printable(input)));
    all.push_back(bucket ? flags_for_input(flags.loader, input) : flags.loader);
    all.back().input = input;
    all.back().read_mode = "direct";
  }
  return all;
}

Result<visit::LoaderRequest> request_of(const visit::TrainingPlan& plan,
                                        const BenchTrainingFlags& flags,
                                        const LoaderFlags& loader) {
  SLUICE_TRY(visit::LoaderRequest request, loader_request(loader, usable_cores()));
  if (flags.mode == "synthetic")
    return usage_error(fmt::format(
        "--mode synthetic: reads nothing, but --input {} is given; use --mode e2e to train on it",
        printable(request.input)));
  SLUICE_CHECK(set_model(request, loader, plan.engine.model));
  if (request.sequence > 0 && plan.libraries != std::vector<std::string>{"sluice"})
    return usage_error(
        fmt::format("--libraries {}: only sluice reads tokens; without --input "
                    "others are measured beside it",
                    printable(flags.libraries)));
  request.batch_size = *std::max_element(plan.batches.begin(), plan.batches.end());
  return request;
}

Status set_data(visit::TrainingPlan& plan, const BenchTrainingFlags& flags) {
  plan.synthetic = flags.inputs.empty() && flags.cold_inputs.empty() && !names_input(flags.loader);
  if (plan.synthetic && flags.mode == "e2e")
    return usage_error("--mode e2e: needs --input DIR; --mode synthetic measures the step alone");
  if (plan.synthetic) return ok;
  SLUICE_TRY(const std::vector<LoaderFlags> inputs, inputs_of(flags));
  for (const LoaderFlags& loader : inputs) {
    SLUICE_TRY(visit::LoaderRequest request, request_of(plan, flags, loader));
    if (!plan.input)
      plan.input = std::move(request);
    else
      plan.others.push_back(std::move(request));
  }
  return ok;
}

/// One row takes all its steps in a row; several take turns.
void set_policy(visit::TrainingPlan& plan, const BenchTrainingFlags& flags,
                const Globals& globals) {
  const bool ladder = plan.has_ours() && plan.rungs.size() > 1;
  const bool alone = plan.libraries.size() * plan.regimes.size() * plan.last_blocks.size() == 1 &&
                     !ladder && plan.others.empty() && plan.world_size == 1;
  measure::Policy& policy = plan.policy;
  policy.runs = flags.repeat;
  policy.samples_per_run = plan.measure_steps;
  policy.samples_per_turn =
      alone ? plan.measure_steps : std::clamp(plan.measure_steps / 4, 2, kLongestTrainingTurn);
  policy.min_sample_ms = 0.001;  // a sample is one step
  policy.warmup_ms =
      alone ? 0 : 0.001;  // one step after a stop; the warm-up itself is the worker's
  policy.warmup_limit_ms = policy.warmup_ms;
  policy.slow_item_s = 0;
  policy.step_timeout_s = flags.timeout_s;
  policy.seed = globals.seed_given ? globals.seed : std::random_device{}();
  policy.data_seed = globals.seed;
}

}  // namespace

void add_bench_training_flags(CLI::App& command, BenchTrainingFlags& flags) {
  begin_group(command, "Measurement");
  command
      .add_option("--mode", flags.mode,
                  "what feeds the step: nothing (synthetic), or the loader of --input (e2e); "
                  "default: e2e with --input, else synthetic")
      ->check(CLI::IsMember({"synthetic", "e2e"}));
  add_number(command, "--warmup-steps,--warmup-batches", flags.warmup_steps, 0, kMaxSteps,
             "steps to run before timing starts");
  add_number(command, "--measure-steps,--max-batches", flags.measure_steps, 1, kMaxSteps,
             "steps to time");
  add_number(command, "--repeat", flags.repeat, 1, 1000,
             "runs in fresh processes; the one with the best median counts");
  add_value(command, "--mfu-estimator", flags.estimator, "{6ND,transformer_aware,shapes}",
            "how the FLOP of the model are counted for MFU; default: shapes for a ViT, 6ND for a "
            "GPT");
  command
      .add_option("--peak-tflops", flags.peak_tflops,
                  "peak TFLOP/s of the device, for MFU; default: from a table of devices")
      ->check(CLI::Range(0.001, 1e6));
  add_value(
      command, "--sweep", flags.sweep, "batch-size=N,N",
      "batch sizes to measure: batch-size=64,256,512, or 64..max up to the largest that fits");
  add_world_flags(command, flags.world_size, flags.rank_timeout_s,
                  "ranks that train together on this machine, beside one rank: by MPI on CPUs, by "
                  "NCCL on GPUs from --gpu on; -1: one for each core or GPU. Under mpirun, srun or "
                  "torchrun: its ranks");
  command.add_flag("--sync-alone", flags.sync_alone,
                   "also measure one rank on the GPU whose gradients pass through NCCL as those of "
                   "several do");
  add_choice(command, "--profile", flags.profile, {"off", "trace", "tb"},
             "also write traces, taken in a separate pass after the measured one: for Chrome's "
             "tracing page, Perfetto and TensorBoard (trace), or for TensorBoard alone (tb)");
  add_value(command, "--libraries", flags.libraries, "NAME,NAME", "engines to measure side by side")
      ->capture_default_str();
  command.add_flag("--print-memory", flags.print_memory,
                   "print every tensor with its place in memory and exit");
  command.add_flag("--resume", flags.resume, "continue the run in the folder that --out names");
  add_timeout_flag(command, flags.timeout_s);
  add_mix_flags(command, flags.mix);
  add_training_flags(command, flags.training);
  add_loader_flags(command, flags.loader, true, &flags.inputs);
  begin_group(command, "Input");
  add_value(command, "--input-cold", flags.cold_inputs, "DIR",
            "further local folder, read past the page cache as from a cold disk; repeated: a row "
            "each")
      ->allow_extra_args(false);
}

Result<visit::TrainingPlan> training_plan(const BenchTrainingFlags& flags, const Globals& globals) {
  visit::TrainingPlan plan;
  plan.resume = flags.resume;
  if (plan.resume && globals.out.empty())
    return usage_error("--resume: needs --out DIR, the folder of the run to continue");
  SLUICE_TRY(plan.gpu_index, parse_gpu(flags.loader.gpu));
  const std::string device = plan.gpu_index < 0 ? "cpu" : fmt::format("cuda:{}", plan.gpu_index);
  SLUICE_TRY(
      plan.regimes,
      parse_each("--dtype", flags.training.dtype.value_or(plan.gpu_index < 0 ? "fp32" : "bf16"),
                 train::parse_regime));
  SLUICE_CHECK(set_rungs(plan, flags.training.compile));
  SLUICE_TRY(const train::ModelSpec model, model_of(flags.training));
  const bool gpt = model.family == train::Family::gpt;
  SLUICE_CHECK(set_last_blocks(plan, model, flags.training.last_block));
  SLUICE_CHECK(set_estimator(plan, flags.estimator, gpt));
  plan.batches = {gpt && !flags.batch_given ? kGptBatch : flags.loader.batch_size};
  plan.swept = !flags.sweep.empty();
  if (plan.swept && flags.batch_given)
    return usage_error("--sweep and --batch-size: give only one; a sweep names its batch sizes");
  if (plan.swept) {
    SLUICE_TRY(plan.batches, parse_batches(flags.sweep, plan.sweep_to_max));
  }
  SLUICE_CHECK(set_world(plan, flags));
  TrainingFlags one = flags.training;
  one.dtype = to_string(plan.regimes.front());
  one.compile = to_string(plan.rungs.back());
  one.last_block = to_string(plan.last_blocks.front());
  if (one.threads == 0) {
    SLUICE_TRY(one.threads, threads_of_each(plan.world_size));
  }
  SLUICE_TRY(plan.engine, engine_config_of(one, device, plan.batches.front(),
                                           globals.seed_given ? globals.seed >> 1U : kWeightSeed));
  SLUICE_TRY(plan.libraries, parse_libraries(flags.libraries, "training", false));
  plan.profile = flags.profile;
  if (plan.profile != "off" && !plan.has_ours())
    return usage_error(fmt::format(
        "--profile {}: profiles our engine only, and --libraries {} does not name 'sluice'",
        plan.profile, printable(flags.libraries)));
  plan.warmup_steps = flags.warmup_steps;
  plan.measure_steps = flags.measure_steps;
  if (flags.loader.num_batches) {
    if (flags.steps_given)
      return usage_error(
          "--num-batches and --measure-steps: give only one; both mean the timed steps");
    plan.measure_steps = *flags.loader.num_batches;
  }
  plan.peak_tflops = flags.peak_tflops;
  plan.mix = flags.mix;
  plan.engine.soft_targets = plan.mix.on();
  for (const int batch : plan.batches)
    SLUICE_CHECK(scenario::check_mixing(plan.mix, model, batch));
  SLUICE_CHECK(set_data(plan, flags));
  set_policy(plan, flags, globals);
  return plan;
}

}  // namespace sluice::cli
