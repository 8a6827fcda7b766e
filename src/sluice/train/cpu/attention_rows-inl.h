// sluice/train/cpu/attention_rows-inl.h - rows of scores to probabilities and to their gradients.
// SPDX-License-Identifier: Apache-2.0
#if defined(SLUICE_TRAIN_CPU_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_TRAIN_CPU_ATTENTION_ROWS_INL_H_
#undef SLUICE_TRAIN_CPU_ATTENTION_ROWS_INL_H_
#else
#define SLUICE_TRAIN_CPU_ATTENTION_ROWS_INL_H_
#endif

#include "sluice/train/cpu/vectors-inl.h"

#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

// A row has `keys` scores that count, is read in whole vectors and zero from `keys` to `end`, a
// multiple of 16.

/// value, but `other` from lane `count` on.
HWY_INLINE V first_or(std::int64_t count, V value, V other) {
  return hn::IfThenElse(hn::FirstN(F(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))),
                        value, other);
}

struct RowSums {
  float maximum;  // of scale · score
  float total;    // Σ exp(scale · score − maximum)
};

/// to = exp(scale · (row − its maximum)), not yet divided by its sum. scale > 0. `to` may be the
/// row or, as Bf16, lie before its end: what is written was read.
template <class To>
HWY_INLINE RowSums exp_row(To* to, const float* row, std::int64_t keys, std::int64_t end,
                           float scale) {
  const F f;
  const std::int64_t step = lanes();
  const V lowest = hn::Set(f, hwy::LowestValue<float>());
  V most = lowest, other = lowest;
  std::int64_t i = 0;
  for (; i + 2 * step <= keys; i += 2 * step) {
    most = hn::Max(most, load(row + i));
    other = hn::Max(other, load(row + i + step));
  }
  for (; i < keys; i += step)
    most = hn::Max(most, first_or(keys - i, load(row + i), lowest));
  const float maximum = hn::GetLane(hn::MaxOfLanes(f, hn::Max(most, other))) * scale;
  const V factor = hn::Set(f, scale), offset = hn::Set(f, maximum);
  V sum = hn::Zero(f), sum_other = hn::Zero(f);
  for (i = 0; i + 2 * step <= keys; i += 2 * step) {
    const V a = exp_of(hn::MulSub(load(row + i), factor, offset));
    const V b = exp_of(hn::MulSub(load(row + i + step), factor, offset));
    store(a, to + i);
    store(b, to + i + step);
    sum = hn::Add(sum, a);
    sum_other = hn::Add(sum_other, b);
  }
  for (; i < keys; i += step) {
    const V a = first_or(keys - i, exp_of(hn::MulSub(load(row + i), factor, offset)), hn::Zero(f));
    store(a, to + i);
    sum = hn::Add(sum, a);
  }
  for (; i < end; i += step)
    store(hn::Zero(f), to + i);
  return {maximum, sum_of(hn::Add(sum, sum_other))};
}

/// From maximum and total of each row to lse = maximum + log(total) and 1 / total, in their places.
HWY_INLINE void finish_rows(float* maximum, float* total, std::int64_t rows) {
  const F f;
  const std::int64_t step = lanes();
  std::int64_t i = 0;
  for (; i + step <= rows; i += step) {
    const V sum = load(total + i);
    store(hn::Add(load(maximum + i), hn::Log(f, sum)), maximum + i);
    store(hn::Div(hn::Set(f, 1.0F), sum), total + i);
  }
  if (i == rows) return;
  const V sum = load_part(total + i, rows - i);
  store_part(hn::Add(load_part(maximum + i, rows - i), hn::Log(f, sum)), maximum + i, rows - i);
  store_part(hn::Div(hn::Set(f, 1.0F), sum), total + i, rows - i);
}

/// to = row · factor. `to` may be the row.
template <class To>
HWY_INLINE void scale_row(To* to, const float* row, std::int64_t count, float factor) {
  const V all = hn::Set(F(), factor);
  const std::int64_t step = lanes();
  std::int64_t i = 0;
  for (; i + step <= count; i += step)
    store(hn::Mul(load(row + i), all), to + i);
  if (i < count) store_part(hn::Mul(load_part(row + i, count - i), all), to + i, count - i);
}

/// From scores and d_probabilities to probabilities p and d_scores = p · (d_probabilities − delta)
/// · scale, each written over what it comes from.
HWY_INLINE void gradient_row(float* p, float* d_p, std::int64_t keys, std::int64_t end, float scale,
                             float lse, float delta) {
  const F f;
  const std::int64_t step = lanes();
  const V factor = hn::Set(f, scale), offset = hn::Set(f, lse), minus = hn::Set(f, delta);
  std::int64_t i = 0;
  for (; i + step <= keys; i += step) {
    const V a = exp_of(hn::MulSub(load(p + i), factor, offset));
    store(hn::Mul(hn::Mul(a, factor), hn::Sub(load(d_p + i), minus)), d_p + i);
    store(a, p + i);
  }
  const V zero = hn::Zero(f);
  for (; i < keys; i += step) {
    const V a = first_or(keys - i, exp_of(hn::MulSub(load(p + i), factor, offset)), zero);
    const V d = hn::Mul(hn::Mul(a, factor), hn::Sub(load(d_p + i), minus));
    store(first_or(keys - i, d, zero), d_p + i);
    store(a, p + i);
  }
  for (; i < end; i += step) {
    store(zero, p + i);
    store(zero, d_p + i);
  }
}

/// The same for a row that holds one key and all queries, each with its lse and delta: `count`, a
/// multiple of 16, of which those before `first` do not see the key. p and d_scores, in Bf16, may
/// lie before the end of the rows they come from.
HWY_INLINE void gradient_column(Bf16* p, Bf16* d_scores, const float* scores, const float* d_p,
                                std::int64_t first, std::int64_t count, float scale,
                                const float* lse, const float* delta) {
  const F f;
  const std::int64_t step = lanes();
  const V factor = hn::Set(f, scale), zero = hn::Zero(f);
  std::int64_t i = 0;
  for (; i + step <= std::min(first, count); i += step) {
    store(zero, p + i);
    store(zero, d_scores + i);
  }
  for (; i < count; i += step) {
    V a = exp_of(hn::MulSub(load(scores + i), factor, load(lse + i)));
    if (i < first) a = first_or(first - i, zero, a);
    V d = hn::Mul(hn::Mul(a, factor), hn::Sub(load(d_p + i), load(delta + i)));
    if (i < first) d = first_or(first - i, zero, d);
    store(a, p + i);
    store(d, d_scores + i);
  }
}

template <class Act>
HWY_INLINE float dot_row(const Act* a, const Act* b, std::int64_t count) {
  const std::int64_t step = lanes();
  V sum = hn::Zero(F());
  std::int64_t i = 0;
  for (; i + step <= count; i += step)
    sum = hn::MulAdd(load(a + i), load(b + i), sum);
  if (i < count) sum = hn::MulAdd(load_part(a + i, count - i), load_part(b + i, count - i), sum);
  return sum_of(sum);
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
