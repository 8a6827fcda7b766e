// tests/core/json_test.cpp - order kept, broken text refused in one line, depth limited.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const auto json = parse_json(R"({"z": 1, "a": [true, null], "m": "x"})", "test");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->dump(), R"({"z":1,"a":[true,null],"m":"x"})");
}

TEST(ParseJson, RefusesBrokenTextInOneLine) {
  for (const std::string text :
       {"", "{", "[1,]", "{\"a\":}", "nul", "1 2", "\"\n\"", "\"\xff\"", "1e999", "{\"a\" 1}"}) {
    const auto json = parse_json(text, "results/a.json");
    ASSERT_FALSE(json.has_value()) << text;
    EXPECT_EQ(json.error().code, Errc::invalid_input);
    EXPECT_THAT(json.error().message, HasSubstr("results/a.json: not valid JSON: "));
    EXPECT_THAT(json.error().message, Not(HasSubstr("\n")));
    EXPECT_THAT(json.error().message, Not(HasSubstr("json.exception")));
  }
}

TEST(ParseJson, SaysWhere) {
  const auto json = parse_json("{\n  \"a\": x\n}", "f");
  ASSERT_FALSE(json.has_value());
  EXPECT_THAT(json.error().message, HasSubstr("line 2, column 8"));
}

TEST(ParseJson, LimitsTheDepth) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nested(64), "f").has_value());
  const auto deep = parse_json(nested(65), "f");
  ASSERT_FALSE(deep.has_value());
  EXPECT_THAT(deep.error().message, HasSubstr("deeper than 64 levels"));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "f").has_value());
  EXPECT_TRUE(parse_json('"' + std::string(100, '[') + "\\\"[\"", "f").has_value());  // in a string
}

TEST(DumpJson, ReplacesWhatIsNotUtf8) {
  const Json json{{"name",
                   "a\xff"
                   "b"}};
  EXPECT_EQ(dump_json(json, -1),
            "{\"name\":\"a\xef\xbf\xbd"
            "b\"}");
  EXPECT_EQ(dump_json(Json{{"a", 1}}), "{\n  \"a\": 1\n}");
}

}  // namespace
}  // namespace sluice::json_test
