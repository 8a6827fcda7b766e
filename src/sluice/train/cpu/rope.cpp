// sluice/train/cpu/rope.cpp - q and k normed per head and turned, compiled once per instruction
// set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/rope.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/train/cpu/rope.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "sluice/train/cpu/vectors-inl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#ifndef SLUICE_TRAIN_CPU_ROPE_ONCE_
#define SLUICE_TRAIN_CPU_ROPE_ONCE_
namespace sluice::train::cpu {

template <class Act>
struct RopeForward {
  Act* q;
  Act* k;
  Act* v;
  float* rstd_q;
  float* rstd_k;
  const Act* qkv;
  const float* gamma_q;
  const float* gamma_k;
  const float* cosine;
  const float* sine;
};
template <class Act>
struct RopeBackward {
  Act* d_qkv;
  float* d_gamma_q;
  float* d_gamma_k;
  const Act* dq;
  const Act* dk;
  const Act* dv;
  const Act* qkv;
  const float* rstd_q;
  const float* rstd_k;
  const float* gamma_q;
  const float* gamma_k;
  const float* cosine;
  const float* sine;
};

}  // namespace sluice::train::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice::train::cpu::HWY_NAMESPACE {

/// A vector of one head's channels, or the end of a span that fills less than one.
struct Piece {
  std::int64_t count;  // 0: a whole vector
  template <class T>
  HWY_INLINE V get(const T* p) const {
    return count == 0 ? load(p) : load_part(p, count);
  }
  template <class T>
  HWY_INLINE void put(V v, T* p) const {
    if (count == 0)
      store(v, p);
    else
      store_part(v, p, count);
  }
};

/// body(piece, low, high) for every vector of pairs (low + j, high + j).
template <class Body>
HWY_INLINE void each_pair(std::int64_t head_dim, std::int64_t span, const Body& body) {
  const std::int64_t half = span / 2, step = lanes();
  for (std::int64_t at = 0; at < head_dim; at += span) {
    std::int64_t i = at;
    for (; i + step <= at + half; i += step)
      body(Piece{0}, i, i + half);
    if (i < at + half) body(Piece{at + half - i}, i, i + half);
  }
}

template <class Act>
HWY_INLINE float mean_square(const Act* x, std::int64_t count) {
  const std::int64_t step = lanes();
  V sum = hn::Zero(F());
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    const V a = load(x + i);
    sum = hn::MulAdd(a, a, sum);
  }
  if (i < count) {
    const V a = load_part(x + i, count - i);
    sum = hn::MulAdd(a, a, sum);
  }
  return sum_of(sum) / static_cast<float>(count);
}

/// One head of q or k: returns rstd.
template <class Act>
HWY_INLINE float turn(Act* y, const Act* x, const float* gamma, const float* cosine,
                      const float* sine, const Heads& s) {
  const float rstd = 1.0F / std::sqrt(mean_square(x, s.head_dim) + s.epsilon);
  const V factor = hn::Set(F(), rstd);
  each_pair(s.head_dim, s.rope_span, [&](Piece piece, std::int64_t i, std::int64_t j) HWY_ATTR {
    const V a = hn::Mul(hn::Mul(piece.get(x + i), piece.get(gamma + i)), factor);
    const V b = hn::Mul(hn::Mul(piece.get(x + j), piece.get(gamma + j)), factor);
    const V turned = hn::NegMulAdd(b, piece.get(sine + i), hn::Mul(a, piece.get(cosine + i)));
    piece.put(hn::MulAdd(a, piece.get(sine + j), hn::Mul(b, piece.get(cosine + j))), y + j);
    piece.put(turned, y + i);
  });
  return rstd;
}

template <class Act>
void forward(const RopeForward<Act>& p, const Heads& s, Rows samples) {
  const std::int64_t dim = s.head_dim, part = s.heads * dim;
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const Act* x = p.qkv + (b * s.tokens + t) * 3 * part;
      const float* cosine = p.cosine + t * dim;
      const float* sine = p.sine + t * dim;
      for (std::int64_t h = 0; h < s.heads; ++h, x += dim) {
        const std::int64_t row = (b * s.heads + h) * s.tokens + t;
        p.rstd_q[row] = turn(p.q + row * dim, x, p.gamma_q, cosine, sine, s);
        p.rstd_k[row] = turn(p.k + row * dim, x + part, p.gamma_k, cosine, sine, s);
        std::copy_n(x + 2 * part, dim, p.v + row * dim);
      }
    }
}

struct Turned {
  V low, high;
};
/// The transpose of the map, of one vector of pairs.
template <class Act>
HWY_INLINE Turned turn_back(Piece piece, const Act* dy, const float* cosine, const float* sine,
                            std::int64_t i, std::int64_t j) {
  const V a = piece.get(dy + i), b = piece.get(dy + j);
  return {hn::MulAdd(b, piece.get(sine + j), hn::Mul(a, piece.get(cosine + i))),
          hn::NegMulAdd(a, piece.get(sine + i), hn::Mul(b, piece.get(cosine + j)))};
}

