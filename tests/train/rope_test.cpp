// tests/train/rope_test.cpp - the tables, the map and its transpose; QK-norm by differences; fast
// paths by the reference.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/rope.h"

#include "sluice/train/cpu/rope_reference.h"
#include "sluice/train/model/rope_tables.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::rope_test {
namespace {

using testing::dot;
using testing::Draws;
using testing::expect_close;
using testing::poisoned;

struct TablePair {
  explicit TablePair(const ModelSpec& model)
      : dim(model.head_dim()),
        cosine(poisoned<float>(model.tokens() * dim)),
        sine(poisoned<float>(model.tokens() * dim)) {
    rope_tables(cosine.data(), sine.data(), model);
  }
  [[nodiscard]] double angle(int token, int channel) const {
    const auto at = static_cast<std::size_t>(token * dim + channel);
    return std::atan2(sine[at], cosine[at]);
  }
  std::int64_t dim;
  std::vector<float> cosine, sine;
};

ModelSpec preset(const char* name) {
  return find_model(name).value();
}

/// The map at one token as a matrix, rows outputs.
std::vector<double> map_at(const TablePair& tables, int token, std::int64_t span) {
  const std::int64_t dim = tables.dim;
  const auto cosine = testing::converted<double>(tables.cosine);
  const auto sine = testing::converted<double>(tables.sine);
  std::vector<double> matrix(static_cast<std::size_t>(dim * dim)), y(static_cast<std::size_t>(dim));
  for (std::int64_t column = 0; column < dim; ++column) {
    std::vector<double> x(static_cast<std::size_t>(dim), 0.0);
    x[static_cast<std::size_t>(column)] = 1;
    rope_reference(y.data(), x.data(), cosine.data() + token * dim, sine.data() + token * dim, dim,
                   span);
    for (std::int64_t row = 0; row < dim; ++row)
      matrix[static_cast<std::size_t>(row * dim + column)] = y[static_cast<std::size_t>(row)];
  }
  return matrix;
}

/// ‖A·Aᵀ − 1‖, the largest element.
double off_orthogonal(const std::vector<double>& a, std::int64_t dim) {
  double worst = 0;
  for (std::int64_t i = 0; i < dim; ++i)
    for (std::int64_t j = 0; j < dim; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < dim; ++c)
        sum += a[static_cast<std::size_t>(i * dim + c)] * a[static_cast<std::size_t>(j * dim + c)];
      worst = std::max(worst, std::abs(sum - (i == j ? 1 : 0)));
    }
  return worst;
}

TEST(RopeTables, Vit5PatchesClassTokenAndRegisters) {
  const ModelSpec model = preset("vit5-small");
  const TablePair tables(model);
  for (const float value : tables.cosine)
    ASSERT_TRUE(std::isfinite(value));
  for (const float value : tables.sine)
    ASSERT_TRUE(std::isfinite(value));
  // Row 7 of the grid, any column: channels 5 and 21 of the row half.
  const int token = 7 * 14 + 3;
  EXPECT_NEAR(tables.angle(token, 5), std::remainder(7 * 0.31622776, 2 * std::acos(-1.0)), 1e-6);
  EXPECT_NEAR(tables.angle(token, 21), 7 * 0.0031622776, 1e-6);
  EXPECT_NEAR(tables.angle(token, 4), tables.angle(token, 5), 0);  // adjacent channels share it
  EXPECT_NEAR(tables.angle(token, 32 + 5), 3 * 0.31622776, 1e-6);  // column 3 in the other half
  EXPECT_NEAR(tables.angle(token, 32), 3, 1e-6);
  const auto class_row = static_cast<std::size_t>(196 * 64);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(tables.cosine[class_row + i], 1.0F);
    EXPECT_EQ(tables.sine[class_row + i], 0.0F);
  }
  // Registers 197..200: (0,0), (0,1), (1,0), (1,1), base 100.
  EXPECT_NEAR(tables.angle(198, 2), 0, 0);
  EXPECT_NEAR(tables.angle(198, 32 + 2), std::pow(100.0, -2.0 / 32), 1e-6);
  EXPECT_NEAR(tables.angle(199, 2), std::pow(100.0, -2.0 / 32), 1e-6);
  EXPECT_NEAR(tables.angle(199, 32 + 2), 0, 0);
  EXPECT_NEAR(tables.angle(200, 31), std::pow(100.0, -30.0 / 32), 1e-6);
}

TEST(RopeTables, Vit5WithoutRegisters) {
  ModelSpec model = preset("vit5-tiny");
  model.registers = 0;
  const TablePair tables(model);
  EXPECT_EQ(tables.cosine.size(), 197U * 64);
  EXPECT_EQ(tables.cosine.back(), 1.0F);
  EXPECT_EQ(tables.sine.back(), 0.0F);
}

