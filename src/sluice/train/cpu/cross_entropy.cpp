// sluice/train/cpu/cross_entropy.cpp - loss and gradient of rows of logits, compiled once per
// instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/cross_entropy.h"

#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/cross_entropy.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {
namespace {

/// The end of a row is read a second time rather than padded.
template <class Act>
HWY_INLINE float largest(const Act* x, std::int64_t count) {
  const std::int64_t lane_count = lanes();
  if (count < lane_count) {
    float most = train::to_float(x[0]);
    for (std::int64_t i = 1; i < count; ++i)
      most = std::max(most, train::to_float(x[i]));
    return most;
  }
  V a = load(x), b = a;
  std::int64_t i = lane_count;
  for (; i + 2 * lane_count <= count; i += 2 * lane_count) {
    a = hn::Max(a, load(x + i));
    b = hn::Max(b, load(x + i + lane_count));
  }
  if (i + lane_count <= count) a = hn::Max(a, load(x + i));
  b = hn::Max(b, load(x + count - lane_count));
  return hn::GetLane(hn::MaxOfLanes(F(), hn::Max(a, b)));
}

/// What a row is compared with: weight · given + level, given from `soft` or one at `label`.
struct Target {
  const float* soft;
  std::int64_t label;  // with soft null
  float weight, level;
};

/// Loss of a row, and ln Σ exp(x − most).
template <class Act>
HWY_INLINE float loss_of(const Act* x, const Target& target, std::int64_t classes, float most,
                         float& log_sum) {
  const F f;
  const V top = hn::Set(f, most);
  const float sum = sum_over(classes, [&](std::int64_t i, auto access, V total) HWY_ATTR {
    return hn::Add(total, access.kept(exp_of(hn::Sub(access.get(x + i), top))));
  });
  log_sum = std::log(sum);
  float loss = 0;
  if (target.soft != nullptr) {
    const V down = hn::Set(f, most + log_sum);
    loss = target.weight * sum_over(classes, [&](std::int64_t i, auto access, V total) HWY_ATTR {
             const V given = access.get(target.soft + i);
             const V term = hn::Mul(given, hn::Sub(down, access.get(x + i)));
             // An absent class says nothing, also where it is impossible (0 · −∞).
             return hn::Add(total, hn::IfThenZeroElse(hn::Eq(given, hn::Zero(f)), term));
           });
  } else {
    loss = target.weight * (log_sum - (train::to_float(x[target.label]) - most));
  }
  if (target.level != 0) {
    const float spread = sum_over(classes, [&](std::int64_t i, auto access, V total) HWY_ATTR {
      return hn::Add(total, access.kept(hn::Sub(top, access.get(x + i))));
    });
    loss += target.level * (spread + static_cast<float>(classes) * log_sum);
  }
  return loss;
}

template <class Act>
HWY_INLINE void gradient_of(Act* dx, const Act* x, const Target& target, std::int64_t classes,
                            float most, float log_sum, float factor) {
  const F f;
  const V top = hn::Set(f, most), share = hn::Set(f, factor * std::exp(-log_sum));
  const V level = hn::Set(f, target.level * factor);
  if (target.soft != nullptr) {
    const V weight = hn::Set(f, target.weight * factor);
    each_vector(0, classes, [&](std::int64_t i, auto access) HWY_ATTR {
      const V p = exp_of(hn::Sub(access.get(x + i), top));
      const V wanted = hn::MulAdd(weight, access.get(target.soft + i), level);
      access.put(hn::MulSub(p, share, wanted), dx + i);
    });
    return;
  }
  // Before the loop: dx may be x.
  const float at_label = std::exp(train::to_float(x[target.label]) - most - log_sum);
  each_vector(0, classes, [&](std::int64_t i, auto access) HWY_ATTR {
    const V p = exp_of(hn::Sub(access.get(x + i), top));
    access.put(hn::MulSub(p, share, level), dx + i);
  });
  dx[target.label] = stored<Act>((at_label - (target.weight + target.level)) * factor);
}

template <class Act>
void rows_of(float* row_loss, Act* d_logits, const Act* logits, const std::int32_t* labels,
             const float* soft, float smoothing, float factor, Rows rows, std::int64_t classes) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const Act* x = logits + r * classes;
    Act* dx = d_logits == nullptr ? nullptr : d_logits + r * classes;
    if (labels != nullptr && labels[r] < 0) {
      row_loss[r] = 0;
      if (dx != nullptr) std::fill_n(dx, classes, stored<Act>(0));
      continue;
    }
    assert(soft != nullptr || labels[r] < classes);
    const Target target = {soft == nullptr ? nullptr : soft + r * classes,
                           labels == nullptr ? 0 : labels[r], 1 - smoothing,
                           smoothing / static_cast<float>(classes)};
    const float most = largest(x, classes);
    float log_sum = 0;
    row_loss[r] = loss_of(x, target, classes, most, log_sum);
    if (dx != nullptr) gradient_of(dx, x, target, classes, most, log_sum, factor);
  }
}

void rows_float(float* row_loss, float* d_logits, const float* logits, const std::int32_t* labels,
                const float* soft, float smoothing, float factor, Rows rows, std::int64_t classes) {
  rows_of(row_loss, d_logits, logits, labels, soft, smoothing, factor, rows, classes);
}
void rows_bf16(float* row_loss, Bf16* d_logits, const Bf16* logits, const std::int32_t* labels,
               const float* soft, float smoothing, float factor, Rows rows, std::int64_t classes) {
  rows_of(row_loss, d_logits, logits, labels, soft, smoothing, factor, rows, classes);
}

}  // namespace
}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

namespace {
HWY_EXPORT(rows_float);
HWY_EXPORT(rows_bf16);
}  // namespace

template <>
void cross_entropy(float* row_loss, float* d_logits, const float* logits,
                   const std::int32_t* labels, const float* soft, float smoothing, float factor,
                   Rows rows, std::int64_t classes) {
  HWY_DYNAMIC_DISPATCH(rows_float)
  (row_loss, d_logits, logits, labels, soft, smoothing, factor, rows, classes);
}
template <>
void cross_entropy(float* row_loss, Bf16* d_logits, const Bf16* logits, const std::int32_t* labels,
                   const float* soft, float smoothing, float factor, Rows rows,
                   std::int64_t classes) {
  HWY_DYNAMIC_DISPATCH(rows_bf16)
  (row_loss, d_logits, logits, labels, soft, smoothing, factor, rows, classes);
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
