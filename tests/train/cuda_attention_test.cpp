// tests/train/cuda_attention_test.cpp - attention on the device, fused and not, by the references
// of the CPU in double.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/cuda_attention_case.h"

namespace sluice::train::cuda::cuda_attention_test {
namespace {

using testing::as_double;
using testing::backward_call;
using testing::Buffer;
using testing::converted;
using testing::distance;
using testing::Draws;
using testing::filled;
using testing::forward_call;
using testing::Given;
using testing::heads;
using testing::kFloat;
using testing::kTolerance;
using testing::name_of;
using testing::norm_of;
using testing::OnGpu;
using testing::part_of;
using testing::Wanted;

class Attention : public testing::OnDevice {};

class Fused : public Attention {
 protected:
  template <class Act>
  void check(const Heads& s, bool with_branch, std::uint64_t seed,
             double tolerance = kTolerance<Act>) {
    SCOPED_TRACE(name_of(s) + (std::same_as<Act, float> ? ", f32" : ", bf16") +
                 (with_branch ? ", branch scale" : ""));
    Draws draws(seed);
    const Given<Act> given(draws, s, with_branch);
    const float before = 0.5F;
    const Wanted want = wanted(given, before);
    const OnGpu<Act> in(given);
    const Buffer<Act> y(given.rows * s.head_dim), d_qkv(given.rows * 3 * s.head_dim);
    const Buffer<float> lse(given.rows), d_gamma_q = filled(s.head_dim, before),
                                         d_gamma_k = filled(s.head_dim, before);
    run(forward_call(in, y, lse.data(), s));
    EXPECT_LE(distance(y.values(), want.y), tolerance) << "y";
    EXPECT_LE(distance(lse.values(), want.lse), tolerance) << "lse";
    run(backward_call(in, d_qkv, d_gamma_q.data(), d_gamma_k.data(), y, lse.data(), s));
    const std::vector<Act> got = d_qkv.values();
    const char* names[] = {"dq", "dk", "dv"};
    for (std::int64_t part = 0; part < 3; ++part)
      EXPECT_LE(
          distance(part_of(got, s, part), part_of(want.d_qkv, s, part), norm_of(want.d_qkv) / 2),
          tolerance)
          << names[part];
    // Sums over all rows, each off by what it is rounded by.
    const double floor = norm_of(want.d_qkv) / 2;
    EXPECT_LE(distance(d_gamma_q.values(), want.d_gamma_q, floor), tolerance) << "d_gamma_q";
    EXPECT_LE(distance(d_gamma_k.values(), want.d_gamma_k, floor), tolerance) << "d_gamma_k";
    const std::size_t sample = got.size() / static_cast<std::size_t>(s.batch);
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::size_t i = 0; given.branch_of(b) == 0 && i < sample; ++i)
        ASSERT_EQ(as_double(got[static_cast<std::size_t>(b) * sample + i]), 0);
    // Again: the same bits.
    const Buffer<Act> again(given.rows * 3 * s.head_dim);
    const Buffer<float> again_q = filled(s.head_dim, before), again_k = filled(s.head_dim, before);
    run(backward_call(in, again, again_q.data(), again_k.data(), y, lse.data(), s));
    EXPECT_EQ(converted<double>(again.values()), converted<double>(got));
    EXPECT_EQ(again_q.values(), d_gamma_q.values());
    EXPECT_EQ(again_k.values(), d_gamma_k.values());
    // Only fused forms read it; heads of 16 and 96 have none.
    if (std::same_as<Act, Bf16> && (s.head_dim == 32 || s.head_dim == 64 || s.head_dim == 128))
      check_packed(in, s, y, got);
    if (std::same_as<Act, Bf16> && prepared_elements(s) > 0) check_prepared(in, s, y, got);
  }

  /// With turns that were packed before: the same bits.
  template <class Act>
  void check_packed(const OnGpu<Act>& in, const Heads& s, const Buffer<Act>& y,
                    const std::vector<Act>& d_qkv) {
    const Buffer<float> turns(s.tokens * s.head_dim), lse(s.batch * s.tokens * s.heads),
        d_gamma_q = filled(s.head_dim, 0), d_gamma_k = filled(s.head_dim, 0);
    run(PackTurnsCall{turns.data(), in.cosine.data(), in.sine.data(), s});
    const Buffer<Act> y_again(s.batch * s.tokens * s.heads * s.head_dim),
        d_again(static_cast<std::int64_t>(d_qkv.size()));
    QkvAttentionCall forward = forward_call(in, y_again, lse.data(), s);
    QkvAttentionBackwardCall backward =
        backward_call(in, d_again, d_gamma_q.data(), d_gamma_k.data(), y, lse.data(), s);
    forward.turns = backward.turns = turns.data();
    forward.cosine = forward.sine = backward.cosine = backward.sine = nullptr;
    run(forward);
    EXPECT_EQ(converted<double>(y_again.values()), converted<double>(y.values()));
    run(backward);
    EXPECT_EQ(converted<double>(d_again.values()), converted<double>(d_qkv));
  }