TEST(RopeTables, Gpt) {
  const ModelSpec model = preset("gpt-tiny");
  const TablePair tables(model);
  EXPECT_EQ(rope_span(model), 32);
  for (const float value : tables.sine)
    ASSERT_TRUE(std::isfinite(value));
  EXPECT_NEAR(tables.angle(3, 0), 3, 1e-6);
  EXPECT_NEAR(tables.angle(3, 5), 3 * std::pow(10000.0, -10.0 / 32), 1e-6);
  EXPECT_NEAR(tables.angle(3, 5), tables.angle(3, 21), 0);
}

TEST(RopeMap, IsOrthogonalForTheGptOnly) {
  const ModelSpec gpt = preset("gpt-tiny"), vit = preset("vit5-tiny");
  EXPECT_LT(off_orthogonal(map_at(TablePair(gpt), 77, rope_span(gpt)), 32), 1e-6);
  EXPECT_EQ(rope_span(vit), 32);
  EXPECT_GT(off_orthogonal(map_at(TablePair(vit), 7 * 14 + 3, rope_span(vit)), 64), 0.5);
}

TEST(RopeMap, Vit5PairOfTheFacts) {  // position 7, channels 5 and 21: determinant −0.58
  const auto a = map_at(TablePair(preset("vit5-small")), 7 * 14, 32);
  const auto at = [&](std::size_t i, std::size_t j) { return a[i * 64 + j]; };
  EXPECT_NEAR(at(5, 5) * at(21, 21) - at(5, 21) * at(21, 5), -0.58, 0.005);
}

TEST(RopeMap, BackwardIsTheTranspose) {
  for (const char* name : {"vit5-small", "gpt-small"}) {
    const ModelSpec model = preset(name);
    const TablePair tables(model);
    const auto cosine = testing::converted<double>(tables.cosine);
    const auto sine = testing::converted<double>(tables.sine);
    Draws draws(1);
    const auto x = draws.normals<double>(64), y = draws.normals<double>(64);
    auto forward = poisoned<double>(64), backward = poisoned<double>(64);
    const std::int64_t token = 7 * 14 + 3;
    rope_reference(forward.data(), x.data(), &cosine[token * 64], &sine[token * 64], 64,
                   rope_span(model));
    rope_reference_backward(backward.data(), y.data(), &cosine[token * 64], &sine[token * 64], 64,
                            rope_span(model));
    EXPECT_NEAR(dot(forward, y), dot(x, backward), 1e-12) << name;
  }
}

/// Inputs and outputs of both passes. T: everything; Act: what is stored as activations.
template <class Act, class T>
struct Case {
  Case(Draws& draws, const Heads& sizes)
      : s(sizes),
        elements(s.batch * s.tokens * s.heads * s.head_dim),
        rows(s.batch * s.tokens * s.heads),
        qkv(draws.normals<Act>(3 * elements)),
        dq(draws.normals<Act>(elements)),
        dk(draws.normals<Act>(elements)),
        dv(draws.normals<Act>(elements)),
        gamma_q(draws.normals<T>(s.head_dim, 0.3, 1)),
        gamma_k(draws.normals<T>(s.head_dim, 0.3, 1)),
        cosine(draws.normals<T>(s.tokens * s.head_dim)),
        sine(draws.normals<T>(s.tokens * s.head_dim)) {}
  template <class OtherAct, class Other>
  explicit Case(const Case<OtherAct, Other>& from)
      : s(from.s),
        elements(from.elements),
        rows(from.rows),
        qkv(testing::converted<Act>(from.qkv)),
        dq(testing::converted<Act>(from.dq)),
        dk(testing::converted<Act>(from.dk)),
        dv(testing::converted<Act>(from.dv)),
        gamma_q(testing::converted<T>(from.gamma_q)),
        gamma_k(testing::converted<T>(from.gamma_k)),
        cosine(testing::converted<T>(from.cosine)),
        sine(testing::converted<T>(from.sine)) {}

  Heads s;
  std::int64_t elements, rows;
  std::vector<Act> qkv, dq, dk, dv;
  std::vector<T> gamma_q, gamma_k, cosine, sine;
  std::vector<Act> q = poisoned<Act>(elements), k = q, v = q, d_qkv = poisoned<Act>(3 * elements);
  std::vector<T> rstd_q = poisoned<T>(rows), rstd_k = rstd_q;
  std::vector<T> d_gamma_q = std::vector<T>(static_cast<std::size_t>(s.head_dim), T(0.5)),
                 d_gamma_k = d_gamma_q;
};

template <class T>
void run_reference(Case<T, T>& c, Rows samples) {
  qk_norm_rope_forward_reference(c.q.data(), c.k.data(), c.v.data(), c.rstd_q.data(),
                                 c.rstd_k.data(), c.qkv.data(), c.gamma_q.data(), c.gamma_k.data(),
                                 c.cosine.data(), c.sine.data(), c.s, samples);
  qk_norm_rope_backward_reference(c.d_qkv.data(), c.d_gamma_q.data(), c.d_gamma_k.data(),
                                  c.dq.data(), c.dk.data(), c.dv.data(), c.qkv.data(),
                                  c.rstd_q.data(), c.rstd_k.data(), c.gamma_q.data(),
                                  c.gamma_k.data(), c.cosine.data(), c.sine.data(), c.s, samples);
}

