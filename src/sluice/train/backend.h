// sluice/train/backend.h - what executes a program: the seam between the model and a kind of
// processor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/engine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace sluice::train {

namespace cuda {
class Inbox;
}

/// What changes from one micro-step to the next.
struct MicroStep {
  bool first = true;           // of its step: gradients are set, not added to
  bool last = true;            // of its step: ranks begin to add their gradients up
  bool evaluating = false;     // no gradient of the loss
  bool channels_last = false;  // layout of the images
  float gradient_factor = 1;  // 1 / (scored rows · grad_accum): d_logits = (softmax − t) · factor
  float loss_factor = 1;      // 1 / scored rows
  float label_smoothing = 0;
};

/// Holds the one allocation of the plan. Calls are made by one thread; on a device they may return
/// before the work is done, downloads wait for it.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const EngineInfo& info() const = 0;
  virtual void set_note(std::string note) = 0;  // EngineInfo::note
  virtual Status upload(TensorId tensor, std::span<const std::byte> bytes) = 0;
  virtual Status download(std::span<std::byte> bytes, TensorId tensor) const = 0;

  /// Null: images are uploaded.
  virtual cuda::Inbox* inbox() { return nullptr; }
  /// The oldest of the inbox becomes the images. Precondition: there is an inbox.
  virtual Status unpack_images() = 0;
  /// Mixes the images that were uploaded, as train/mixup.h does, bit by bit. `draw` was checked.
  virtual Status mix_images(const MixupDraw& draw, bool channels_last) = 0;

  /// Forward and loss, and unless evaluating backward.
  virtual Status run(const MicroStep& micro) = 0;
  /// After the last micro-step of a step: the gradients are their sum over all ranks.
  virtual Status sum_gradients() { return ok; }
  /// A rank has failed: what waits for others ends, and nothing more is run.
  virtual void abandon() {}
  /// What the last step spent on that.
  [[nodiscard]] virtual SyncTimes sync_times() const { return {}; }
  /// The copies of weights that products read, after the weights were written. update() does it
  /// itself.
  virtual void cast_weights() = 0;
  /// Step `step` (0 is the first): clip, optimizer, average. Gives the norm of all gradients before
  /// the clip; where that is not finite, weights and state are left as they were.
  virtual Result<double> update(std::uint64_t step) = 0;
  virtual void synchronize() = 0;

  /// Brackets work outside run() and update() (transfer) for the clock and the observer.
  virtual void begin(Phase phase) = 0;
  virtual void end(Phase phase) = 0;
  virtual void time_phases(bool on) = 0;
  virtual void observe(StepObserver* observer) = 0;
  /// Since the last call.
  virtual PhaseTimes take_phases() = 0;

  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;  // plan and workspace
  /// Bytes of the device that its driver calls free, of all processes; nothing: it has none.
  [[nodiscard]] virtual std::optional<std::size_t> device_free_bytes() const {
    return std::nullopt;
  }
};

}  // namespace sluice::train
