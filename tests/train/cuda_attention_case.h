// tests/train/cuda_attention_case.h - random inputs of attention, and what double makes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cpu/attention_reference.h"
#include "sluice/train/cpu/rope_reference.h"

#include "tests/train/cuda_support.h"
#include <cmath>
#include <string>
#include <vector>

namespace sluice::train::cuda::testing {

inline constexpr double kFloat = 1e-5;
/// Operands of the products are rounded to bf16 (2⁻⁹ each), and what is stored: 3e-3 to 5e-3 is
/// what comes out.
inline constexpr double kBf16 = 1e-2;
template <class Act>
constexpr double kTolerance = std::same_as<Act, float> ? kFloat : kBf16;

inline std::string name_of(const Heads& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.tokens) + " x " +
         std::to_string(s.heads) + " x " + std::to_string(s.head_dim) + ", span " +
         std::to_string(s.rope_span) + (s.causal ? ", causal" : "");
}

/// ‖got − want‖ / max(‖want‖, floor): a gradient that is nearly zero (one key) has no norm to be
/// relative to.
template <class A>
double distance(const std::vector<A>& got, const std::vector<double>& want, double floor = 0) {
  std::vector<A> with = got;
  std::vector<double> wanted = want;
  with.push_back(from_double<A>(floor));
  wanted.push_back(as_double(with.back()));
  return relative_error(with, wanted);
}
/// Gradients are added to what is there.
inline Buffer<float> filled(std::int64_t count, float with) {
  return Buffer<float>(std::vector<float>(static_cast<std::size_t>(count), with));
}
inline double norm_of(const std::vector<double>& values) {
  return std::sqrt(dot(values, values));
}

/// What both forms start from.
template <class Act>
struct Given {
  Given(Draws& draws, const Heads& sizes, bool with_branch)
      : s(sizes),
        rows(s.batch * s.tokens * s.heads),
        qkv(draws.normals<Act>(rows * 3 * s.head_dim, 0.7)),
        dy(draws.normals<Act>(rows * s.head_dim)),
        gamma_q(draws.normals<float>(s.head_dim, 0.2, 1)),
        gamma_k(draws.normals<float>(s.head_dim, 0.2, 1)),
        cosine(draws.normals<float>(s.tokens * s.head_dim)),
        sine(cosine.size()) {
    // No rotation: an angle for every channel, or for two neighbours where spans are half a head.
    const std::size_t alike = s.rope_span < s.head_dim ? 2 : 1;
    for (std::size_t i = 0; i < sine.size(); ++i)
      sine[i] = 3 * cosine[i / alike * alike];
    for (std::size_t i = 0; i < sine.size(); ++i)
      cosine[i] = std::cos(sine[i]), sine[i] = std::sin(sine[i]);
    for (std::int64_t b = 0; with_branch && b < s.batch; ++b)
      branch.push_back(b % 3 == 1 ? 0.0F : 1.25F);
  }
  [[nodiscard]] double branch_of(std::int64_t sample) const {
    return branch.empty() ? 1.0 : branch[static_cast<std::size_t>(sample)];
  }
  Heads s;
  std::int64_t rows;
  std::vector<Act> qkv, dy;
  std::vector<float> gamma_q, gamma_k, cosine, sine, branch;
};