/// One head of q or k. With n = x·rstd and g = dy turned back: d_gamma += g·n, dx = rstd · (gamma·g
/// − n · mean(gamma·g·n)).
template <class Act>
HWY_INLINE void turn_backward(Act* dx, float* d_gamma, const Act* dy, const Act* x, float rstd,
                              const float* gamma, const float* cosine, const float* sine,
                              const Heads& s) {
  const V factor = hn::Set(F(), rstd);
  V dot = hn::Zero(F());
  each_pair(s.head_dim, s.rope_span, [&](Piece piece, std::int64_t i, std::int64_t j) HWY_ATTR {
    const Turned g = turn_back(piece, dy, cosine, sine, i, j);
    const V low = hn::Mul(hn::Mul(piece.get(x + i), factor), g.low);
    const V high = hn::Mul(hn::Mul(piece.get(x + j), factor), g.high);
    piece.put(hn::Add(piece.get(d_gamma + i), low), d_gamma + i);
    piece.put(hn::Add(piece.get(d_gamma + j), high), d_gamma + j);
    dot = hn::MulAdd(low, piece.get(gamma + i), dot);
    dot = hn::MulAdd(high, piece.get(gamma + j), dot);
  });
  const V mean = hn::Set(F(), sum_of(dot) / static_cast<float>(s.head_dim) * rstd);
  each_pair(s.head_dim, s.rope_span, [&](Piece piece, std::int64_t i, std::int64_t j) HWY_ATTR {
    const Turned g = turn_back(piece, dy, cosine, sine, i, j);
    const V low = hn::NegMulAdd(piece.get(x + i), mean, hn::Mul(g.low, piece.get(gamma + i)));
    const V high = hn::NegMulAdd(piece.get(x + j), mean, hn::Mul(g.high, piece.get(gamma + j)));
    piece.put(hn::Mul(low, factor), dx + i);
    piece.put(hn::Mul(high, factor), dx + j);
  });
}

template <class Act>
void backward(const RopeBackward<Act>& p, const Heads& s, Rows samples) {
  const std::int64_t dim = s.head_dim, part = s.heads * dim;
  for (std::int64_t b = samples.begin; b < samples.end; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const float* cosine = p.cosine + t * dim;
      const float* sine = p.sine + t * dim;
      std::int64_t at = (b * s.tokens + t) * 3 * part;
      for (std::int64_t h = 0; h < s.heads; ++h, at += dim) {
        const std::int64_t row = (b * s.heads + h) * s.tokens + t;
        turn_backward(p.d_qkv + at, p.d_gamma_q, p.dq + row * dim, p.qkv + at, p.rstd_q[row],
                      p.gamma_q, cosine, sine, s);
        turn_backward(p.d_qkv + at + part, p.d_gamma_k, p.dk + row * dim, p.qkv + at + part,
                      p.rstd_k[row], p.gamma_k, cosine, sine, s);
        std::copy_n(p.dv + row * dim, dim, p.d_qkv + at + 2 * part);
      }
    }
}

void rope_forward_f32(const RopeForward<float>& p, const Heads& s, Rows samples) {
  forward(p, s, samples);
}
void rope_forward_bf16(const RopeForward<Bf16>& p, const Heads& s, Rows samples) {
  forward(p, s, samples);
}
void rope_backward_f32(const RopeBackward<float>& p, const Heads& s, Rows samples) {
  backward(p, s, samples);
}
void rope_backward_bf16(const RopeBackward<Bf16>& p, const Heads& s, Rows samples) {
  backward(p, s, samples);
}

}  // namespace sluice::train::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::train::cpu {

HWY_EXPORT(rope_forward_f32);
HWY_EXPORT(rope_forward_bf16);
HWY_EXPORT(rope_backward_f32);
HWY_EXPORT(rope_backward_bf16);

template <>
void qk_norm_rope_forward<float>(float* q, float* k, float* v, float* rstd_q, float* rstd_k,
                                 const float* qkv, const float* gamma_q, const float* gamma_k,
                                 const float* cosine, const float* sine, const Heads& heads,
                                 Rows samples) {
  HWY_DYNAMIC_DISPATCH(rope_forward_f32)
  ({q, k, v, rstd_q, rstd_k, qkv, gamma_q, gamma_k, cosine, sine}, heads, samples);
}
template <>
void qk_norm_rope_forward<Bf16>(Bf16* q, Bf16* k, Bf16* v, float* rstd_q, float* rstd_k,
                                const Bf16* qkv, const float* gamma_q, const float* gamma_k,
                                const float* cosine, const float* sine, const Heads& heads,
                                Rows samples) {
  HWY_DYNAMIC_DISPATCH(rope_forward_bf16)
  ({q, k, v, rstd_q, rstd_k, qkv, gamma_q, gamma_k, cosine, sine}, heads, samples);
}
template <>
void qk_norm_rope_backward<float>(float* d_qkv, float* d_gamma_q, float* d_gamma_k, const float* dq,
                                  const float* dk, const float* dv, const float* qkv,
                                  const float* rstd_q, const float* rstd_k, const float* gamma_q,
                                  const float* gamma_k, const float* cosine, const float* sine,
                                  const Heads& heads, Rows samples) {
  HWY_DYNAMIC_DISPATCH(rope_backward_f32)
  ({d_qkv, d_gamma_q, d_gamma_k, dq, dk, dv, qkv, rstd_q, rstd_k, gamma_q, gamma_k, cosine, sine},
   heads, samples);
}
template <>
void qk_norm_rope_backward<Bf16>(Bf16* d_qkv, float* d_gamma_q, float* d_gamma_k, const Bf16* dq,
                                 const Bf16* dk, const Bf16* dv, const Bf16* qkv,
                                 const float* rstd_q, const float* rstd_k, const float* gamma_q,
                                 const float* gamma_k, const float* cosine, const float* sine,
                                 const Heads& heads, Rows samples) {
  HWY_DYNAMIC_DISPATCH(rope_backward_bf16)
  ({d_qkv, d_gamma_q, d_gamma_k, dq, dk, dv, qkv, rstd_q, rstd_k, gamma_q, gamma_k, cosine, sine},
   heads, samples);
}

}  // namespace sluice::train::cpu
#endif  // HWY_ONCE
