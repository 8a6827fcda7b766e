// sluice/train/engine_plan.cpp - what an engine would run, and every reason why it would not.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/free_memory.h"
#include "sluice/core/text.h"
#include "sluice/train/cpu/backend.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace sluice::train {
namespace {

bool on_cpu(const EngineConfig& config) {
  return config.device == "cpu";
}

/// Its module has forms of attention that leave what they prepared, and of products that end in
/// GELU; a device that is not there is refused elsewhere.
bool is_hopper(const EngineConfig& config) {
  if (on_cpu(config)) return false;
  const auto index = cuda::device_index(config.device);
  const auto facts = index ? cuda::device_facts(*index) : Result<cuda::DeviceFacts>(index.error());
  return facts && facts->major == 9 && facts->minor == 0;
}

ProgramOptions options_of(const EngineConfig& config, Regime regime, int batch) {
  ProgramOptions options;
  options.batch = batch;
  options.regime = regime;
  options.moments = config.optimizer;
  options.average = config.average;
  options.checkpointing = config.checkpointing;
  options.soft_targets = config.soft_targets;
  options.input_gradient = config.input_gradient;
  options.fused = on_cpu(config) ? config.fused_on_cpu : config.rung != Rung::off;
  const bool hopper_forms = options.fused && is_hopper(config);
  options.prepared_heads = hopper_forms;
  options.gelu_in_products = hopper_forms && regime != Regime::fp32;
  options.packed_turns = options.fused && !on_cpu(config);
  options.last_block = config.last_block.value_or(shortest_last_block(config.model));
  return options;
}

/// What in force is of a regime: bf16 without instructions runs as fp32.
Regime regime_of(const EngineConfig& config) {
  const bool falls_back = on_cpu(config) && config.regime != Regime::fp32 && !cpu::has_bf16();
  return falls_back ? Regime::fp32 : config.regime;
}

/// The plan grows with the batch: the largest one below `beyond` whose plan is within `free`, 0 if
/// none is.
Result<int> largest_below(int beyond, const EngineConfig& config, std::int64_t free) {
  const Regime regime = regime_of(config);
  int low = 0;
  int high = beyond;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    SLUICE_TRY(const Program program,
               build_program(config.model, options_of(config, regime, middle)));
    (static_cast<std::int64_t>(program.plan.bytes()) <= free ? low : high) = middle;
  }
  return low;
}

/// Of a GPU, beside the plan and the module's workspaces: kernels that are loaded when they are
/// first launched, graphs, lists.
constexpr std::int64_t kBesideThePlan = std::int64_t{256} << 20;

/// Bytes free where the plan will lie, at least 1; 0: not known.
Result<std::int64_t> free_bytes(const EngineConfig& config) {
  if (on_cpu(config)) return free_memory_bytes();
  SLUICE_TRY(const int index, cuda::device_index(config.device));
  SLUICE_TRY(const cuda::DeviceFacts facts, cuda::device_facts(index));
  SLUICE_TRY(const cuda::Table* table, cuda::library());
  const auto own = static_cast<std::int64_t>(table->own_bytes(nullptr));
  return std::max<std::int64_t>(static_cast<std::int64_t>(facts.free_bytes) - own - kBesideThePlan,
                                1);
}

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// Bytes of the plan of `config`; nothing where it cannot be planned.
std::optional<std::int64_t> planned_bytes(const EngineConfig& config) {
  const auto program =
      build_program(config.model, options_of(config, regime_of(config), config.batch));
  return program ? std::optional(static_cast<std::int64_t>(program->plan.bytes())) : std::nullopt;
}

/// The fewest micro-steps of equal size, each at most `fits` samples.
int micro_steps(int batch, int fits) {
  int steps = (batch + fits - 1) / fits;
  while (batch % steps != 0)
    ++steps;
  return steps;
}

