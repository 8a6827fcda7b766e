// bench/attention_speed.cpp - milliseconds and GFLOP/s of attention and QK-norm with RoPE in one
// thread, fp32 and bf16: the quick look while these kernels are being worked on.
// SPDX-License-Identifier: Apache-2.0
//
// usage: attention_speed [SECONDS]     per row, 0.5 unless given. Times are CPU time of the fastest
// call, so that other work on the machine disturbs less.
#include "sluice/core/rng.h"
#include "sluice/train/cpu/attention.h"
#include "sluice/train/cpu/attention_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::train;
using namespace sluice::train::cpu;

struct Case {
  std::string name;
  Heads heads;
};

/// The fastest of many calls, in seconds of this thread.
template <class Body>
double fastest(double seconds, const Body& body) {
  const auto now = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  double best = 1e300;
  for (const double begin = now(); now() - begin < seconds;) {
    const double start = now();
    body();
    best = std::min(best, now() - start);
  }
  return best;
}

template <class Act>
struct Tensors {
  explicit Tensors(const Heads& s)
      : elements(static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_dim)),
        lse(static_cast<std::size_t>(s.batch * s.heads * s.tokens)),
        scratch(attention_scratch_bytes<Act>(s) + 64) {
    Rng rng({.seed = 9});
    for (std::vector<Act>* in : {&q, &k, &v, &dy, &qkv}) {
      in->resize(in == &qkv ? 3 * elements : elements);
      for (Act& value : *in)
        value = stored<Act>(static_cast<float>(rng.normal()));
    }
    for (std::vector<Act>* out : {&y, &dq, &dk, &dv})
      out->resize(elements);
  }
  void* aligned() {
    void* start = scratch.data();
    std::size_t space = scratch.size();
    return std::align(64, scratch.size() - 64, start, space);
  }
  std::size_t elements;
  std::vector<Act> q, k, v, dy, qkv, y, dq, dk, dv;
  std::vector<float> lse;
  std::vector<std::byte> scratch;
};

/// The first pair against the plain loops in double: a wrong result is not worth timing.
template <class Act>
bool is_right(const Heads& s, const Tensors<Act>& t) {
  const auto wide = [&](const std::vector<Act>& values) {
    std::vector<double> made;
    for (const Act value : values)
      made.push_back(static_cast<double>(to_float(value)));
    return made;
  };
  const auto q = wide(t.q), k = wide(t.k), v = wide(t.v), dy = wide(t.dy);
  std::vector<double> y(t.elements), dq(y), dk(y), dv(y), lse(t.lse.size());
  attention_forward_reference(y.data(), lse.data(), q.data(), k.data(), v.data(), s, {0, 1});
  attention_backward_reference(dq.data(), dk.data(), dv.data(), dy.data(), y.data(), lse.data(),
                               q.data(), k.data(), v.data(), s, {0, 1});
  double off = 0, norm = 0;
  const auto compare = [&](const std::vector<Act>& got, const std::vector<double>& want) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.tokens * s.head_dim); ++i) {
      off += std::pow(static_cast<double>(to_float(got[i])) - want[i], 2);
      norm += want[i] * want[i];
    }
  };
  compare(t.dq, dq);
  compare(t.dk, dk);
  compare(t.dv, dv);
  return std::sqrt(off / norm) <= (sizeof(Act) == 2 ? 0.01 : 1e-5);
}

template <class Act>
bool show(const Case& c, const Gemm& gemm, double seconds) {
  const Heads& s = c.heads;
  Tensors<Act> t(s);
  const Rows pairs{0, s.batch * s.heads}, samples{0, s.batch};
  const auto forward = [&] {
    attention_forward(t.y.data(), t.lse.data(), t.q.data(), t.k.data(), t.v.data(), s, gemm,
                      t.aligned(), pairs);
  };
  const auto backward = [&] {
    attention_backward(t.dq.data(), t.dk.data(), t.dv.data(), t.dy.data(), t.y.data(), t.lse.data(),
                       t.q.data(), t.k.data(), t.v.data(), s, gemm, t.aligned(), pairs);
  };
  forward();
  backward();
  const bool right = is_right(s, t);
  const double forward_s = fastest(seconds, forward), backward_s = fastest(seconds, backward);
  std::vector<float> rstd_q(t.lse), rstd_k(t.lse), d_q(static_cast<std::size_t>(s.head_dim)),
      d_k(d_q), gamma(d_q.size(), 1.0F);
  const std::vector<float> table(static_cast<std::size_t>(s.tokens * s.head_dim), 0.7F);
  std::vector<Act> d_qkv(t.qkv.size());
  const double rope_s = fastest(seconds, [&] {
    qk_norm_rope_forward(t.q.data(), t.k.data(), t.v.data(), rstd_q.data(), rstd_k.data(),
                         t.qkv.data(), gamma.data(), gamma.data(), table.data(), table.data(), s,
                         samples);
    qk_norm_rope_backward(d_qkv.data(), d_q.data(), d_k.data(), t.dq.data(), t.dk.data(),
                          t.dv.data(), t.qkv.data(), rstd_q.data(), rstd_k.data(), gamma.data(),
                          gamma.data(), table.data(), table.data(), s, samples);
  });
  const auto tokens = static_cast<double>(s.tokens);
  const double seen = s.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  const double flop = 4e-9 * seen * static_cast<double>(s.head_dim * s.batch * s.heads);
  fmt::print("{:10} {:5} {:8.3f} {:8.3f} {:8.0f} {:8.3f}{}\n", c.name,
             sizeof(Act) == 2 ? "bf16" : "fp32", forward_s * 1e3, backward_s * 1e3,
             3.5 * flop / (forward_s + backward_s), rope_s * 1e3, right ? "" : "  WRONG");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  const auto gemm = Gemm::make();
  if (!gemm) {
    fmt::print(stderr, "{}\n", gemm.error().message);
    return 1;
  }
  const Heads vit{.batch = 8, .tokens = 201, .heads = 3, .head_dim = 64, .rope_span = 32};
  const Heads gpt{.batch = 8,
                  .tokens = 128,
                  .heads = 4,
                  .head_dim = 32,
                  .rope_span = 32,
                  .scale = 0.1767767F,
                  .causal = true};
  const Heads large{
      .batch = 1, .tokens = 1024, .heads = 12, .head_dim = 64, .rope_span = 64, .causal = true};
  fmt::print("{:10} {:5} {:>8} {:>8} {:>8} {:>8}\n", "", "", "forward", "backward", "GFLOP/s",
             "rope");
  bool right = true;
  for (const Case& c : {Case{"vit5-tiny", vit}, Case{"gpt-tiny", gpt}, Case{"gpt-small", large}}) {
    right = show<float>(c, *gemm, seconds) && right;
    if (gemm->has_bf16()) right = show<Bf16>(c, *gemm, seconds) && right;
  }
  return right ? 0 : 1;
}