/// All of it in double.
struct Wanted {
  std::vector<double> q, k, v, rstd_q, rstd_k, y, lse, dq, dk, dv, d_qkv, d_gamma_q, d_gamma_k;
};
template <class Act>
Wanted wanted(const Given<Act>& given, double d_gamma_before) {
  const Heads& s = given.s;
  const auto n = static_cast<std::size_t>(given.rows * s.head_dim);
  const auto rows = static_cast<std::size_t>(given.rows);
  const auto dim = static_cast<std::size_t>(s.head_dim);
  const std::vector<double> qkv = converted<double>(given.qkv),
                            gamma_q = converted<double>(given.gamma_q),
                            gamma_k = converted<double>(given.gamma_k),
                            cosine = converted<double>(given.cosine),
                            sine = converted<double>(given.sine);
  std::vector<double> dy = converted<double>(given.dy);
  Wanted w;
  w.q = w.k = w.v = w.y = w.dq = w.dk = w.dv = std::vector<double>(n);
  w.rstd_q = w.rstd_k = w.lse = std::vector<double>(rows);
  w.d_qkv.resize(3 * n);
  w.d_gamma_q = w.d_gamma_k = std::vector<double>(dim, d_gamma_before);
  cpu::qk_norm_rope_forward_reference(w.q.data(), w.k.data(), w.v.data(), w.rstd_q.data(),
                                      w.rstd_k.data(), qkv.data(), gamma_q.data(), gamma_k.data(),
                                      cosine.data(), sine.data(), s, {0, s.batch});
  const cpu::Rows pairs{0, s.batch * s.heads};
  cpu::attention_forward_reference(w.y.data(), w.lse.data(), w.q.data(), w.k.data(), w.v.data(), s,
                                   pairs);
  const std::size_t sample = n / static_cast<std::size_t>(s.batch);
  for (std::size_t i = 0; i < n; ++i)
    dy[i] *= given.branch_of(static_cast<std::int64_t>(i / sample));
  cpu::attention_backward_reference(w.dq.data(), w.dk.data(), w.dv.data(), dy.data(), w.y.data(),
                                    w.lse.data(), w.q.data(), w.k.data(), w.v.data(), s, pairs);
  cpu::qk_norm_rope_backward_reference(w.d_qkv.data(), w.d_gamma_q.data(), w.d_gamma_k.data(),
                                       w.dq.data(), w.dk.data(), w.dv.data(), qkv.data(),
                                       w.rstd_q.data(), w.rstd_k.data(), gamma_q.data(),
                                       gamma_k.data(), cosine.data(), sine.data(), s, {0, s.batch});
  for (std::size_t i = 0; i < n; ++i)
    w.y[i] *= given.branch_of(static_cast<std::int64_t>(i / sample));
  return w;
}

/// Part 0, 1 or 2 of [batch, tokens, 3, heads, head_dim].
template <class T>
std::vector<T> part_of(const std::vector<T>& qkv, const Heads& s, std::int64_t part) {
  std::vector<T> made;
  const std::int64_t one = s.heads * s.head_dim;
  for (std::int64_t row = 0; row < s.batch * s.tokens; ++row) {
    const auto from = qkv.begin() + (row * 3 + part) * one;
    made.insert(made.end(), from, from + one);
  }
  return made;
}

/// A call's inputs on the device.
template <class Act>
struct OnGpu {
  explicit OnGpu(const Given<Act>& given)
      : qkv(given.qkv),
        dy(given.dy),
        gamma_q(given.gamma_q),
        gamma_k(given.gamma_k),
        cosine(given.cosine),
        sine(given.sine),
        branch(given.branch),
        has_branch(!given.branch.empty()) {}
  [[nodiscard]] const float* scale() const { return has_branch ? branch.data() : nullptr; }
  Buffer<Act> qkv, dy;
  Buffer<float> gamma_q, gamma_k, cosine, sine, branch;
  bool has_branch;
};

template <class Act>
QkvAttentionCall forward_call(const OnGpu<Act>& in, Written y, float* lse, const Heads& s,
                              void* prepared = nullptr) {
  return {.y = y,
          .lse = lse,
          .qkv = in.qkv,
          .gamma_q = in.gamma_q.data(),
          .gamma_k = in.gamma_k.data(),
          .cosine = in.cosine.data(),
          .sine = in.sine.data(),
          .branch_scale = in.scale(),
          .heads = s,
          .prepared = prepared};
}
template <class Act>
QkvAttentionBackwardCall backward_call(const OnGpu<Act>& in, Written d_qkv, float* d_gamma_q,
                                       float* d_gamma_k, Read y, const float* lse, const Heads& s,
                                       void* prepared = nullptr) {
  return {.d_qkv = d_qkv,
          .d_gamma_q = d_gamma_q,
          .d_gamma_k = d_gamma_k,
          .dy = in.dy,
          .y = y,
          .lse = lse,
          .qkv = in.qkv,
          .gamma_q = in.gamma_q.data(),
          .gamma_k = in.gamma_k.data(),
          .cosine = in.cosine.data(),
          .sine = in.sine.data(),
          .branch_scale = in.scale(),
          .heads = s,
          .prepared = prepared};
}

inline Heads heads(std::int64_t batch, std::int64_t tokens, std::int64_t count,
                   std::int64_t head_dim, bool causal = false) {
  return {.batch = batch,
          .tokens = tokens,
          .heads = count,
          .head_dim = head_dim,
          .rope_span = causal ? head_dim : head_dim / 2,
          .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
          .causal = causal};
}

}  // namespace sluice::train::cuda::testing