/// What else would need less memory, each with how much: "; less is needed with ...".
std::string ways_to_fit(const EngineConfig& config, std::int64_t bytes, std::int64_t free,
                        int fits) {
  std::vector<std::string> ways;
  const auto add = [&](const std::string& what, const EngineConfig& changed) {
    const auto needs = planned_bytes(changed);
    if (!needs || *needs >= bytes) return;
    ways.push_back(fmt::format("{} {:.1f} GiB{}", what, static_cast<double>(*needs) / kGib,
                               *needs <= free ? "" : " (still too much)"));
  };
  EngineConfig checkpointing = config;
  checkpointing.checkpointing = true;
  if (!config.checkpointing) add("--checkpoint-activations", checkpointing);
  EngineConfig mixed = config;
  mixed.regime = Regime::mixed;
  if (config.regime == Regime::fp32 && regime_of(mixed) != Regime::fp32) add("--dtype bf16", mixed);
  if (fits > 0) {
    const int steps = micro_steps(config.batch, fits);
    EngineConfig accumulated = config;
    accumulated.batch = config.batch / steps;
    add(fmt::format("--batch-size {} --grad-accum {}", accumulated.batch,
                    config.grad_accum * steps),
        accumulated);
  }
  return ways.empty() ? "" : "; less is needed with " + join(ways);
}

Status check_fits(const EngineConfig& config, const Program& program) {
  SLUICE_TRY(const std::int64_t free, free_bytes(config));
  const auto bytes = static_cast<std::int64_t>(program.plan.bytes());
  if (free == 0 || bytes <= free) return ok;
  SLUICE_TRY(const int fits, largest_below(config.batch, config, free));
  return Error{
      Errc::usage,
      fmt::format(
          "batch {} of {} needs {:.1f} GiB and {:.1f} GiB are free; {}{}", config.batch,
          config.model.name, static_cast<double>(bytes) / kGib, static_cast<double>(free) / kGib,
          fits > 0 ? fmt::format("a batch of up to {} fits", fits) : "not even a batch of 1 fits",
          ways_to_fit(config, bytes, free, fits))};
}

Status check_config(const EngineConfig& config) {
  if (!on_cpu(config)) {
    SLUICE_TRY(const int index, cuda::device_index(config.device));
    SLUICE_CHECK(cuda::device_facts(index));
  }
  if (config.grad_accum < 1) {
    return Error{Errc::usage, fmt::format("gradient accumulation {}; at least 1 is accepted",
                                          config.grad_accum)};
  }
  if (config.threads < 0 || config.threads > 1024) {
    return Error{Errc::usage,
                 fmt::format("threads {}; 0 (every core) to 1024 are accepted", config.threads)};
  }
  if (!(config.label_smoothing >= 0 && config.label_smoothing < 1)) {
    return Error{Errc::usage, fmt::format("label smoothing {}; at least 0 and below 1 is accepted",
                                          config.label_smoothing)};
  }
  if (config.regime == Regime::bf16 && config.optimizer) {
    return Error{
        Errc::usage,
        "bf16-weights runs forward and backward only: no optimizer keeps its sums in bf16; bf16 is "
        "accepted with one"};
  }
  return check_optimizer(config.update);
}

}  // namespace

const char* to_string(Rung rung) {
  constexpr std::array<const char*, 3> kNames{"off", "fused", "graph"};
  return kNames[static_cast<std::size_t>(rung)];
}

Result<Rung> parse_rung(std::string_view text) {
  for (const Rung rung : {Rung::off, Rung::fused, Rung::graph}) {
    if (text == to_string(rung)) return rung;
  }
  return Error{Errc::usage, fmt::format("--compile '{}': off, fused and graph are accepted", text)};
}

Result<Program> plan_engine(const EngineConfig& config) {
  SLUICE_CHECK(check_config(config));
  SLUICE_TRY(Program program,
             build_program(config.model, options_of(config, regime_of(config), config.batch)));
  SLUICE_CHECK(check_fits(config, program));
  return program;
}

Result<int> largest_batch(const EngineConfig& config, int at_most, std::int64_t spare_bytes) {
  SLUICE_CHECK(check_config(config));
  SLUICE_TRY(const std::int64_t free, free_bytes(config));
  if (free == 0) return at_most;
  return largest_below(at_most + 1, config, free - spare_bytes);
}

}  // namespace sluice::train
