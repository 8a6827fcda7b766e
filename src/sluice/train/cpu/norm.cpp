// sluice/train/cpu/norm.cpp - RMSNorm and the residual branch, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/norm.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/vectors-inl.h"

#ifndef SLUICE_TRAIN_CPU_NORM_TABLE_
#define SLUICE_TRAIN_CPU_NORM_TABLE_
namespace sluice::train::cpu {
template <class Act, class Res>
struct NormTable {
  decltype(&rms_norm_forward<Act, Res>) norm_forward;
  decltype(&rms_norm_backward<Act, Res>) norm_backward;
  decltype(&add_branch_forward<Act, Res>) branch_forward;
  decltype(&add_branch_backward<Act, Res>) branch_backward;
};
}  // namespace sluice::train::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {
namespace {

template <class Act, class Res>
void norm_forward(Act* y, float* rstd, const Res* x, const float* gamma, Rows rows,
                  std::int64_t dim, float epsilon) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const Res* from = x + r * dim;
    Act* to = y + r * dim;
    const float squares = sum_over(dim, [&](std::int64_t i, auto access, V sum) HWY_ATTR {
      const V v = access.get(from + i);
      return hn::MulAdd(v, v, sum);
    });
    rstd[r] = 1.0F / std::sqrt(squares / static_cast<float>(dim) + epsilon);
    const V factor = hn::Set(F(), rstd[r]);
    each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
      access.put(hn::Mul(hn::Mul(access.get(from + i), factor), access.get(gamma + i)), to + i);
    });
  }
}

/// Two passes over a row that the first leaves in the nearest cache.
template <class Act, class Res>
void norm_backward(Res* dx, float* d_gamma, const Act* dy, const Res* x, const float* rstd,
                   const float* gamma, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const Act* above = dy + r * dim;
    const Res* from = x + r * dim;
    Res* to = dx + r * dim;
    const float along = sum_over(dim, [&](std::int64_t i, auto access, V sum) HWY_ATTR {
      return hn::MulAdd(hn::Mul(access.get(above + i), access.get(gamma + i)), access.get(from + i),
                        sum);
    });
    const V factor = hn::Set(F(), rstd[r]);
    const V back = hn::Set(F(), along * rstd[r] * rstd[r] / static_cast<float>(dim));
    each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
      const V d = access.get(above + i);
      const V normed = hn::Mul(access.get(from + i), factor);
      const V gained = hn::Mul(hn::Mul(access.get(gamma + i), factor), d);
      access.put(hn::Add(access.get(to + i), hn::NegMulAdd(back, normed, gained)), to + i);
      access.put(hn::MulAdd(d, normed, access.get(d_gamma + i)), d_gamma + i);
    });
  }
}

template <class Act, class Res>
void branch_forward(Res* y, const Res* x, const Act* branch, const float* gamma, const float* scale,
                    std::int64_t rows_per_scale, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const V factor = hn::Set(F(), scale == nullptr ? 1.0F : scale[r / rows_per_scale]);
    const Res* from = x + r * dim;
    const Act* added = branch + r * dim;
    Res* to = y + r * dim;
    if (gamma == nullptr) {
      each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
        access.put(hn::MulAdd(access.get(added + i), factor, access.get(from + i)), to + i);
      });
      continue;
    }
    each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
      const V grown = hn::Mul(factor, access.get(gamma + i));
      access.put(hn::MulAdd(access.get(added + i), grown, access.get(from + i)), to + i);
    });
  }
}

