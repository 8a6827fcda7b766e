// sluice/train/cpu/update.h - one optimizer step over all parameters, in place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/team.h"
#include "sluice/train/optimizer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::train::cpu {

/// One parameter tensor. average null: no EMA.
struct UpdateTensor {
  float* value = nullptr;
  float* gradient = nullptr;  // LAMB leaves its update here
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  float* average = nullptr;
  std::int64_t elements = 0;
  bool decayed = false;
};

/// Scratch kept between steps, so that a step allocates nothing.
class Updater {
 public:
  Updater(std::vector<UpdateTensor> tensors, OptimizerConfig config, int threads);
  /// ‖g‖₂ over all tensors, in double per tensor and in a fixed order: the same for any team.
  double gradient_norm(Team& team);
  /// Step `step` (0 is the first: bias correction uses step + 1) with the norm that gradient_norm()
  /// gave. Clips, then: LAMB with Apex's FusedLAMB semantics (decayed tensors with trust ratio
  /// lr·‖p‖/‖u‖, both norms non-zero; the others take the plain Adam step), or AdamW; then the EMA.
  void step(Team& team, std::uint64_t step, double gradient_norm);

 private:
  /// A part of one tensor: what one member does at a time.
  struct Stretch {
    std::size_t tensor = 0;
    std::int64_t begin = 0, count = 0;
    std::int64_t before = 0;  // elements of all stretches before this one
  };
  template <class Body>
  void each_stretch(Team& team, const Body& body);
  [[nodiscard]] bool adapts(const UpdateTensor& tensor) const;  // by a trust ratio
  void move(const Stretch& stretch, float ratio);
  void average(const Stretch& stretch);
  void find_ratios(float rate);

  std::vector<UpdateTensor> tensors_;
  OptimizerConfig config_;
  std::vector<Stretch> stretches_;
  std::int64_t elements_ = 0;
  std::vector<double> partial_;  // sums of the stretches, two each
  std::vector<float> ratios_;    // of the tensors
};

}  // namespace sluice::train::cpu
