// sluice/train/cpu/attention_reference.h - attention.h as plain loops, for float and double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/rope.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::train::cpu {

/// One pair of (sample, head): where its rows lie.
struct AttentionPair {
  std::int64_t by_head = 0;      // first element in q, k, v
  std::int64_t by_token = 0;     // first element in y
  std::int64_t token_row = 0;    // elements from one token to the next in y
  std::int64_t first_token = 0;  // in lse
};
inline AttentionPair attention_pair(const Heads& s, std::int64_t pair) {
  const std::int64_t sample = pair / s.heads, head = pair % s.heads;
  return {.by_head = pair * s.tokens * s.head_dim,
          .by_token = (sample * s.tokens * s.heads + head) * s.head_dim,
          .token_row = s.heads * s.head_dim,
          .first_token = pair * s.tokens};
}

template <class T>
T dot_reference(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

template <class T>
void attention_forward_reference(T* y, T* lse, const T* q, const T* k, const T* v, const Heads& s,
                                 Rows pairs) {
  const std::int64_t dim = s.head_dim;
  std::vector<T> p(static_cast<std::size_t>(s.tokens));
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const AttentionPair at = attention_pair(s, pair);
    for (std::int64_t i = 0; i < s.tokens; ++i) {
      const std::int64_t keys = s.causal ? i + 1 : s.tokens;
      T most = -std::numeric_limits<T>::infinity(), sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const T score = dot_reference(q + at.by_head + i * dim, k + at.by_head + j * dim, dim) *
                        static_cast<T>(s.scale);
        p[static_cast<std::size_t>(j)] = score;
        most = score > most ? score : most;
      }
      for (std::int64_t j = 0; j < keys; ++j) {
        T& one = p[static_cast<std::size_t>(j)];
        one = std::exp(one - most);
        sum += one;
      }
      lse[at.first_token + i] = most + std::log(sum);
      T* row = y + at.by_token + i * at.token_row;
      for (std::int64_t c = 0; c < dim; ++c)
        row[c] = 0;
      for (std::int64_t j = 0; j < keys; ++j)
        for (std::int64_t c = 0; c < dim; ++c)
          row[c] += p[static_cast<std::size_t>(j)] / sum * v[at.by_head + j * dim + c];
    }
  }
}

template <class T>
void attention_backward_reference(T* dq, T* dk, T* dv, const T* dy, const T* y, const T* lse,
                                  const T* q, const T* k, const T* v, const Heads& s, Rows pairs) {
  const std::int64_t dim = s.head_dim;
  const T scale = static_cast<T>(s.scale);
  for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const AttentionPair at = attention_pair(s, pair);
    for (std::int64_t e = at.by_head; e < at.by_head + s.tokens * dim; ++e)
      dq[e] = dk[e] = dv[e] = 0;
    for (std::int64_t i = 0; i < s.tokens; ++i) {
      const std::int64_t query = at.by_head + i * dim, out = at.by_token + i * at.token_row;
      const T delta = dot_reference(dy + out, y + out, dim);
      for (std::int64_t j = 0; j < (s.causal ? i + 1 : s.tokens); ++j) {
        const std::int64_t key = at.by_head + j * dim;
        const T p =
            std::exp(dot_reference(q + query, k + key, dim) * scale - lse[at.first_token + i]);
        const T ds = p * (dot_reference(dy + out, v + key, dim) - delta) * scale;
        for (std::int64_t c = 0; c < dim; ++c) {
          dv[key + c] += p * dy[out + c];
          dq[query + c] += ds * k[key + c];
          dk[key + c] += ds * q[query + c];
        }
      }
    }
  }
}

}  // namespace sluice::train::cpu