template <class Act>
void run_fast(Case<Act, float>& c, Rows samples) {
  qk_norm_rope_forward(c.q.data(), c.k.data(), c.v.data(), c.rstd_q.data(), c.rstd_k.data(),
                       c.qkv.data(), c.gamma_q.data(), c.gamma_k.data(), c.cosine.data(),
                       c.sine.data(), c.s, samples);
  qk_norm_rope_backward(c.d_qkv.data(), c.d_gamma_q.data(), c.d_gamma_k.data(), c.dq.data(),
                        c.dk.data(), c.dv.data(), c.qkv.data(), c.rstd_q.data(), c.rstd_k.data(),
                        c.gamma_q.data(), c.gamma_k.data(), c.cosine.data(), c.sine.data(), c.s,
                        samples);
}

TEST(QkNormRope, ReferenceAgreesWithDifferences) {
  Draws draws(3);
  for (const std::int64_t span : {4, 8}) {
    Case<double, double> c(
        draws,
        {.batch = 1, .tokens = 3, .heads = 2, .head_dim = 8, .rope_span = span, .epsilon = 0.01F});
    const Case<double, double> given = c;
    run_reference(c, {0, 1});
    const auto loss = [&](const std::vector<double>& qkv, const std::vector<double>& gamma_q,
                          const std::vector<double>& gamma_k) {
      Case<double, double> other = given;
      other.qkv = qkv;
      other.gamma_q = gamma_q;
      other.gamma_k = gamma_k;
      run_reference(other, {0, 1});
      return dot(other.q, given.dq) + dot(other.k, given.dk) + dot(other.v, given.dv);
    };
    const auto by_qkv = testing::numeric_gradient(
        [&](const auto& x) { return loss(x, given.gamma_q, given.gamma_k); }, given.qkv);
    const auto by_gamma_q = testing::numeric_gradient(
        [&](const auto& x) { return loss(given.qkv, x, given.gamma_k); }, given.gamma_q);
    const auto by_gamma_k = testing::numeric_gradient(
        [&](const auto& x) { return loss(given.qkv, given.gamma_q, x); }, given.gamma_k);
    for (double& value : c.d_gamma_q)
      value -= 0.5;
    for (double& value : c.d_gamma_k)
      value -= 0.5;
    expect_close(c.d_qkv, by_qkv, "d_qkv", 1e-8);
    expect_close(c.d_gamma_q, by_gamma_q, "d_gamma_q", 1e-8);
    expect_close(c.d_gamma_k, by_gamma_k, "d_gamma_k", 1e-8);
  }
}

/// Samples outside the range keep their poison on both sides: leave them out of the comparison.
template <class T>
std::vector<T> part(const std::vector<T>& all, Rows samples, std::int64_t batch) {
  const auto one = static_cast<std::ptrdiff_t>(all.size()) / batch;
  return {all.begin() + samples.begin * one, all.begin() + samples.end * one};
}

template <class Act>
void compare_with_reference(std::uint64_t seed) {
  Draws draws(seed);
  Heads s{.batch = draws.integer(1, 3),
          .tokens = draws.integer(1, 9),
          .heads = draws.integer(1, 4),
          .head_dim = 4 * draws.integer(1, 17),
          .epsilon = 1e-3F};
  s.rope_span = draws.integer(0, 1) == 0 ? s.head_dim / 2 : s.head_dim;
  const Rows samples{draws.integer(0, s.batch - 1), s.batch};
  SCOPED_TRACE(::testing::Message()
               << s.batch << " x " << s.tokens << " x " << s.heads << " x " << s.head_dim
               << ", span " << s.rope_span << ", from sample " << samples.begin);
  const Case<Act, float> given(draws, s);
  Case<double, double> want(given);
  run_reference(want, samples);
  const auto check = [&](const auto& got, const auto& wanted, const char* what) {
    expect_close(part(got, samples, s.batch), part(wanted, samples, s.batch), what);
    for (const auto value : part(got, {0, samples.begin}, s.batch))
      ASSERT_TRUE(std::isnan(testing::as_double(value))) << what << " was written before the range";
  };
  testing::on_every_target([&] {
    Case<Act, float> fast = given;
    run_fast(fast, samples);
    check(fast.q, want.q, "q");
    check(fast.k, want.k, "k");
    check(fast.v, want.v, "v");
    check(fast.rstd_q, want.rstd_q, "rstd_q");
    check(fast.rstd_k, want.rstd_k, "rstd_k");
    check(fast.d_qkv, want.d_qkv, "d_qkv");
    expect_close(fast.d_gamma_q, want.d_gamma_q, "d_gamma_q");
    expect_close(fast.d_gamma_k, want.d_gamma_k, "d_gamma_k");
  });
}

TEST(QkNormRope, FastPathsAgreeWithTheReference) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    compare_with_reference<float>(seed);
    compare_with_reference<Bf16>(seed);
  }
}

}  // namespace
}  // namespace sluice::train::cpu::rope_test
