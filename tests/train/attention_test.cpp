// tests/train/attention_test.cpp - the reference by differences, the fast paths by the reference.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/attention.h"

#include "sluice/train/cpu/attention_reference.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::attention_test {
namespace {

using testing::converted;
using testing::dot;
using testing::Draws;
using testing::expect_close;
using testing::poisoned;

/// Inputs and outputs of both passes; lse in T.
template <class Act, class T>
struct Case {
  Case(Draws& draws, const Heads& sizes)
      : s(sizes),
        elements(s.batch * s.tokens * s.heads * s.head_dim),
        q(draws.normals<Act>(elements)),
        k(draws.normals<Act>(elements)),
        v(draws.normals<Act>(elements)),
        dy(draws.normals<Act>(elements)) {}
  template <class OtherAct, class Other>
  explicit Case(const Case<OtherAct, Other>& from)
      : s(from.s),
        elements(from.elements),
        q(converted<Act>(from.q)),
        k(converted<Act>(from.k)),
        v(converted<Act>(from.v)),
        dy(converted<Act>(from.dy)) {}

  Heads s;
  std::int64_t elements;
  std::vector<Act> q, k, v, dy;
  std::vector<Act> y = poisoned<Act>(elements), dq = y, dk = y, dv = y;
  std::vector<T> lse = poisoned<T>(s.batch * s.heads * s.tokens);
};

template <class T>
void run_reference(Case<T, T>& c, Rows pairs) {
  attention_forward_reference(c.y.data(), c.lse.data(), c.q.data(), c.k.data(), c.v.data(), c.s,
                              pairs);
  attention_backward_reference(c.dq.data(), c.dk.data(), c.dv.data(), c.dy.data(), c.y.data(),
                               c.lse.data(), c.q.data(), c.k.data(), c.v.data(), c.s, pairs);
}

/// Poisoned, and followed by bytes that must stay: a write beyond the stated size is seen.
struct Scratch {
  static constexpr std::size_t kGuard = 64;
  explicit Scratch(std::size_t bytes) : size(bytes), memory(bytes + 64 + kGuard, 0xff) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    start = memory.data() + (past == 0 ? 0 : 64 - past);
  }
  ~Scratch() {
    for (std::size_t i = 0; i < kGuard; ++i)
      EXPECT_EQ(start[size + i], 0xff);
  }
  std::size_t size;
  std::vector<unsigned char> memory;
  unsigned char* start;
};

template <class Act>
void run_fast(Case<Act, float>& c, const Gemm& gemm, Rows pairs) {
  const Scratch forward(attention_scratch_bytes<Act>(c.s));
  attention_forward(c.y.data(), c.lse.data(), c.q.data(), c.k.data(), c.v.data(), c.s, gemm,
                    forward.start, pairs);
  const Scratch backward(attention_scratch_bytes<Act>(c.s));
  attention_backward(c.dq.data(), c.dk.data(), c.dv.data(), c.dy.data(), c.y.data(), c.lse.data(),
                     c.q.data(), c.k.data(), c.v.data(), c.s, gemm, backward.start, pairs);
}

/// y and dy lie token by token: rows of one pair, one after the other.
template <class T>
std::vector<T> by_pair(const std::vector<T>& values, const Heads& s) {
  std::vector<T> made;
  for (std::int64_t pair = 0; pair < s.batch * s.heads; ++pair) {
    const AttentionPair at = attention_pair(s, pair);
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const auto first = values.begin() + at.by_token + t * at.token_row;
      made.insert(made.end(), first, first + s.head_dim);
    }
  }
  return made;
}
template <class T>
std::vector<T> part(const std::vector<T>& values, Rows pairs, const Heads& s) {
  const auto one = static_cast<std::ptrdiff_t>(values.size()) / (s.batch * s.heads);
  return {values.begin() + pairs.begin * one, values.begin() + pairs.end * one};
}

/// float: 1e-5. Bf16: P, dS and what is stored are rounded, and sums of them: a few 2⁻⁸ of the
/// norm.
template <class Act>
constexpr double kTolerance = std::same_as<Act, float> ? 1e-5 : 1.0 / 128;

/// With a one at the end: a gradient that is zero (one key) has no norm to be relative to.
template <class A, class B>
double distance(std::vector<A> got, std::vector<B> want) {
  got.push_back(testing::from_double<A>(1));
  want.push_back(1);
  return testing::relative_error(got, want);
}

