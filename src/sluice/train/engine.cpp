// sluice/train/engine.cpp - steps: batches in, phases in order, updates; the backend does the work.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/engine.h"

#include "sluice/core/free_memory.h"
#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/core/thread_pool.h"
#include "sluice/train/backend.h"
#include "sluice/train/bf16.h"
#include "sluice/train/cpu/backend.h"
#include "sluice/train/cuda/backend.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/model/first_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice::train {
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
  /// Of a value that every rank has.
  Status mean_over_ranks(float& value) const;
  [[nodiscard]] int ranks() const { return config.world != nullptr ? config.world->size() : 1; }
  [[nodiscard]] int rank() const { return config.world != nullptr ? config.world->rank() : 0; }
  /// A device that waits in vain may do so for another rank: who that is.
  [[nodiscard]] Error blamed(const Error& error) const {
    return ranks() > 1 && error.code == Errc::timeout ? config.world->too_late() : error;
  }
  void cast_written_weights();
  Result<StepResult> update();
};

Status Engine::Impl::upload(const BatchView& batch) {
  if (program.images.exists()) {
    if (batch.sent && backend->inbox() == nullptr)
      return Error{Errc::usage, fmt::format("{} takes no batch ahead", config.device)};
    if (!batch.resident)
      SLUICE_CHECK(batch.sent ? backend->unpack_images()
                              : backend->upload(program.images, std::as_bytes(batch.images)));
    if (batch.mix.kind != MixupDraw::Kind::none) {
      const int side = config.model.image;
      SLUICE_CHECK(check_mix(batch.mix, config.batch, side, side));
      SLUICE_CHECK(backend->mix_images(batch.mix, batch.channels_last));
    }
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
  micro_step.gradient_factor = 1.0F / (rows * static_cast<float>(config.grad_accum * ranks()));
  return ok;
}

/// Kept with probability 1 − rate and then scaled by its inverse; keyed by the sample's place in
/// the step, so that 2 × 128 draws what 1 × 256 draws, on one rank or two.
Status Engine::Impl::upload_scales(bool evaluating) {
  const double keep = 1.0 - static_cast<double>(config.model.drop_path);
  for (std::size_t branch = 0; branch < program.branch_scales.size(); ++branch) {
    scales.assign(static_cast<std::size_t>(config.batch), 1.0F);
    for (int i = 0; i < config.batch && !evaluating; ++i) {
      const auto sample = static_cast<std::uint64_t>(micro * ranks() + rank()) *
                              static_cast<std::uint64_t>(config.batch) +
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
  micro_step.last = micro + 1 == config.grad_accum;
  micro_step.evaluating = false;
  SLUICE_CHECK(upload_scales(false));
  cast_written_weights();
  const Status ran = backend->run(micro_step);
  if (!ran && micro_step.last && ranks() > 1) {  // timed, it waits for the others here
    if (ran.error().code == Errc::timeout) SLUICE_CHECK(config.world->arrive());
    const Error error = blamed(ran.error());
    backend->abandon();
    return error;
  }
  SLUICE_CHECK(ran);
  // The last loss of a step is read after the optimizer was begun: a device has no gap then.
  if (++micro < config.grad_accum) {
    SLUICE_TRY(const float value, loss());
    loss_sum += static_cast<double>(value);
  }
  return ok;
}

Status Engine::Impl::mean_over_ranks(float& value) const {
  if (ranks() == 1) return ok;
  backend->begin(Phase::grad_sync);
  SLUICE_CHECK(config.world->start_sum({&value, 1}));
  SLUICE_CHECK(config.world->finish());
  backend->end(Phase::grad_sync);
  value /= static_cast<float>(ranks());
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

Result<std::unique_ptr<Engine>> Engine::make(const EngineConfig& config) {
  auto impl = std::make_unique<Impl>();
  impl->config = config;
  SLUICE_TRY(impl->program, plan_engine(config));
  std::string note;
  if (impl->program.options.regime != config.regime)
    note = fmt::format("this CPU or its matrix library has no bf16 products: {} runs as fp32",
                       to_string(config.regime));
  SLUICE_TRY(impl->backend, config.device == "cpu" ? cpu::make_backend(impl->program, config)
                                                   : cuda::make_backend(impl->program, config));
  if (!note.empty()) log::warn("{}", note);
  impl->backend->set_note(std::move(note));
  SLUICE_CHECK(impl->fill_first_values());
  const EngineInfo& info = impl->backend->info();
  log::debug("{}: parameters {}, activations {}, residual stream {}, products by {} on {} threads",
             precision_words(info.activation_type == Dtype::bf16), to_string(info.parameter_type),
             to_string(info.activation_type), to_string(info.residual_type), info.library,
             info.threads);
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

cuda::Inbox* Engine::inbox() const {
  return impl_->backend->inbox();
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
  auto result = impl_->update();
  // Sums of a device that wait for each other would keep this process from its end.
  if (!result && impl_->ranks() > 1) impl_->backend->abandon();
  return result;
}

Result<StepResult> Engine::Impl::update() {
  StepResult result;
  SLUICE_CHECK(backend->sum_gradients());
  if (config.optimizer) {
    const auto norm = backend->update(step);
    if (!norm) return blamed(norm.error());
    result.gradient_norm = *norm;
  }
  const auto last_loss = loss();
  if (!last_loss) return blamed(last_loss.error());
  const float last = *last_loss;
  result.sync = backend->sync_times();
  result.loss = static_cast<float>((std::exchange(loss_sum, 0.0) + static_cast<double>(last)) /
                                   std::max(std::exchange(micro, 0), 1));
  SLUICE_CHECK(mean_over_ranks(result.loss));
  if (!std::isfinite(result.loss)) {
    return Error{Errc::measurement,
                 fmt::format("step {}: the loss is {}; a smaller learning rate or fp32 may help",
                             step, result.loss)};
  }
  if (!std::isfinite(result.gradient_norm)) {
    return Error{Errc::measurement, fmt::format("step {}: the gradient norm is {} (loss {})", step,
                                                result.gradient_norm, result.loss)};
  }
  if (config.optimizer) result.learning_rate = learning_rate_at(config.update, step);
  ++step;
  result.phases = backend->take_phases();
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
  const Status ran = e.backend->run(micro);
  if (with_average) SLUICE_CHECK(e.swap_average());  // whatever happened: the weights come back
  SLUICE_CHECK(ran);
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
  constexpr std::size_t kPart = 1 << 20;  // logits of a GPT are hundreds of millions
  ThreadPool threads(values.size() < 4 * kPart ? 1 : usable_cores());
  threads.parallel_for((values.size() + kPart - 1) / kPart, [&](std::size_t part, unsigned) {
    const std::size_t begin = part * kPart, end = std::min(values.size(), begin + kPart);
    for (std::size_t i = begin; i < end; ++i)
      values[i] = to_float(halves[i]);
  });
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
std::optional<std::size_t> Engine::device_free_bytes() const {
  return impl_->backend->device_free_bytes();
}
void Engine::synchronize() {
  impl_->backend->synchronize();
}

}  // namespace sluice::train
