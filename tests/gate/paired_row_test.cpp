// tests/gate/paired_row_test.cpp - a row of a result set as the value of a pair.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/pairs/paired_row.h"

#include "tests/gate/make_results.h"

namespace sluice::gate::paired_row_test {
namespace {

using ::testing::HasSubstr;

measure::Row of_library(measure::Row row, const std::string& library) {
  row.library = library;
  return row;
}

analysis::ResultSet set_of(const std::vector<measure::Row>& rows) {
  return {"set", {file_of(rows)}};
}

TEST(PairedRow, IsTheGeometricMeanOverRuns) {
  const auto value = row_value(set_of({row_of("decode/jpeg", {100, 400})}), "decode/jpeg");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_NEAR(value->value, 200, 1e-6);
  EXPECT_EQ(value->unit, "img/s");
  EXPECT_EQ(value->better, measure::Better::higher);
}

// A command may print or copy what it likes: the file must be of this run and no other.
TEST(FreshResults, AreOfTheirOwnRun) {
  const auto measured = [](const std::string& session, std::int64_t start_ns) {
    results::ResultFile file = sound_file({row_of("a", {1e9, 1e9})});  // two runs of 1 s
    file.session_id = session;
    for (measure::Run& run : file.rows[0].runs)
      run.start_ns = start_ns;
    return analysis::ResultSet{"result of A", {file}};
  };
  constexpr std::int64_t kS = 1'000'000'000;
  FreshResults fresh;
  EXPECT_TRUE(fresh.add(measured("one", 10 * kS), 9 * kS, 12 * kS));
  EXPECT_TRUE(fresh.add(measured("two", 20 * kS), 20 * kS, 21 * kS));
  const auto again = fresh.add(measured("one", 31 * kS), 30 * kS, 33 * kS);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::measurement);
  EXPECT_THAT(again.error().message, HasSubstr("result of A: session one was there before"));
  for (const std::int64_t start :
       {std::int64_t{0}, 29 * kS, 32 * kS + kS / 2, std::int64_t{1} << 62})
    EXPECT_FALSE(fresh.add(measured("three", start), 30 * kS, 33 * kS)) << start;
  EXPECT_TRUE(fresh.add(measured("three", 31 * kS), 30 * kS, 33 * kS));
}

TEST(PairedRow, TimesStayTimes) {
  measure::Row row = row_of("step", {4, 4});
  row.unit = "s";
  row.better = measure::Better::lower;
  const auto value = row_value(set_of({row}), "step");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_NEAR(value->value, 0.25, 1e-9);
  EXPECT_EQ(value->better, measure::Better::lower);
}

TEST(PairedRow, AmongLibrariesOursIsMeant) {
  const auto set = set_of({of_library(row_of("c", {10}), "pillow"), row_of("c", {20}),
                           of_library(row_of("d", {1}), "x"), of_library(row_of("d", {2}), "y"),
                           of_library(row_of("e", {3}), "z")});
  EXPECT_NEAR(row_value(set, "c")->value, 20, 1e-6);
  EXPECT_NEAR(row_value(set, "pillow:c")->value, 10, 1e-6);
  EXPECT_NEAR(row_value(set, "e")->value, 3, 1e-6);
  const auto two = row_value(set, "d");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, Errc::invalid_input);
  EXPECT_THAT(two.error().message, HasSubstr("LIBRARY:CASE"));
}

TEST(PairedRow, WhatIsNotThereOrNotOkSaysWhy) {
  const auto set =
      set_of({row_of("decode/jpeg", {1}), row_with("bad", measure::RowStatus::failed, "no memory"),
              row_of("empty", {})});
  const auto missing = row_value(set, "decode/jpg");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("did you mean decode/jpeg?"));
  EXPECT_THAT(row_value(set, "zzz").error().message, HasSubstr("there are bad, decode/jpeg"));
  const auto failed = row_value(set, "bad");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::measurement);
  EXPECT_THAT(failed.error().message, HasSubstr("no memory"));
  EXPECT_EQ(row_value(set, "empty").error().code, Errc::measurement);
}

TEST(PairedRow, LoadersAndStoresMayVaryMore) {
  EXPECT_DOUBLE_EQ(default_tau("wall"), 0.03);
  EXPECT_DOUBLE_EQ(default_tau("loader/rrc224"), 0.05);
  EXPECT_DOUBLE_EQ(default_tau("torch-tensor:loader/rrc224"), 0.05);
  EXPECT_DOUBLE_EQ(default_tau("storage/random"), 0.10);
}

}  // namespace
}  // namespace sluice::gate::paired_row_test