template <class Act>
void compare_with_reference(const Heads& s, Rows pairs, Draws& draws, const Gemm& gemm) {
  SCOPED_TRACE(::testing::Message()
               << s.batch << " x " << s.tokens << " x " << s.heads << " x " << s.head_dim
               << (s.causal ? ", causal" : "") << ", pairs " << pairs.begin << " to " << pairs.end);
  const Case<Act, float> given(draws, s);
  Case<double, double> want(given);
  run_reference(want, pairs);
  const auto check = [&](const auto& got, const auto& wanted, const char* what) {
    EXPECT_LE(distance(part(got, pairs, s), part(wanted, pairs, s)), kTolerance<Act>) << what;
    for (const auto value : part(got, {0, pairs.begin}, s))
      ASSERT_TRUE(std::isnan(testing::as_double(value))) << what << " was written before the range";
  };
  testing::on_every_target([&] {
    Case<Act, float> fast = given;
    run_fast(fast, gemm, pairs);
    check(by_pair(fast.y, s), by_pair(want.y, s), "y");
    check(fast.lse, want.lse, "lse");
    check(fast.dq, want.dq, "dq");
    check(fast.dk, want.dk, "dk");
    check(fast.dv, want.dv, "dv");
  });
}

template <class Act>
void compare_random(const Gemm& gemm, int cases) {
  for (int i = 0; i < cases; ++i) {
    Draws draws(static_cast<std::uint64_t>(i));
    const Heads s{.batch = draws.integer(1, 2),
                  .tokens = draws.integer(1, 70),
                  .heads = draws.integer(1, 3),
                  .head_dim = 4 * draws.integer(1, 16),
                  .scale = 0.2F,
                  .causal = i % 2 == 0};
    const std::int64_t all = s.batch * s.heads, begin = draws.integer(0, all - 1);
    compare_with_reference<Act>(s, {begin, draws.integer(begin + 1, all)}, draws, gemm);
  }
}

/// The shape of ViT-5, and one so long that scores are cut into blocks of queries.
template <class Act>
void compare_long(const Gemm& gemm) {
  Draws draws(11);
  for (const bool causal : {false, true}) {
    compare_with_reference<Act>(
        {.batch = 1, .tokens = 201, .heads = 3, .head_dim = 64, .causal = causal}, {1, 3}, draws,
        gemm);
    compare_with_reference<Act>(
        {.batch = 1, .tokens = 500, .heads = 2, .head_dim = 16, .scale = 0.25F, .causal = causal},
        {1, 2}, draws, gemm);
  }
}

TEST(Attention, ReferenceAgreesWithDifferences) {
  Draws draws(5);
  for (const bool causal : {false, true}) {
    const Heads s{
        .batch = 1, .tokens = 5, .heads = 2, .head_dim = 4, .scale = 0.4F, .causal = causal};
    const Case<double, double> given(draws, s);
    Case<double, double> c = given;
    run_reference(c, {0, 2});
    const auto gradient = [&](auto member) {
      return testing::numeric_gradient(
          [&](const std::vector<double>& x) {
            Case<double, double> other = given;
            other.*member = x;
            attention_forward_reference(other.y.data(), other.lse.data(), other.q.data(),
                                        other.k.data(), other.v.data(), s, {0, 2});
            return dot(other.y, given.dy);
          },
          given.*member);
    };
    expect_close(c.dq, gradient(&Case<double, double>::q), "dq", 1e-8);
    expect_close(c.dk, gradient(&Case<double, double>::k), "dk", 1e-8);
    expect_close(c.dv, gradient(&Case<double, double>::v), "dv", 1e-8);
  }
}

TEST(Attention, FloatAgreesWithTheReference) {
  compare_random<float>(Gemm(), 60);
  compare_long<float>(Gemm());
}

TEST(Attention, LargeScoresStayFinite) {  // far beyond what exp() can hold
  testing::on_every_target([] {
    Draws draws(2);
    const Heads s{
        .batch = 1, .tokens = 33, .heads = 1, .head_dim = 32, .scale = 40, .causal = true};
    Case<float, float> fast(draws, s);
    Case<double, double> want(fast);
    run_reference(want, {0, 1});
    run_fast(fast, Gemm(), {0, 1});
    EXPECT_LE(testing::relative_error(fast.y, want.y), 1e-4);
    EXPECT_LE(testing::relative_error(fast.dv, want.dv), 1e-4);
    for (const float value : fast.dq)
      EXPECT_TRUE(std::isfinite(value));
  });
}

TEST(Attention, Bf16AgreesWithTheReference) {
  const auto gemm = Gemm::make();
  if (!gemm || !gemm.value().has_bf16()) GTEST_SKIP() << "no bf16 products here";
  compare_random<Bf16>(gemm.value(), 60);
  compare_long<Bf16>(gemm.value());
}

}  // namespace
}  // namespace sluice::train::cpu::attention_test
