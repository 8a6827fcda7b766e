// tests/train/cuda_products_test.cpp - products on the device against sums in double, for every
// type, layout and addend.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/train/cuda_support.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace sluice::train::cuda::testing::cuda_products_test {
namespace {

using CudaProducts = OnDevice;

enum class Addend { none, other, in_place };

/// Sizes and layout; `gap` elements follow each row, `offset` come before the first.
struct Case {
  std::int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  std::int64_t gap_a = 0, gap_b = 0, gap_d = 0, offset = 0;
  Addend addend = Addend::none;

  [[nodiscard]] std::int64_t lda() const { return (transpose_a ? m : k) + gap_a; }
  [[nodiscard]] std::int64_t ldb() const { return (transpose_b ? k : n) + gap_b; }
  [[nodiscard]] std::int64_t ldd() const { return n + gap_d; }
  [[nodiscard]] std::int64_t a_elements() const { return offset + (transpose_a ? k : m) * lda(); }
  [[nodiscard]] std::int64_t b_elements() const { return offset + (transpose_b ? n : k) * ldb(); }
  [[nodiscard]] std::int64_t d_elements() const { return offset + m * ldd(); }
  [[nodiscard]] std::string words() const {
    return fmt::format("{} x {} x {}, {}{}, gaps {} {} {}, offset {}, addend {}", m, n, k,
                       transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', gap_a, gap_b, gap_d,
                       offset, static_cast<int>(addend));
  }
};

template <class Operand, class Sum>
struct Data {
  std::vector<Operand> a, b;
  std::vector<Sum> c;
};

/// Normal draws, repeated where there are very many. Gaps hold NaN: what is read from them is seen.
template <class T>
std::vector<T> matrix(Draws& draws, std::int64_t elements, std::int64_t offset, std::int64_t ld,
                      std::int64_t columns) {
  constexpr std::int64_t kDrawn = 65537;  // prime: no two rows are the same
  std::vector<T> made = draws.normals<T>(std::min(elements, kDrawn));
  made.reserve(static_cast<std::size_t>(elements));
  for (std::int64_t i = kDrawn; i < elements; ++i)
    made.push_back(made[static_cast<std::size_t>(i - kDrawn)]);
  const T nan = from_double<T>(std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t i = 0; i < elements; ++i)
    if (i < offset || (i - offset) % ld >= columns) made[static_cast<std::size_t>(i)] = nan;
  return made;
}

template <class Operand, class Sum>
Data<Operand, Sum> drawn(Draws& draws, const Case& of) {
  return {
      matrix<Operand>(draws, of.a_elements(), of.offset, of.lda(), of.transpose_a ? of.m : of.k),
      matrix<Operand>(draws, of.b_elements(), of.offset, of.ldb(), of.transpose_b ? of.k : of.n),
      matrix<Sum>(draws, of.d_elements(), of.offset, of.ldd(), of.n)};
}

/// One row of d.
template <class Operand, class Sum>
std::vector<double> row_reference(const Data<Operand, Sum>& data, const Case& of,
                                  std::int64_t row) {
  std::vector<double> sums(static_cast<std::size_t>(of.n));
  for (std::int64_t l = 0; l < of.k; ++l) {
    const double a = as_double(data.a[static_cast<std::size_t>(
        of.offset + (of.transpose_a ? l * of.lda() + row : row * of.lda() + l))]);
    for (std::int64_t j = 0; j < of.n; ++j)
      sums[static_cast<std::size_t>(j)] +=
          a * as_double(data.b[static_cast<std::size_t>(
                  of.offset + (of.transpose_b ? j * of.ldb() + l : l * of.ldb() + j))]);
  }
  if (of.addend != Addend::none)
    for (std::int64_t j = 0; j < of.n; ++j)
      sums[static_cast<std::size_t>(j)] +=
          as_double(data.c[static_cast<std::size_t>(of.offset + row * of.ldd() + j)]);
  return sums;
}

template <class Operand, class Sum>
Product product_of(const Case& of, const Buffer<Sum>& d, const Buffer<Operand>& a,
                   const Buffer<Operand>& b, const Buffer<Sum>& c) {
  Product product{.m = of.m,
                  .n = of.n,
                  .k = of.k,
                  .transpose_a = of.transpose_a,
                  .transpose_b = of.transpose_b,
                  .lda = of.lda(),
                  .ldb = of.ldb(),
                  .ldd = of.ldd(),
                  .d = {d.data() + of.offset, dtype_of<Sum>()},
                  .a = {a.data() + of.offset, dtype_of<Operand>()},
                  .b = {b.data() + of.offset, dtype_of<Operand>()},
                  .c = {}};
  if (of.addend == Addend::other) product.c = {c.data() + of.offset, dtype_of<Sum>()};
  if (of.addend == Addend::in_place) product.c = {d.data() + of.offset, dtype_of<Sum>()};
  return product;
}

/// The rows of d, gaps checked to be as they were.
template <class Sum>
std::vector<std::vector<Sum>> rows_of(const std::vector<Sum>& d, const Case& of) {
  std::vector<std::vector<Sum>> rows;
  for (std::int64_t i = 0; i < of.m; ++i) {
    const std::int64_t begin = of.offset + i * of.ldd();
    rows.push_back(slice(d, begin, begin + of.n));
    for (std::int64_t j = begin + of.n; j < begin + of.ldd(); ++j)
      EXPECT_TRUE(std::isnan(as_double(d[static_cast<std::size_t>(j)]))) << "gap of row " << i;
  }
  return rows;
}

template <class Operand, class Sum>
void expect_product(Draws& draws, const Case& of) {
  SCOPED_TRACE(of.words());
  const Data<Operand, Sum> data = drawn<Operand, Sum>(draws, of);
  const Buffer<Operand> a(data.a), b(data.b);
  const Buffer<Sum> c(data.c);
  const Buffer<Sum> d =
      of.addend == Addend::in_place ? Buffer<Sum>(data.c) : Buffer<Sum>(of.d_elements());
  const Product product = product_of(of, d, a, b, c);
  if (std::same_as<Sum, Bf16> && of.addend == Addend::in_place) {
    ASSERT_EQ(OnDevice::table().multiply(OnDevice::device(), &product), kFailed);
    return;
  }
  ASSERT_EQ(OnDevice::table().multiply(OnDevice::device(), &product), kDone)
      << OnDevice::table().message(OnDevice::device());
  const std::vector<std::vector<Sum>> rows = rows_of(d.values(), of);
  const double noise = 1e-6 * std::sqrt(static_cast<double>(of.k) + 1);
  std::vector<Sum> all;
  std::vector<double> all_wanted;
  for (std::int64_t i = 0; i < of.m; ++i) {
    const std::vector<double> wanted = row_reference(data, of, i);
    const std::vector<Sum>& got = rows[static_cast<std::size_t>(i)];
    if constexpr (std::same_as<Sum, Bf16>) {
      ASSERT_EQ(beyond_bf16(got, wanted, 1, 10 * noise), "") << "row " << i;
    } else {
      all.insert(all.end(), got.begin(), got.end());
      all_wanted.insert(all_wanted.end(), wanted.begin(), wanted.end());
      for (std::size_t j = 0; j < got.size(); ++j)
        ASSERT_NEAR(got[j], wanted[j], 20 * noise) << "row " << i << " column " << j;
    }
  }
  if constexpr (std::same_as<Sum, float>) {
    EXPECT_LE(relative_error(all, all_wanted), 1e-5);
  }
}

Case random_case(Draws& draws) {
  // Most sizes are odd; one in three is what tensor cores like best.
  const bool neat = draws.integer(0, 2) == 0;
  const auto size = [&](std::int64_t most) {
    return neat ? 8 * draws.integer(1, most / 8) : draws.integer(1, most);
  };
  Case of;
  of.m = size(200);
  of.n = size(160);
  of.k = size(300);
  of.transpose_a = draws.integer(0, 1) == 1;
  of.transpose_b = draws.integer(0, 1) == 1;
  if (!neat) {
    of.gap_a = draws.integer(0, 5);
    of.gap_b = draws.integer(0, 5);
    of.gap_d = draws.integer(0, 5);
    of.offset = draws.integer(0, 9);
  }
  of.addend = static_cast<Addend>(draws.integer(0, 2));
  return of;
}

TEST_F(CudaProducts, RandomShapesMatchDouble) {
  Draws draws(401);
  for (int i = 0; i < 12 && !HasFatalFailure(); ++i) {
    expect_product<float, float>(draws, random_case(draws));
    expect_product<Bf16, float>(draws, random_case(draws));
    expect_product<Bf16, Bf16>(draws, random_case(draws));
  }
}

TEST_F(CudaProducts, EveryLayoutAndAddendMatchesDouble) {
  Draws draws(402);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const Addend addend : {Addend::none, Addend::other, Addend::in_place}) {
        Case of{.m = 96,
                .n = 64,
                .k = 136,
                .transpose_a = transpose_a,
                .transpose_b = transpose_b,
                .addend = addend};
        expect_product<float, float>(draws, of);
        expect_product<Bf16, float>(draws, of);
        expect_product<Bf16, Bf16>(draws, of);
        of.n = 61;
        of.gap_d = 4;
        expect_product<Bf16, float>(draws, of);
      }
}

