// sluice/train/engine.cpp - steps: batches in, phases in order, updates; the backend does the work.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"

#include "sluice/core/free_memory.h"
#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/train/backend.h"
#include "sluice/train/bf16.h"
#include "sluice/train/cpu/backend.h"
#include "sluice/train/first_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice::train {
namespace {

ProgramOptions options_of(const EngineConfig& config, Regime regime, int batch) {
  ProgramOptions options;
  options.batch = batch;
  options.regime = regime;
  options.moments = config.optimizer;
  options.average = config.average;
  options.checkpointing = config.checkpointing;
  options.soft_targets = config.soft_targets;
  options.input_gradient = config.input_gradient;
  return options;
}

/// The plan grows with the batch: the largest one whose plan is within `free`, 0 if none is.
Result<int> largest_batch(const EngineConfig& config, Regime regime, std::int64_t free) {
  int low = 0;
  int high = config.batch;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    SLUICE_TRY(const Program program,
               build_program(config.model, options_of(config, regime, middle)));
    (static_cast<std::int64_t>(program.plan.bytes()) <= free ? low : high) = middle;
  }
  return low;
}

Status check_fits(const EngineConfig& config, const Program& program) {
  const std::int64_t free = free_memory_bytes();
  const auto bytes = static_cast<std::int64_t>(program.plan.bytes());
  if (free == 0 || bytes <= free) return ok;
  SLUICE_TRY(const int fits, largest_batch(config, program.options.regime, free));
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return Error{
      Errc::usage,
      fmt::format(
          "batch {} of {} needs {:.1f} GiB and {:.1f} GiB are free; {}", config.batch,
          config.model.name, static_cast<double>(bytes) / kGib, static_cast<double>(free) / kGib,
          fits > 0 ? fmt::format("a batch of up to {} fits", fits) : "not even a batch of 1 fits")};
}

