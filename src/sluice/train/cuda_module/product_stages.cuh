// sluice/train/cuda_module/product_stages.cuh - the order in which one thread brings what products
// read and warp groups take turns in multiplying it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/copy_engine.cuh"
#include "sluice/train/cuda_module/wgmma.cuh"

namespace sluice::train::cuda {

/// kStages places in shared memory that are filled and freed one after the other. Tiles take the
/// same number of stages each; group g multiplies tiles g, g + kGroups, ... of its block. Barriers:
/// a stage is there, is free; a group has its turn.
template <int kStages, int kGroups>
struct Stages {
  static constexpr int kBarriers = 2 * kStages + kGroups;
  unsigned there, free, turn;
  __device__ explicit Stages(unsigned barriers)
      : there(barriers), free(there + 8 * kStages), turn(free + 8 * kStages) {}

  /// `frees`: warps that let a stage go.
  __device__ void make_barriers(int frees) const {
    for (int i = 0; i < kStages; ++i) {
      make_barrier(there + 8 * i, 1);
      make_barrier(free + 8 * i, frees);
    }
    for (int i = 0; i < kGroups; ++i)
      make_barrier(turn + 8 * i, 4);
  }

  struct Place {
    int stage = 0, parity = 0;
    __device__ void go_on() {
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
  };

  /// One thread, stage after stage: bring(stage, barrier) announces and asks for what fills it.
  template <class Bring>
  __device__ void fill(Place& at, Bring bring) const {
    wait_for(free + 8 * static_cast<unsigned>(at.stage), at.parity);
    bring(at.stage, there + 8 * static_cast<unsigned>(at.stage));
    at.go_on();
  }
  [[nodiscard]] static __device__ Place first_to_fill() { return {0, 1}; }

  /// The product of tile `mine` of the block, by its group: multiply(step, stage) asks for that of
  /// a stage, let_go(stage) says that this warp has read it. `leads`: one thread of each warp.
  template <class Multiply, class LetGo>
  __device__ void take(int group, int mine, int steps, bool leads, Multiply multiply,
                       LetGo let_go) const {
    if (mine > 0)
      wait_for(turn + 8 * static_cast<unsigned>(group),
               (mine / kGroups - (group == 0 ? 1 : 0)) & 1);
    Place at{mine * steps % kStages, (mine * steps / kStages) & 1};
    int before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      wait_for(there + 8 * static_cast<unsigned>(at.stage), at.parity);
      // Not before: a group that is ahead by two phases of a barrier would take it for full.
      if (step == steps - 1 && leads)
        arrive(turn + 8 * static_cast<unsigned>((group + 1) % kGroups));
      before_products();
      multiply(step, at.stage);
      end_group();
      wait_for_groups<1>();
      if (step > 0) let_go(before);
      before = at.stage;
      at.go_on();
    }
    wait_for_groups<0>();
    let_go(before);
  }
};

}  // namespace sluice::train::cuda
