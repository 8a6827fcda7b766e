// sluice/train/engine.h - a model in training: memory, a backend that executes its program, steps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/mixup.h"
#include "sluice/train/model/model_spec.h"
#include "sluice/train/model/regime.h"
#include "sluice/train/optimizer.h"
#include "sluice/train/phase.h"
#include "sluice/train/program/program.h"
#include "sluice/train/world/reducer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

namespace cuda {
class Inbox;
}

/// How far the CUDA backend goes; the CPU backend has one form and takes any.
enum class Rung : std::uint8_t { off, fused, graph };
const char* to_string(Rung rung);
Result<Rung> parse_rung(std::string_view text);

struct EngineConfig {
  ModelSpec model;
  std::string device = "cpu";  // "cpu" or "cuda:N"
  Regime regime = Regime::fp32;
  Rung rung = Rung::graph;
  int batch = 8;          // samples of a micro-step
  int grad_accum = 1;     // micro-steps of a step
  int threads = 0;        // CPU: 0 is every usable core
  bool optimizer = true;  // false: forward and backward only (regime A has none)
  bool average = false;   // EMA
  bool checkpointing = false;
  bool soft_targets = false;  // Batch::soft_targets are given and used
  bool input_gradient = false;
  bool fused_on_cpu = false;  // the fused program there: slower; the reference for devices
  std::optional<LastBlock> last_block{};  // absent: shortest_last_block(model)
  float label_smoothing = 0;              // in [0, 1)
  OptimizerConfig update;
  std::uint64_t seed = 42;  // weights and DropPath
  /// Trains with others: `batch` is that of one rank, gradients and losses are means over all. Of a
  /// step the samples are those of rank 0, rank 1, ... in every micro-step. Null: alone. Outlives
  /// the engine. A GPU sends its gradients through NCCL, in a world of one, too.
  Communicator* world = nullptr;
};

/// One micro-batch, in host memory, valid during the call. A ViT takes images (normalised, fp32, or
/// bf16 as raw bits) and labels, a GPT ids and labels (the next id; -1: not scored).
struct BatchView {
  std::span<const float> images;         // batch * 3 * image * image
  bool channels_last = false;            // [y, x, 3] rather than [3, y, x]
  std::span<const std::int32_t> ids;     // batch * sequence
  std::span<const std::int32_t> labels;  // batch, or batch * sequence
  std::span<const float> soft_targets;   // batch * classes; only with EngineConfig::soft_targets
  MixupDraw
      mix{};  // applied to the images where the engine holds them; the targets are mixed already
  bool sent = false;      // instead of images: the oldest of Engine::inbox()
  bool resident = false;  // instead of images: those of the last micro-step, as they are by now
};

struct StepResult {
  float loss = 0;            // mean over the micro-steps, and over all ranks
  double gradient_norm = 0;  // before the clip; 0 without an optimizer
  double learning_rate = 0;
  SyncTimes sync{};  // zero for a rank alone
  PhaseTimes
      phases{};  // only those the engine runs: transfer ... optimizer_step; zero unless timed
};

/// What ran, as reported: never what was asked for.
struct EngineInfo {
  std::string device;   // "cpu", "cuda:0 NVIDIA H200"
  std::string library;  // "oneDNN 2.6.3", …
  std::string sums;     // "NCCL 2.28.9": a device's own sums over ranks
  int threads = 1;
  Regime regime = Regime::fp32;  // in force: bf16 without instructions runs as fp32
  std::string note;              // why it differs from what was asked; empty otherwise
  Dtype parameter_type = Dtype::f32, activation_type = Dtype::f32, residual_type = Dtype::f32;
};

/// What make() would run, in the regime that would be in force, and every error it would give;
/// nothing is allocated.
Result<Program> plan_engine(const EngineConfig& config);

/// What the log says of the type that products are computed in.
inline const char* precision_words(bool mixed) {
  return mixed ? "Using automatic mixed precision (AMP)"
               : "Automatic mixed precision (AMP) is off, fp32 is used";
}

/// The largest batch, whatever config.batch says, whose plan fits into the memory that is free less
/// `spare_bytes`: 0 if none does, at most `at_most`. Errors as plan_engine().
Result<int> largest_batch(const EngineConfig& config, int at_most, std::int64_t spare_bytes = 0);

class Engine {
 public:
  /// Usage errors: a model check_model refuses, a device that is not there ("cuda:0: this build has
  /// no CUDA engine; cpu is accepted"), a batch whose plan is larger than the memory that is free
  /// (the error says the largest batch that fits).
  static Result<std::unique_ptr<Engine>> make(const EngineConfig& config);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const EngineConfig& config() const;
  [[nodiscard]] const EngineInfo& info() const;
  [[nodiscard]] const Program& program() const;  // plan, ops, parameters

  /// Takes images while a step runs (BatchView::sent); null: this device reads them in host memory.
  [[nodiscard]] cuda::Inbox* inbox() const;

  // A step is grad_accum times micro_step(), then update(). Nothing is allocated after the first.
  /// Copies the batch in, forward, loss, backward; gradients add up over the micro-steps of a step.
  Status micro_step(const BatchView& batch);
  /// Same again with the batch that is already there (synthetic data resident on the device).
  Status micro_step_again();
  /// Clip, optimizer, EMA; the next step begins. A loss or gradient norm that is not finite is
  /// Errc::measurement and names the step; weights are then left as they were.
  Result<StepResult> update();

  /// Timestamps per phase in StepResult (device events on a GPU), off at first.
  void time_phases(bool on);
  /// Also every op; null ends it. Adds overhead.
  void observe(StepObserver* observer);

  /// Evaluation: forward without DropPath; logits [batch * predictions, outputs] and the mean loss.
  /// `with_average`: the EMA weights.
  struct Evaluation {
    float loss = 0;
    std::vector<float> logits;
  };
  Result<Evaluation> evaluate(const BatchView& batch, bool with_average = false);

  /// Values as fp32, by the name in the plan ("blocks.3.attn.qkv.weight", "…weight.grad",
  /// "logits").
  [[nodiscard]] Result<std::vector<float>> read(std::string_view tensor) const;
  Status write(std::string_view tensor, std::span<const float> values);

  [[nodiscard]] std::uint64_t steps() const;  // updates done
  void set_steps(std::uint64_t steps);        // after loading a checkpoint

  [[nodiscard]] std::size_t peak_memory_bytes() const;  // the plan plus the backend's own workspace
  /// Bytes of the device that its driver calls free, of all processes; nothing: the CPU.
  [[nodiscard]] std::optional<std::size_t> device_free_bytes() const;
  /// Blocks until the device is idle.
  void synchronize();

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::train