Status check_config(const EngineConfig& config) {
  if (config.device != "cpu" && config.device.rfind("cuda:", 0) == 0) {
    return Error{
        Errc::usage,
        fmt::format("device {}: this build has no CUDA engine; cpu is accepted", config.device)};
  }
  if (config.device != "cpu") {
    return Error{Errc::usage, fmt::format("device '{}' is not known; cpu and cuda:N are accepted",
                                          config.device)};
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

struct Engine::Impl {
  EngineConfig config;
  Program program;
  std::unique_ptr<Backend> backend;
  std::uint64_t step = 0;
  int micro = 0;        // micro-steps done of this step
  double loss_sum = 0;  // over them
  MicroStep micro_step;
  std::vector<float> scales;    // DropPath factors of one branch
  bool weights_written = true;  // since the last cast: the bf16 copies are behind

  Status upload(const BatchView& batch);
  Status upload_scales(bool evaluating);
  Status fill_first_values();
  Status run_micro();
  Result<float> loss() const;
  Status swap_average();
  void cast_written_weights();
};

Status Engine::Impl::upload(const BatchView& batch) {
  if (program.images.exists()) {
    SLUICE_CHECK(backend->upload(program.images, std::as_bytes(batch.images)));
  } else {
    for (const std::int32_t id : batch.ids) {
      if (id < 0 || id >= config.model.vocabulary) {
        return Error{Errc::invalid_input, fmt::format("token id {}; 0 to {} are accepted", id,
                                                      config.model.vocabulary - 1)};
      }
    }
    SLUICE_CHECK(backend->upload(program.ids, std::as_bytes(batch.ids)));
  }
  std::int64_t scored = 0;
  for (const std::int32_t label : batch.labels) {
    if (label >= config.model.outputs()) {
      return Error{Errc::invalid_input,
                   fmt::format("label {}; 0 to {} are accepted (below 0: not scored)", label,
                               config.model.outputs() - 1)};
    }
    if (label >= 0) ++scored;
  }
  SLUICE_CHECK(backend->upload(program.labels, std::as_bytes(batch.labels)));
  if (program.soft_targets.exists()) {
    SLUICE_CHECK(backend->upload(program.soft_targets, std::as_bytes(batch.soft_targets)));
  }
  const auto rows = static_cast<float>(std::max<std::int64_t>(scored, 1));
  micro_step.channels_last = batch.channels_last;
  micro_step.label_smoothing = config.label_smoothing;
  micro_step.loss_factor = 1.0F / rows;
  micro_step.gradient_factor = 1.0F / (rows * static_cast<float>(config.grad_accum));
  return ok;
}

/// Kept with probability 1 − rate and then scaled by its inverse; keyed by the sample's place in
/// the step, so that 2 × 128 draws what 1 × 256 draws.
Status Engine::Impl::upload_scales(bool evaluating) {
  const double keep = 1.0 - static_cast<double>(config.model.drop_path);
  for (std::size_t branch = 0; branch < program.branch_scales.size(); ++branch) {
    scales.assign(static_cast<std::size_t>(config.batch), 1.0F);
    for (int i = 0; i < config.batch && !evaluating; ++i) {
      const auto sample =
          static_cast<std::uint64_t>(micro) * static_cast<std::uint64_t>(config.batch) +
          static_cast<std::uint64_t>(i);
      Rng rng({.seed = config.seed,
               .epoch = step,
               .index = sample,
               .repeat = 1,
               .stage = static_cast<std::uint32_t>(branch)});
      scales[static_cast<std::size_t>(i)] =
          rng.uniform() < keep ? static_cast<float>(1.0 / keep) : 0.0F;
    }
    SLUICE_CHECK(backend->upload(program.branch_scales[branch], std::as_bytes(std::span(scales))));
  }
  return ok;
}

Status Engine::Impl::fill_first_values() {
  for (const Parameter& parameter : program.parameters) {
    std::vector<float> values =
        first_values(parameter, program.plan.at(parameter.value), config.seed);
    if (program.options.regime == Regime::bf16) {
      for (float& value : values)
        value = to_float(to_bf16(value));
    }
    SLUICE_CHECK(backend->upload(parameter.value, std::as_bytes(std::span(values))));
    if (parameter.average.exists())
      SLUICE_CHECK(backend->upload(parameter.average, std::as_bytes(std::span(values))));
  }
  return ok;
}

Result<float> Engine::Impl::loss() const {
  float value = 0;
  SLUICE_CHECK(
      backend->download(std::as_writable_bytes(std::span<float>(&value, 1)), program.mean_loss));
  return value;
}

Status Engine::Impl::run_micro() {
  if (micro >= config.grad_accum) {
    return Error{Errc::internal, fmt::format("{} micro-steps without an update; {} make a step",
                                             micro + 1, config.grad_accum)};
  }
  micro_step.first = micro == 0;
  micro_step.evaluating = false;
  SLUICE_CHECK(upload_scales(false));
  cast_written_weights();
  backend->run(Phase::forward, program.forward, micro_step);
  backend->run(Phase::loss, program.loss, micro_step);
  backend->run(Phase::backward, program.backward, micro_step);
  SLUICE_TRY(const float value, loss());
  loss_sum += static_cast<double>(value);
  ++micro;
  return ok;
}

/// Parameters and their averages change places; twice is as before.
Status Engine::Impl::swap_average() {
  for (const Parameter& parameter : program.parameters) {
    std::vector<float> value(static_cast<std::size_t>(program.plan.at(parameter.value).elements()));
    std::vector<float> average(value.size());
    SLUICE_CHECK(backend->download(std::as_writable_bytes(std::span(value)), parameter.value));
    SLUICE_CHECK(backend->download(std::as_writable_bytes(std::span(average)), parameter.average));
    SLUICE_CHECK(backend->upload(parameter.value, std::as_bytes(std::span(average))));
    SLUICE_CHECK(backend->upload(parameter.average, std::as_bytes(std::span(value))));
  }
  weights_written = true;
  return ok;
}

void Engine::Impl::cast_written_weights() {
  if (std::exchange(weights_written, false)) backend->cast_weights();
}

Result<Program> plan_engine(const EngineConfig& config) {
  SLUICE_CHECK(check_config(config));
  const bool falls_back = config.regime != Regime::fp32 && !cpu::has_bf16();
  const Regime regime = falls_back ? Regime::fp32 : config.regime;
  SLUICE_TRY(Program program,
             build_program(config.model, options_of(config, regime, config.batch)));
  SLUICE_CHECK(check_fits(config, program));
  return program;
}

Result<std::unique_ptr<Engine>> Engine::make(const EngineConfig& config) {
  auto impl = std::make_unique<Impl>();
  impl->config = config;
  SLUICE_TRY(impl->program, plan_engine(config));
  std::string note;
  if (impl->program.options.regime != config.regime)
    note = fmt::format("this CPU or its matrix library has no bf16 products: {} runs as fp32",
                       to_string(config.regime));
  SLUICE_TRY(impl->backend, cpu::make_backend(impl->program, config));
  if (!note.empty()) log::warn("{}", note);
  impl->backend->set_note(std::move(note));
  SLUICE_CHECK(impl->fill_first_values());
  const EngineInfo& info = impl->backend->info();
  log::debug(
      "mixed precision {}: parameters {}, activations {}, residual stream {}, products by {} on {} "
      "threads",
      info.activation_type == Dtype::bf16 ? "on" : "off", to_string(info.parameter_type),
      to_string(info.activation_type), to_string(info.residual_type), info.library, info.threads);
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const EngineConfig& Engine::config() const {
  return impl_->config;
}
const EngineInfo& Engine::info() const {
  return impl_->backend->info();
}
const Program& Engine::program() const {
  return impl_->program;
}

Status Engine::micro_step(const BatchView& batch) {
  impl_->backend->begin(Phase::transfer);
  SLUICE_CHECK(impl_->upload(batch));
  impl_->backend->end(Phase::transfer);
  return impl_->run_micro();
}

Status Engine::micro_step_again() {
  return impl_->run_micro();
}

Result<StepResult> Engine::update() {
  Impl& e = *impl_;
  StepResult result;
  result.loss = static_cast<float>(e.loss_sum / std::max(e.micro, 1));
  e.micro = 0;
  e.loss_sum = 0;
  if (!std::isfinite(result.loss)) {
    return Error{Errc::measurement,
                 fmt::format("step {}: the loss is {}; a smaller learning rate or fp32 may help",
                             e.step, result.loss)};
  }
  if (e.config.optimizer) {
    e.backend->begin(Phase::optimizer_step);
    result.gradient_norm = e.backend->gradient_norm();
    if (!std::isfinite(result.gradient_norm)) {
      return Error{Errc::measurement, fmt::format("step {}: the gradient norm is {} (loss {})",
                                                  e.step, result.gradient_norm, result.loss)};
    }
    result.learning_rate = learning_rate_at(e.config.update, e.step);
    e.backend->update(e.step, result.gradient_norm);
    e.backend->cast_weights();
    e.backend->end(Phase::optimizer_step);
  }
  ++e.step;
  result.phases = e.backend->take_phases();
  return result;
}

void Engine::time_phases(bool on) {
  impl_->backend->time_phases(on);
}
void Engine::observe(StepObserver* observer) {
  impl_->backend->observe(observer);
}

Result<Engine::Evaluation> Engine::evaluate(const BatchView& batch, bool with_average) {
  Impl& e = *impl_;
  if (with_average && !e.config.average) {
    return Error{Errc::usage,
                 "the average of the weights is not kept; EngineConfig::average asks for it"};
  }
  SLUICE_CHECK(e.upload(batch));
  SLUICE_CHECK(e.upload_scales(true));
  if (with_average) SLUICE_CHECK(e.swap_average());
  e.cast_written_weights();
  MicroStep micro = e.micro_step;
  micro.evaluating = true;
  e.backend->run(Phase::forward, e.program.forward, micro);
  e.backend->run(Phase::loss, e.program.loss, micro);
  if (with_average) SLUICE_CHECK(e.swap_average());
  Evaluation evaluation;
  SLUICE_TRY(evaluation.loss, e.loss());
  SLUICE_TRY(evaluation.logits, read("logits"));
  return evaluation;
}

Result<std::vector<float>> Engine::read(std::string_view tensor) const {
  Impl& e = *impl_;
  e.cast_written_weights();
  const TensorId id = e.program.plan.find(tensor);
  if (!id.exists()) return Error{Errc::not_found, fmt::format("no tensor is called '{}'", tensor)};
  const Tensor& planned = e.program.plan.at(id);
  std::vector<float> values(static_cast<std::size_t>(planned.elements()));
  if (planned.dtype == Dtype::f32) {
    SLUICE_CHECK(e.backend->download(std::as_writable_bytes(std::span(values)), id));
    return values;
  }
  if (planned.dtype == Dtype::i32)
    return Error{Errc::usage, fmt::format("'{}' holds integers", tensor)};
  std::vector<Bf16> halves(values.size());
  SLUICE_CHECK(e.backend->download(std::as_writable_bytes(std::span(halves)), id));
  std::transform(halves.begin(), halves.end(), values.begin(),
                 [](Bf16 half) { return to_float(half); });
  return values;
}

Status Engine::write(std::string_view tensor, std::span<const float> values) {
  Impl& e = *impl_;
  const TensorId id = e.program.plan.find(tensor);
  if (!id.exists()) return Error{Errc::not_found, fmt::format("no tensor is called '{}'", tensor)};
  if (e.program.plan.at(id).dtype != Dtype::f32) {
    return Error{Errc::usage,
                 fmt::format("'{}' is not of fp32; its fp32 original is accepted", tensor)};
  }
  SLUICE_CHECK(e.backend->upload(id, std::as_bytes(values)));
  e.weights_written = true;
  return ok;
}

std::uint64_t Engine::steps() const {
  return impl_->step;
}
void Engine::set_steps(std::uint64_t steps) {
  impl_->step = steps;
}
std::size_t Engine::peak_memory_bytes() const {
  return impl_->backend->memory_bytes();
}
void Engine::synchronize() {
  impl_->backend->synchronize();
}

}  // namespace sluice::train