TEST_F(CudaProducts, SizesOfOneAndZero) {
  Draws draws(403);
  for (const Addend addend : {Addend::none, Addend::other, Addend::in_place})
    for (const std::int64_t k : {0, 1, 2})
      for (const std::int64_t n : {0, 1, 33}) {
        const Case of{.m = n == 0 ? 5 : 34 - n, .n = n, .k = k, .gap_d = 1, .addend = addend};
        expect_product<float, float>(draws, of);
        expect_product<Bf16, float>(draws, of);
        expect_product<Bf16, Bf16>(draws, of);
      }
}

TEST_F(CudaProducts, F32IntoBf16IsRoundedOnce) {
  Draws draws(404);
  for (const Addend addend : {Addend::none, Addend::other, Addend::in_place})
    expect_product<float, Bf16>(
        draws, {.m = 37, .n = 41, .k = 29, .transpose_a = true, .gap_d = 3, .addend = addend});
}

/// The shapes of ViT-5-Small at a batch of 256: some rows of each, since the host is slow.
TEST_F(CudaProducts, ShapesOfTheModelMatchDoubleAndRepeatBitByBit) {
  Draws draws(405);
  constexpr std::int64_t kRows = 256 * 201;
  const std::vector<Case> cases = {
      {.m = kRows, .n = 1152, .k = 384, .transpose_b = true},
      {.m = kRows, .n = 384, .k = 1536},
      {.m = 1536, .n = 384, .k = kRows, .transpose_a = true, .addend = Addend::in_place}};
  for (const Case& of : cases) {
    SCOPED_TRACE(of.words());
    const Data<Bf16, float> data = drawn<Bf16, float>(draws, of);
    const Buffer<Bf16> a(data.a), b(data.b);
    const Buffer<float> c(data.c);
    std::vector<float> first;
    for (int turn = 0; turn < 3; ++turn) {
      const Buffer<float> d =
          of.addend == Addend::in_place ? Buffer<float>(data.c) : Buffer<float>(of.d_elements());
      run(product_of(of, d, a, b, c));
      const std::vector<float> got = d.values();
      if (turn == 0) first = got;
      ASSERT_EQ(std::memcmp(first.data(), got.data(), got.size() * sizeof(float)), 0)
          << "turn " << turn;
    }
    for (int i = 0; i < 6; ++i) {
      const std::int64_t row = draws.integer(0, of.m - 1);
      EXPECT_LE(
          relative_error(slice(first, row * of.n, (row + 1) * of.n), row_reference(data, of, row)),
          5e-5)
          << "row " << row;
    }
  }
}

