// sluice/train/cpu/rope_reference.h - qk_norm_rope of rope.h as plain loops, for float and double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/rope.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::train::cpu {

/// y = A·x of one head: the map of rope.h. x and y apart.
template <class T>
void rope_reference(T* y, const T* x, const T* cosine, const T* sine, std::int64_t head_dim,
                    std::int64_t span) {
  const std::int64_t half = span / 2;
  for (std::int64_t at = 0; at < head_dim; at += span)
    for (std::int64_t i = at; i < at + half; ++i) {
      y[i] = x[i] * cosine[i] - x[i + half] * sine[i];
      y[i + half] = x[i + half] * cosine[i + half] + x[i] * sine[i + half];
    }
}

/// dx = Aᵀ·dy: the transpose, which is the inverse only where both angles of a pair are equal.
template <class T>
void rope_reference_backward(T* dx, const T* dy, const T* cosine, const T* sine,
                             std::int64_t head_dim, std::int64_t span) {
  const std::int64_t half = span / 2;
  for (std::int64_t at = 0; at < head_dim; at += span)
    for (std::int64_t i = at; i < at + half; ++i) {
      dx[i] = dy[i] * cosine[i] + dy[i + half] * sine[i + half];
      dx[i + half] = dy[i + half] * cosine[i + half] - dy[i] * sine[i];
    }
}

/// Where head `head` of `part` (0 q, 1 k, 2 v) lies in qkv, and in q, k or v.
inline std::int64_t qkv_offset(const Heads& s, std::int64_t sample, std::int64_t token,
                               std::int64_t part, std::int64_t head) {
  return (((sample * s.tokens + token) * 3 + part) * s.heads + head) * s.head_dim;
}
inline std::int64_t head_row(const Heads& s, std::int64_t sample, std::int64_t token,
                             std::int64_t head) {
  return (sample * s.heads + head) * s.tokens + token;
}

template <class T>
void qk_norm_rope_forward_reference(T* q, T* k, T* v, T* rstd_q, T* rstd_k, const T* qkv,
                                    const T* gamma_q, const T* gamma_k, const T* cosine,
                                    const T* sine, const Heads& s, Rows samples) {
  const std::int64_t dim = s.head_dim;
  std::vector<T> normed(static_cast<std::size_t>(dim));
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = head_row(s, b, t, h);
        for (std::int64_t part = 0; part < 2; ++part) {
          const T* x = qkv + qkv_offset(s, b, t, part, h);
          const T* gamma = part == 0 ? gamma_q : gamma_k;
          T sum = 0;
          for (std::int64_t i = 0; i < dim; ++i)
            sum += x[i] * x[i];
          const T rstd = 1 / std::sqrt(sum / static_cast<T>(dim) + static_cast<T>(s.epsilon));
          for (std::int64_t i = 0; i < dim; ++i)
            normed[static_cast<std::size_t>(i)] = gamma[i] * x[i] * rstd;
          rope_reference((part == 0 ? q : k) + row * dim, normed.data(), cosine + t * dim,
                         sine + t * dim, dim, s.rope_span);
          (part == 0 ? rstd_q : rstd_k)[row] = rstd;
        }
        const T* x = qkv + qkv_offset(s, b, t, 2, h);
        for (std::int64_t i = 0; i < dim; ++i)
          v[row * dim + i] = x[i];
      }
}

template <class T>
void qk_norm_rope_backward_reference(T* d_qkv, T* d_gamma_q, T* d_gamma_k, const T* dq, const T* dk,
                                     const T* dv, const T* qkv, const T* rstd_q, const T* rstd_k,
                                     const T* gamma_q, const T* gamma_k, const T* cosine,
                                     const T* sine, const Heads& s, Rows samples) {
  const std::int64_t dim = s.head_dim;
  std::vector<T> d_normed(static_cast<std::size_t>(dim));
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = head_row(s, b, t, h);
        for (std::int64_t part = 0; part < 2; ++part) {
          const std::int64_t at = qkv_offset(s, b, t, part, h);
          const T* gamma = part == 0 ? gamma_q : gamma_k;
          T* d_gamma = part == 0 ? d_gamma_q : d_gamma_k;
          const T rstd = (part == 0 ? rstd_q : rstd_k)[row];
          rope_reference_backward(d_normed.data(), (part == 0 ? dq : dk) + row * dim,
                                  cosine + t * dim, sine + t * dim, dim, s.rope_span);
          T dot = 0;
          for (std::int64_t i = 0; i < dim; ++i) {
            const T d = d_normed[static_cast<std::size_t>(i)];
            dot += d * gamma[i] * qkv[at + i] * rstd;
            d_gamma[i] += d * qkv[at + i] * rstd;
          }
          const T mean = dot / static_cast<T>(dim);
          for (std::int64_t i = 0; i < dim; ++i)
            d_qkv[at + i] = rstd * (d_normed[static_cast<std::size_t>(i)] * gamma[i] -
                                    qkv[at + i] * rstd * mean);
        }
        for (std::int64_t i = 0; i < dim; ++i)
          d_qkv[qkv_offset(s, b, t, 2, h) + i] = dv[row * dim + i];
      }
}

}  // namespace sluice::train::cpu
