// tests/core/result_test.cpp - Result carries a value or an error, and the two macros pass errors
// on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace sluice::result_test {
namespace {

Result<std::unique_ptr<int>> half(int n) {
  if (n % 2 != 0) return Error{Errc::invalid_input, "odd"};
  return std::make_unique<int>(n / 2);
}

Result<int> quarter(int n) {
  SLUICE_TRY(auto first, half(n));
  SLUICE_TRY(const auto second, half(*first));
  return *second;
}

Status check(int n) {
  SLUICE_CHECK(quarter(n));
  return ok;
}

TEST(Result, HoldsAValueThatMayOnlyMove) {
  auto result = half(8);
  ASSERT_TRUE(result);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 4);
}

TEST(Result, MacrosReturnTheFirstError) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(7).error().message, "odd");
  EXPECT_EQ(quarter(6).error().code, Errc::invalid_input);
  EXPECT_TRUE(check(4));
  EXPECT_FALSE(check(6));
}

}  // namespace
}  // namespace sluice::result_test