  /// With q and k left by the forward: the same bits.
  template <class Act>
  void check_prepared(const OnGpu<Act>& in, const Heads& s, const Buffer<Act>& y,
                      const std::vector<Act>& d_qkv) {
    const Buffer<Bf16> prepared(prepared_elements(s));
    const Buffer<Act> y_again(s.batch * s.tokens * s.heads * s.head_dim),
        d_again(static_cast<std::int64_t>(d_qkv.size()));
    const Buffer<float> lse(s.batch * s.tokens * s.heads), d_gamma_q = filled(s.head_dim, 0),
                                                           d_gamma_k = filled(s.head_dim, 0);
    run(forward_call(in, y_again, lse.data(), s, prepared.data()));
    EXPECT_EQ(converted<double>(y_again.values()), converted<double>(y.values()));
    run(backward_call(in, d_again, d_gamma_q.data(), d_gamma_k.data(), y, lse.data(), s,
                      prepared.data()));
    EXPECT_EQ(converted<double>(d_again.values()), converted<double>(d_qkv));
  }
};

TEST_F(Fused, Bf16OfEveryLength) {
  std::uint64_t seed = 1;
  for (const std::int64_t tokens :
       {1, 2, 15, 16, 17, 33, 64, 65, 112, 113, 197, 201, 208, 209, 256, 257, 300})
    for (const bool causal : {false, true})
      check<Bf16>(heads(3, tokens, 2, 64, causal), seed % 3 != 0, seed), ++seed;
  check<Bf16>(heads(1, 1024, 2, 64, true), false, 50);
  check<Bf16>(heads(1, 700, 1, 64), true, 51);
}
/// More pairs than one launch has memory for: the bits of a sample alone.
TEST_F(Fused, Bf16OfManyPairs) {
  Heads s = heads(31, 1024, 8, 64, true);
  Draws draws(60);
  const Given<Bf16> all(draws, s, false);
  const auto gradient = [](const Given<Bf16>& given) {
    const OnGpu<Bf16> in(given);
    const Buffer<Bf16> y(given.rows * 64), d_qkv(given.rows * 3 * 64);
    const Buffer<float> lse(given.rows), d_gamma_q = filled(64, 0), d_gamma_k = filled(64, 0);
    run(forward_call(in, y, lse.data(), given.s));
    run(backward_call(in, d_qkv, d_gamma_q.data(), d_gamma_k.data(), y, lse.data(), given.s));
    return converted<double>(d_qkv.values());
  };
  const std::vector<double> together = gradient(all);
  s.batch = 1;
  Given<Bf16> one(draws, s, false);
  one.gamma_q = all.gamma_q, one.gamma_k = all.gamma_k;
  one.cosine = all.cosine, one.sine = all.sine;
  for (const std::int64_t sample : {0, 15, 30}) {
    const auto part = [&](const std::vector<Bf16>& of, std::vector<Bf16>& to) {
      const auto from = of.begin() + sample * static_cast<std::int64_t>(to.size());
      to.assign(from, from + static_cast<std::int64_t>(to.size()));
    };
    part(all.qkv, one.qkv);
    part(all.dy, one.dy);
    const std::vector<double> alone = gradient(one);
    const auto from = together.begin() + sample * static_cast<std::int64_t>(alone.size());
    EXPECT_EQ(std::vector<double>(from, from + static_cast<std::int64_t>(alone.size())), alone)
        << "sample " << sample;
  }
}
TEST_F(Fused, Bf16OfEveryHeadDim) {
  std::uint64_t seed = 100;
  for (const std::int64_t head_dim : {16, 32, 64, 128, 24, 80})
    for (const std::int64_t tokens : {17, 130, 201, 530})
      for (const bool causal : {false, true})
        check<Bf16>(heads(2, tokens, 3, head_dim, causal), seed % 3 != 0, seed), ++seed;
}
TEST_F(Fused, Bf16OfBothSpans) {
  for (const std::int64_t head_dim : {32, 64, 128})
    for (const bool causal : {false, true}) {
      Heads s = heads(2, 75, 2, head_dim, causal);
      for (const std::int64_t span : {head_dim, head_dim / 2, head_dim / 4}) {
        s.rope_span = span;
        check<Bf16>(s, true, 200 + static_cast<std::uint64_t>(span));
      }
    }
  for (const std::int64_t tokens : {193, 201}) {  // what warp groups do
    Heads s = heads(2, tokens, 3, 64);
    s.rope_span = 64;
    check<Bf16>(s, true, 210 + static_cast<std::uint64_t>(tokens));
  }
}
TEST_F(Fused, Bf16OfManyHeads) {
  check<Bf16>(heads(24, 201, 6, 64), true, 301);
}
TEST_F(Fused, LargeScores) {
  Heads s = heads(2, 201, 2, 64);
  s.scale = 1;  // eight times the usual, and so what rounding of q and k does to p
  check<Bf16>(s, false, 302, 3e-2);
}
TEST_F(Fused, Float) {
  std::uint64_t seed = 400;
  for (const std::int64_t tokens : {1, 16, 31, 33, 201, 300})
    for (const bool causal : {false, true})
      check<float>(heads(2, tokens, 2, 64, causal), seed % 3 != 0, seed), ++seed;
  for (const std::int64_t head_dim : {16, 32, 128, 40, 256})
    check<float>(heads(2, 70, 2, head_dim, head_dim == 32), true, ++seed);
}

/// The unfused rung, each kernel by itself.
template <class Act>
void check_unfused(const Heads& s, std::uint64_t seed, auto run) {
  SCOPED_TRACE(name_of(s) + (std::same_as<Act, float> ? ", f32" : ", bf16"));
  Draws draws(seed);
  const Given<Act> given(draws, s, false);
  const Wanted want = wanted(given, 0.5);
  const OnGpu<Act> in(given);
  const std::int64_t n = given.rows * s.head_dim;
  constexpr double tolerance = kTolerance<Act>;

  const Buffer<Act> q(n), k(n), v(n);
  const Buffer<float> rstd_q(given.rows), rstd_k(given.rows);
  run(QkNormRopeCall{.q = q,
                     .k = k,
                     .v = v,
                     .rstd_q = rstd_q.data(),
                     .rstd_k = rstd_k.data(),
                     .qkv = in.qkv,
                     .gamma_q = in.gamma_q.data(),
                     .gamma_k = in.gamma_k.data(),
                     .cosine = in.cosine.data(),
                     .sine = in.sine.data(),
                     .heads = s});
  EXPECT_LE(distance(q.values(), want.q), tolerance) << "q";
  EXPECT_LE(distance(k.values(), want.k), tolerance) << "k";
  EXPECT_EQ(converted<double>(v.values()), want.v);
  EXPECT_LE(distance(rstd_q.values(), want.rstd_q), kFloat) << "rstd_q";
  EXPECT_LE(distance(rstd_k.values(), want.rstd_k), kFloat) << "rstd_k";

  const Buffer<Act> y(n), dq(n), dk(n), dv(n);
  const Buffer<float> lse(given.rows);
  run(AttentionCall{.y = y, .lse = lse.data(), .q = q, .k = k, .v = v, .heads = s});
  EXPECT_LE(distance(y.values(), want.y), tolerance) << "y";
  EXPECT_LE(distance(lse.values(), want.lse), tolerance) << "lse";
  run(AttentionBackwardCall{.dq = dq,
                            .dk = dk,
                            .dv = dv,
                            .dy = in.dy,
                            .y = y,
                            .lse = lse.data(),
                            .q = q,
                            .k = k,
                            .v = v,
                            .heads = s});
  const double floor = norm_of(want.dv) / 2;
  EXPECT_LE(distance(dq.values(), want.dq, floor), tolerance) << "dq";
  EXPECT_LE(distance(dk.values(), want.dk, floor), tolerance) << "dk";
  EXPECT_LE(distance(dv.values(), want.dv, floor), tolerance) << "dv";

  const Buffer<Act> d_qkv(3 * n);
  const Buffer<float> d_gamma_q = filled(s.head_dim, 0.5F), d_gamma_k = filled(s.head_dim, 0.5F);
  run(QkNormRopeBackwardCall{.d_qkv = d_qkv,
                             .d_gamma_q = d_gamma_q.data(),
                             .d_gamma_k = d_gamma_k.data(),
                             .dq = dq,
                             .dk = dk,
                             .dv = dv,
                             .qkv = in.qkv,
                             .rstd_q = rstd_q.data(),
                             .rstd_k = rstd_k.data(),
                             .gamma_q = in.gamma_q.data(),
                             .gamma_k = in.gamma_k.data(),
                             .cosine = in.cosine.data(),
                             .sine = in.sine.data(),
                             .heads = s});
  EXPECT_LE(distance(d_qkv.values(), want.d_qkv), tolerance) << "d_qkv";
  EXPECT_LE(distance(d_gamma_q.values(), want.d_gamma_q, floor), tolerance) << "d_gamma_q";
  EXPECT_LE(distance(d_gamma_k.values(), want.d_gamma_k, floor), tolerance) << "d_gamma_k";
}

TEST_F(Attention, Unfused) {
  std::uint64_t seed = 500;
  const auto runs = [](const KernelCall& call) { run(call); };
  for (const std::int64_t tokens : {1, 16, 33, 201})
    for (const std::int64_t head_dim : {16, 64, 128, 40, 256})
      for (const bool causal : {false, true}) {
        check_unfused<float>(heads(2, tokens, 2, head_dim, causal), ++seed, runs);
        check_unfused<Bf16>(heads(2, tokens, 2, head_dim, causal), ++seed, runs);
      }
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_attention_test
