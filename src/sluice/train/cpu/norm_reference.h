// sluice/train/cpu/norm_reference.h - what norm.h computes, in plain loops; T is float or double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/team.h"

#include <cmath>
#include <cstdint>

namespace sluice::train::cpu::reference {

template <class T>
void rms_norm_forward(T* y, T* rstd, const T* x, const T* gamma, Rows rows, std::int64_t dim,
                      T epsilon) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    T squares = 0;
    for (std::int64_t i = 0; i < dim; ++i)
      squares += x[r * dim + i] * x[r * dim + i];
    rstd[r] = 1 / std::sqrt(squares / static_cast<T>(dim) + epsilon);
    for (std::int64_t i = 0; i < dim; ++i)
      y[r * dim + i] = gamma[i] * x[r * dim + i] * rstd[r];
  }
}

template <class T>
void rms_norm_backward(T* dx, T* d_gamma, const T* dy, const T* x, const T* rstd, const T* gamma,
                       Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    T along = 0;
    for (std::int64_t i = 0; i < dim; ++i)
      along += gamma[i] * dy[r * dim + i] * x[r * dim + i];
    const T back = along * rstd[r] * rstd[r] * rstd[r] / static_cast<T>(dim);
    for (std::int64_t i = 0; i < dim; ++i) {
      dx[r * dim + i] += rstd[r] * gamma[i] * dy[r * dim + i] - back * x[r * dim + i];
      d_gamma[i] += dy[r * dim + i] * x[r * dim + i] * rstd[r];
    }
  }
}

template <class T>
void add_branch_forward(T* y, const T* x, const T* branch, const T* gamma, const T* scale,
                        std::int64_t rows_per_scale, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const T factor = scale == nullptr ? T(1) : scale[r / rows_per_scale];
    for (std::int64_t i = 0; i < dim; ++i)
      y[r * dim + i] =
          x[r * dim + i] + factor * (gamma == nullptr ? T(1) : gamma[i]) * branch[r * dim + i];
  }
}

template <class T>
void add_branch_backward(T* d_branch, T* d_gamma, const T* dy, const T* branch, const T* gamma,
                         const T* scale, std::int64_t rows_per_scale, Rows rows, std::int64_t dim) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const T factor = scale == nullptr ? T(1) : scale[r / rows_per_scale];
    for (std::int64_t i = 0; i < dim; ++i) {
      d_branch[r * dim + i] = factor * (gamma == nullptr ? T(1) : gamma[i]) * dy[r * dim + i];
      if (gamma != nullptr) d_gamma[i] += factor * branch[r * dim + i] * dy[r * dim + i];
    }
  }
}

}  // namespace sluice::train::cpu::reference
