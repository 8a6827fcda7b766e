// tests/scenario/spin_test.cpp - the subject of the self-test: a known answer, work that adds up,
// specs that are refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/spin.h"

#include "sluice/scenario/scenario.h"

#include <gtest/gtest.h>

namespace sluice::scenario::spin_test {
namespace {

Result<std::unique_ptr<measure::Subject>> subject(const Json& spec) {
  measure::SubjectContext context;
  context.case_name = kSpinCase;
  context.spec = spec;
  return catalogue().scenarios.at(kSpinCase)(context);
}

TEST(Spin, IsCheckedAgainstAKnownAnswer) {
  const auto made = subject({{"rounds", 2}});
  ASSERT_TRUE(made) << made.error().message;
  const auto digest = (*made)->check();
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(*digest, Spin().digest());
  (*made)->run_pass();
  EXPECT_EQ(*(*made)->check(), *digest);
}

TEST(Spin, EveryRoundChangesTheWordsAndTheSameRoundsGiveTheSame) {
  Spin one, other;
  one.turn(3);
  EXPECT_NE(one.digest(), other.digest());
  other.turn(3);
  EXPECT_EQ(one.digest(), other.digest());
}

TEST(Spin, RoundsThatCannotBeAreRefused) {
  for (const Json& rounds : {Json(0), Json(-1), Json(1.5), Json("2"), Json(), Json(1e12)}) {
    const auto made = subject({{"rounds", rounds}});
    ASSERT_FALSE(made) << rounds;
    EXPECT_EQ(made.error().code, Errc::usage);
    EXPECT_NE(made.error().message.find("expected 1 to"), std::string::npos);
  }
  EXPECT_FALSE(subject(Json()));
}

}  // namespace
}  // namespace sluice::scenario::spin_test
