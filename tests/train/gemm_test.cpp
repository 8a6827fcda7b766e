// tests/train/gemm_test.cpp - matrix products against sums in double: shapes, transposes, gaps
// between rows, both types, one thread and many.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/gemm.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/time.h>
#include <thread>
#include <vector>

namespace sluice::train::cpu::gemm_test {
namespace {

using testing::as_double;
using testing::Draws;
using testing::from_double;

std::int64_t rows_a(const GemmShape& s) {
  return s.transpose_a ? s.k : s.m;
}
std::int64_t rows_b(const GemmShape& s) {
  return s.transpose_b ? s.n : s.k;
}

template <class C, class AB>
struct Operands {
  GemmShape shape;
  std::vector<AB> a, b;
  std::vector<C> c;
};

/// C is NaN where it will not be read; gaps between the rows of A and B are NaN as well.
template <class C, class AB>
Operands<C, AB> draw(Draws& draws, GemmShape s) {
  const double nan = std::nan("");
  Operands<C, AB> made{s, draws.normals<AB>(rows_a(s) * s.lda),
                       draws.normals<AB>(rows_b(s) * s.ldb), draws.normals<C>(s.m * s.ldc)};
  for (std::int64_t i = 0; i < rows_a(s) * s.lda; ++i)
    if (i % s.lda >= (s.transpose_a ? s.m : s.k))
      made.a[static_cast<std::size_t>(i)] = from_double<AB>(nan);
  for (std::int64_t i = 0; i < rows_b(s) * s.ldb; ++i)
    if (i % s.ldb >= (s.transpose_b ? s.k : s.n))
      made.b[static_cast<std::size_t>(i)] = from_double<AB>(nan);
  if (s.beta == 0) made.c = testing::poisoned<C>(s.m * s.ldc);
  return made;
}

/// Each element within the error of its own sum: 2⁻²⁴ per product for fp32 sums, and half a step of
/// bf16 where C is bf16. What lies between the rows of C must be as it was.
template <class C, class AB>
void expect_product(const Operands<C, AB>& in, const std::vector<C>& got, const char* what) {
  const GemmShape& s = in.shape;
  const auto at = [](const auto& values, std::int64_t i) {
    return as_double(values[static_cast<std::size_t>(i)]);
  };
  for (std::int64_t row = 0; row < s.m; ++row)
    for (std::int64_t column = 0; column < s.ldc; ++column) {
      const auto i = static_cast<std::size_t>(row * s.ldc + column);
      if (column >= s.n) {
        ASSERT_EQ(std::memcmp(&got[i], &in.c[i], sizeof(C)), 0) << what << ": wrote in a gap";
        continue;
      }
      double sum = s.beta != 0 ? as_double(in.c[i]) : 0, size = std::abs(sum);
      for (std::int64_t k = 0; k < s.k; ++k) {
        const double term = at(in.a, s.transpose_a ? k * s.lda + row : row * s.lda + k) *
                            at(in.b, s.transpose_b ? column * s.ldb + k : k * s.ldb + column);
        sum += term;
        size += std::abs(term);
      }
      const double steps = std::sqrt(static_cast<double>(s.k + 1)) + 2;
      double allowed = size * steps * std::ldexp(1, -24);
      if constexpr (sizeof(C) == 2) allowed += std::abs(sum) * std::ldexp(1, -8);
      ASSERT_LE(std::abs(as_double(got[i]) - sum), allowed + 1e-30)
          << what << " [" << s.m << ", " << s.n << "] over " << s.k << (s.transpose_a ? " T" : " N")
          << (s.transpose_b ? "T" : "N") << " beta " << s.beta << " at " << row << ", " << column;
    }
}

GemmShape draw_shape(Draws& draws, bool may_add) {
  const auto side = [&] {
    return draws.integer(0, 3) == 0 ? draws.integer(1, 4) : draws.integer(1, 150);
  };
  const auto gap = [&] { return draws.integer(0, 1) == 0 ? 0 : draws.integer(1, 37); };
  GemmShape s{.m = side(), .n = side(), .k = side()};
  s.transpose_a = draws.integer(0, 1) == 1;
  s.transpose_b = draws.integer(0, 1) == 1;
  s.lda = (s.transpose_a ? s.m : s.k) + gap();
  s.ldb = (s.transpose_b ? s.k : s.n) + gap();
  s.ldc = s.n + gap();
  s.beta = may_add && draws.integer(0, 1) == 1 ? 1.0F : 0.0F;
  return s;
}

GemmShape dense_shape(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb,
                      float beta = 0) {
  return {m, n, k, ta, tb, ta ? m : k, tb ? k : n, n, beta};
}

/// A timer that sends a signal to this process every few microseconds, as Ctrl-C does once.
class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 20}, {0, 20}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Signals() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction before_ {};
};

class GemmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Gemm::make();
    if (!made) GTEST_SKIP() << made.error().message;
    gemm_ = *made;
  }

  template <class C, class AB>
  void check(Draws& draws, const GemmShape& shape, Team* team) {
    const auto in = draw<C, AB>(draws, shape);
    std::vector<C> c = in.c;
    if (team != nullptr)
      gemm_(*team, shape, c.data(), in.a.data(), in.b.data());
    else
      gemm_.serial(shape, c.data(), in.a.data(), in.b.data());
    expect_product(in, c, sizeof(AB) == 4 ? "f32" : sizeof(C) == 4 ? "bf16 to f32" : "bf16");
  }

  template <class C, class AB>
  void check_many(std::uint64_t seed, Team* team, int count) {
    Draws draws(seed);
    for (int i = 0; i < count && !HasFatalFailure(); ++i)
      check<C, AB>(draws, draw_shape(draws, sizeof(C) == 4), team);
  }

  template <class C, class AB>
  std::vector<C> product_of(const Operands<C, AB>& in, int threads) {
    Team team(threads);
    std::vector<C> c = in.c;
    gemm_(team, in.shape, c.data(), in.a.data(), in.b.data());
    return c;
  }

  /// Parts have one owner each, so timing is not seen in the bits. (Another team size may be:
  /// libraries choose blocks of k by m and n.)
  template <class C, class AB>
  void expect_same_bits(const GemmShape& shape, int threads) {
    Draws draws(static_cast<std::uint64_t>(shape.m * shape.n + shape.k));
    const auto in = draw<C, AB>(draws, shape);
    const std::vector<C> one = product_of(in, threads), other = product_of(in, threads);
    EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(C)), 0)
        << "[" << shape.m << ", " << shape.n << "] over " << shape.k << " by " << threads;
  }

  template <class C, class AB>
  void expect_undisturbed(const Operands<C, AB>& in) {
    std::vector<C> calm = in.c, disturbed = in.c;
    gemm_.serial(in.shape, calm.data(), in.a.data(), in.b.data());
    const Signals signals;
    for (int i = 0; i < 200; ++i) {
      gemm_.serial(in.shape, disturbed.data(), in.a.data(), in.b.data());
      ASSERT_EQ(std::memcmp(calm.data(), disturbed.data(), calm.size() * sizeof(C)), 0);
    }
  }

  Gemm gemm_;
};

TEST_F(GemmTest, NamesItsLibrary) {
  EXPECT_TRUE(gemm_.library().starts_with("oneDNN ") || gemm_.library().starts_with("OpenBLAS "))
      << gemm_.library();
}

TEST_F(GemmTest, RandomShapesInFloat) {
  check_many<float, float>(1, nullptr, 300);
}