std::vector<std::string> choices_of(const Table& table, Device* device) {
  std::string text(table.choices(device, nullptr, 0), '\0');
  EXPECT_EQ(table.choices(device, text.data(), text.size()), text.size());
  text.pop_back();
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

// Numbers of rows that no other test has.
TEST_F(CudaProducts, AChoiceIsTakenAsOffered) {
  Draws draws(406);
  const auto multiplied = [&](std::int64_t rows) {
    const Case of{.m = rows, .n = 512, .k = 512, .transpose_b = true};
    const Data<Bf16, float> data = drawn<Bf16, float>(draws, of);
    const Buffer<Bf16> a(data.a), b(data.b);
    const Buffer<float> c(data.c), d(of.d_elements());
    run(product_of(of, d, a, b, c));
    const std::vector<float> got = d.values();
    EXPECT_LE(relative_error(slice(got, 0, of.n), row_reference(data, of, 0)), 5e-5);
  };
  const auto line_for = [](std::int64_t rows) {
    std::string found;
    for (const std::string& line : choices_of(table(), device()))
      if (line.starts_with(fmt::format("{} 512 512 ", rows))) found = line.substr(line.find(' '));
    return found;
  };
  EXPECT_EQ(line_for(1664), "");
  multiplied(1664);
  const std::string searched = line_for(1664);
  ASSERT_NE(searched, "");
  const std::string offered = "1792" + searched;
  for (const std::string& bad :
       {std::string("rubbish"), std::string(), offered + " 1", "-" + offered,
        offered.substr(0, offered.size() / 2), "99999999999999999999" + searched})
    ASSERT_EQ(table().offer_choices(device(), bad.c_str()), kDone);
  EXPECT_EQ(line_for(1792), "");
  ASSERT_EQ(table().offer_choices(device(), ("rubbish\n" + offered).c_str()), kDone);
  multiplied(1792);
  EXPECT_EQ(line_for(1792), searched);
}

TEST_F(CudaProducts, WhatCannotBeMultipliedIsSaid) {
  const Buffer<float> memory(std::int64_t{64});
  Product product{.m = 4,
                  .n = 4,
                  .k = 4,
                  .lda = 3,
                  .ldb = 4,
                  .ldd = 4,
                  .d = memory,
                  .a = memory,
                  .b = memory,
                  .c = {}};
  EXPECT_EQ(table().multiply(device(), &product), kFailed);
  EXPECT_NE(std::string(table().message(device())).find("longer than its ld"), std::string::npos)
      << table().message(device());
  product.lda = 4;
  product.b.type = Dtype::bf16;
  EXPECT_EQ(table().multiply(device(), &product), kFailed);
  product.b.type = Dtype::f32;
  product.m = -1;
  EXPECT_EQ(table().multiply(device(), &product), kFailed);
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_products_test
