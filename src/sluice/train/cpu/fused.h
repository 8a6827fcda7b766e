// sluice/train/cpu/fused.h - what the operations of a fused program need on the CPU: it takes them
// apart again. The reference for a device that does not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/team.h"
#include "sluice/train/model/shapes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::train::cpu {

/// q, k, v and their gradients by head, y and dy by token, of one QkvAttention.
template <class Act>
struct SplitHeads {
  Act *q, *k, *v, *dq, *dk, *dv, *y, *dy;
  float *rstd_q, *rstd_k, *lse;
};

/// Grows at the first use and stays.
template <class Act>
class FusedScratch {
 public:
  Act* branch(std::int64_t elements) { return grown(values_, elements); }
  SplitHeads<Act> heads(const Heads& s) {
    const std::int64_t rows = s.batch * s.tokens * s.heads, each = rows * s.head_dim;
    Act* values = grown(values_, 8 * each);
    float* sums = grown(sums_, 3 * rows);
    return {values,
            values + each,
            values + 2 * each,
            values + 3 * each,
            values + 4 * each,
            values + 5 * each,
            values + 6 * each,
            values + 7 * each,
            sums,
            sums + rows,
            sums + 2 * rows};
  }
  [[nodiscard]] std::size_t bytes() const {
    return values_.size() * sizeof(Act) + sums_.size() * sizeof(float);
  }

 private:
  template <class T>
  static T* grown(std::vector<T>& memory, std::int64_t elements) {
    if (static_cast<std::int64_t>(memory.size()) < elements)
      memory.resize(static_cast<std::size_t>(elements));
    return memory.data();
  }
  std::vector<Act> values_;
  std::vector<float> sums_;
};

/// FoldLayerScale of rows [begin, end): d_weight = gamma ⊙ d_folded, or += where `add`; d_gamma +=.
inline void fold_layer_scale(float* d_weight, float* d_gamma, const float* d_folded,
                             const float* weight, const float* gamma, bool add, Rows rows,
                             std::int64_t columns) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    double sum = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      sum += static_cast<double>(d_folded[i]) * static_cast<double>(weight[i]);
      const float own = gamma[row] * d_folded[i];
      d_weight[i] = add ? d_weight[i] + own : own;
    }
    d_gamma[row] += static_cast<float>(sum);
  }
}

}  // namespace sluice::train::cpu