TEST_F(GemmTest, RandomShapesInBf16) {
  if (!gemm_.has_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  check_many<float, Bf16>(2, nullptr, 150);
  check_many<Bf16, Bf16>(3, nullptr, 150);
}

TEST_F(GemmTest, RandomShapesOverATeam) {
  for (const int threads : {2, 3}) {
    Team team(threads);
    check_many<float, float>(4, &team, 60);
    if (!gemm_.has_bf16()) continue;
    check_many<float, Bf16>(5, &team, 60);
    check_many<Bf16, Bf16>(6, &team, 60);
  }
}

/// A layer of vit5-tiny: forward, dX and dW (added), and attention's scores.
TEST_F(GemmTest, ShapesOfTheModels) {
  Team team(2);
  Draws draws(7);
  for (const GemmShape& shape :
       {dense_shape(402, 576, 192, false, true), dense_shape(402, 192, 576, false, false),
        dense_shape(576, 192, 402, true, false, 1), dense_shape(201, 201, 64, false, true),
        dense_shape(201, 64, 201, true, false)}) {
    check<float, float>(draws, shape, &team);
    if (gemm_.has_bf16()) check<float, Bf16>(draws, shape, &team);
    if (gemm_.has_bf16() && shape.beta == 0) check<Bf16, Bf16>(draws, shape, &team);
  }
}

/// oneDNN 2.6.3 writes anywhere when a signal meets one of its AVX-512 kernels.
TEST_F(GemmTest, SignalsDisturbNoProduct) {
  Draws draws(9);
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
    const auto floats = draw<float, float>(draws, draw_shape(draws, false));
    expect_undisturbed(floats);
    if (gemm_.has_bf16() && i % 4 == 0)
      expect_undisturbed(draw<Bf16, Bf16>(draws, draw_shape(draws, false)));
  }
}

/// oneDNN 2.6.3 dies of an illegal instruction at k = 63, for some m.
TEST_F(GemmTest, SixtyThreeTerms) {
  Draws draws(8);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      check<float, float>(draws, dense_shape(80, 7, 63, ta, tb), nullptr);
      if (!gemm_.has_bf16()) continue;
      check<float, Bf16>(draws, dense_shape(139, 8, 63, ta, tb, 1), nullptr);
      check<Bf16, Bf16>(draws, dense_shape(80, 7, 63, ta, tb), nullptr);
      check<Bf16, Bf16>(draws, dense_shape(41, 300, 63, ta, tb), nullptr);
    }
}

TEST_F(GemmTest, EmptySumsClearOrKeep) {
  std::vector<float> c(6, 7.0F);
  const float nothing = 0;
  gemm_.serial({.m = 2, .n = 2, .k = 0, .lda = 0, .ldb = 2, .ldc = 3, .beta = 1}, c.data(),
               &nothing, &nothing);
  EXPECT_EQ(c, std::vector<float>(6, 7.0F));
  gemm_.serial({.m = 2, .n = 2, .k = 0, .lda = 0, .ldb = 2, .ldc = 3}, c.data(), &nothing,
               &nothing);
  EXPECT_EQ(c, (std::vector<float>{0, 0, 7, 0, 0, 7}));
}

TEST_F(GemmTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 6; ++i)
    threads.emplace_back([this, i] {
      check_many<float, float>(10 + i, nullptr, 30);
      if (gemm_.has_bf16()) check_many<float, Bf16>(20 + i, nullptr, 20);
      if (gemm_.has_bf16()) check_many<Bf16, Bf16>(30 + i, nullptr, 20);
    });
  for (std::thread& thread : threads)
    thread.join();
}

TEST_F(GemmTest, SameBitsEachTime) {
  for (const GemmShape& shape :
       {dense_shape(1608, 192, 192, false, true), dense_shape(192, 192, 1608, true, false, 1),
        dense_shape(8, 1000, 192, false, true)})
    for (const int threads : {2, 3}) {
      expect_same_bits<float, float>(shape, threads);
      if (!gemm_.has_bf16()) continue;
      expect_same_bits<float, Bf16>(shape, threads);
      if (shape.beta == 0) expect_same_bits<Bf16, Bf16>(shape, threads);
    }
}

}  // namespace
}  // namespace sluice::train::cpu::gemm_test
