// tests/aug/field_test.cpp - parameters and draws as JSON: ranges, unknown names, lists.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/field.h"

#include <gtest/gtest.h>

namespace sluice::aug::field_test {
namespace {

struct Example {
  int count = 3;
  double share = 0.5;
  bool flag = true;
  std::array<double, 2> range{0.25, 0.75};
  Few<int, 4> order{};
  std::string mode = "linear";
  std::uint64_t key = 0;
};

std::vector<Field<Example>> fields() {
  return {field("count", &Example::count, 1, 9),
          field("share", &Example::share, 0, 1),
          field("flag", &Example::flag),
          range("range", &Example::range, 0, 1),
          field("order", &Example::order, 0, 3),
          choice("mode", &Example::mode, {"linear", "corner"}),
          field("key", &Example::key)};
}

std::string refusal(const Json& json) {
  Example example;
  const Status read = from_json(example, json, fields());
  return read ? "accepted" : read.error().message;
}

TEST(Field, RoundTripKeepsEveryValue) {
  Example example;
  example.order.push(2);
  example.order.push(0);
  example.key = 0xFFFFFFFFFFFFFFFFULL;
  Example back;
  ASSERT_TRUE(from_json(back, Json::parse(to_json(fields(), example).dump()), fields()));
  EXPECT_EQ(to_json(fields(), back), to_json(fields(), example));
  EXPECT_EQ(back.key, example.key);
}

TEST(Field, RefusalsNameValueAndWhatIsAccepted) {
  EXPECT_EQ(refusal({{"count", 10}}), "count 10: accepted is an integer, 1 to 9");
  EXPECT_EQ(refusal({{"count", 1.5}}), "count 1.5: accepted is an integer, 1 to 9");
  EXPECT_EQ(refusal({{"share", "x"}}), "share \"x\": accepted is a number, 0 to 1");
  EXPECT_EQ(refusal({{"range", {0.5, 0.4}}}),
            "range [0.5,0.4]: accepted is [from, to] with 0 <= from <= to <= 1");
  EXPECT_EQ(refusal({{"mode", "cubic"}}), "mode \"cubic\": accepted is one of linear, corner");
  EXPECT_EQ(refusal({{"order", {1, 2, 3, 0, 1}}}).find("accepted") != std::string::npos, true);
  EXPECT_EQ(refusal({{"sharre", 1}}).rfind("unknown parameter 'sharre'", 0), 0U);
  EXPECT_EQ(refusal(Json::array()), "[]: accepted is an object of parameters");
}

}  // namespace
}  // namespace sluice::aug::field_test