template <class Act, class Res>
void branch_backward(Act* d_branch, float* d_gamma, const Res* dy, const Act* branch,
                     const float* gamma, const float* scale, std::int64_t rows_per_scale, Rows rows,
                     std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const V factor = hn::Set(F(), scale == nullptr ? 1.0F : scale[r / rows_per_scale]);
    const Res* above = dy + r * dim;
    const Act* added = branch + r * dim;
    Act* to = d_branch + r * dim;
    if (gamma == nullptr) {
      each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
        access.put(hn::Mul(access.get(above + i), factor), to + i);
      });
      continue;
    }
    each_vector(0, dim, [&](std::int64_t i, auto access) HWY_ATTR {
      const V d = hn::Mul(access.get(above + i), factor);
      access.put(hn::MulAdd(access.get(added + i), d, access.get(d_gamma + i)), d_gamma + i);
      access.put(hn::Mul(d, access.get(gamma + i)), to + i);
    });
  }
}

template <class Act, class Res>
const NormTable<Act, Res>* table_of() {
  static constexpr NormTable<Act, Res> kTable = {norm_forward<Act, Res>, norm_backward<Act, Res>,
                                                 branch_forward<Act, Res>,
                                                 branch_backward<Act, Res>};
  return &kTable;
}
const NormTable<float, float>* float_table() {
  return table_of<float, float>();
}
const NormTable<Bf16, float>* mixed_table() {
  return table_of<Bf16, float>();
}
const NormTable<Bf16, Bf16>* bf16_table() {
  return table_of<Bf16, Bf16>();
}

}  // namespace
}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

namespace {

HWY_EXPORT(float_table);
HWY_EXPORT(mixed_table);
HWY_EXPORT(bf16_table);

template <class Act, class Res>
const NormTable<Act, Res>* table();
template <>
const NormTable<float, float>* table() {
  return HWY_DYNAMIC_DISPATCH(float_table)();
}
template <>
const NormTable<Bf16, float>* table() {
  return HWY_DYNAMIC_DISPATCH(mixed_table)();
}
template <>
const NormTable<Bf16, Bf16>* table() {
  return HWY_DYNAMIC_DISPATCH(bf16_table)();
}

}  // namespace

template <class Act, class Res>
void rms_norm_forward(Act* y, float* rstd, const Res* x, const float* gamma, Rows rows,
                      std::int64_t dim, float epsilon) {
  table<Act, Res>()->norm_forward(y, rstd, x, gamma, rows, dim, epsilon);
}
template <class Act, class Res>
void rms_norm_backward(Res* dx, float* d_gamma, const Act* dy, const Res* x, const float* rstd,
                       const float* gamma, Rows rows, std::int64_t dim) {
  table<Act, Res>()->norm_backward(dx, d_gamma, dy, x, rstd, gamma, rows, dim);
}
template <class Act, class Res>
void add_branch_forward(Res* y, const Res* x, const Act* branch, const float* gamma,
                        const float* scale, std::int64_t rows_per_scale, Rows rows,
                        std::int64_t dim) {
  table<Act, Res>()->branch_forward(y, x, branch, gamma, scale, rows_per_scale, rows, dim);
}
template <class Act, class Res>
void add_branch_backward(Act* d_branch, float* d_gamma, const Res* dy, const Act* branch,
                         const float* gamma, const float* scale, std::int64_t rows_per_scale,
                         Rows rows, std::int64_t dim) {
  table<Act, Res>()->branch_backward(d_branch, d_gamma, dy, branch, gamma, scale, rows_per_scale,
                                     rows, dim);
}

#define SLUICE_NORMS(Act, Res)                                                               \
  template void rms_norm_forward(Act*, float*, const Res*, const float*, Rows, std::int64_t, \
                                 float);                                                     \
  template void rms_norm_backward(Res*, float*, const Act*, const Res*, const float*,        \
                                  const float*, Rows, std::int64_t);                         \
  template void add_branch_forward(Res*, const Res*, const Act*, const float*, const float*, \
                                   std::int64_t, Rows, std::int64_t);                        \
  template void add_branch_backward(Act*, float*, const Res*, const Act*, const float*,      \
                                    const float*, std::int64_t, Rows, std::int64_t)
SLUICE_NORMS(float, float);
SLUICE_NORMS(Bf16, float);
SLUICE_NORMS(Bf16, Bf16);
#undef SLUICE_NORMS

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
