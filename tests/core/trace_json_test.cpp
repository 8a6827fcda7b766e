// tests/core/trace_json_test.cpp - what is written parses, whatever the names hold.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/trace_json.h"

#include <gtest/gtest.h>

namespace sluice::trace_json_test {
namespace {

Json parsed(TraceJson trace) {
  auto json = parse_json(std::move(trace).finish(), "trace");
  EXPECT_TRUE(json) << json.error().message;
  return json ? *json : Json();
}

TEST(TraceJson, AnEmptyTraceIsADocument) {
  EXPECT_EQ(parsed(TraceJson()), (Json{{"traceEvents", Json::array()}}));
  EXPECT_EQ(parsed(TraceJson(Json{{"a", 1}})), (Json{{"a", 1}, {"traceEvents", Json::array()}}));
}

TEST(TraceJson, EventsKeepTheirFields) {
  TraceJson trace(Json{{"displayTimeUnit", "ms"}});
  trace.name_process(3, "engine");
  trace.name_thread({3, 4}, "main");
  trace.span({3, 4}, 1.25, 0.5, "forward", "region", R"({"step":7})");
  trace.span({3, 4}, 2, 1, "bare");
  trace.instant({3, 4}, 9, "lost");
  trace.counter(3, 10, "ready batches", "ready", -2);
  const Json events = parsed(std::move(trace)).at("traceEvents");
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0]["args"]["name"], "engine");
  EXPECT_EQ(events[1]["tid"], 4);
  EXPECT_EQ(events[2], (Json{{"ph", "X"},
                             {"pid", 3},
                             {"tid", 4},
                             {"ts", 1.25},
                             {"dur", 0.5},
                             {"name", "forward"},
                             {"cat", "region"},
                             {"args", {{"step", 7}}}}));
  EXPECT_FALSE(events[3].contains("cat"));
  EXPECT_FALSE(events[3].contains("args"));
  EXPECT_EQ(events[4]["ph"], "i");
  EXPECT_EQ(events[5]["args"]["ready"], -2);
}

TEST(TraceJson, NamesAreEscaped) {
  const std::string odd = "a\"b\\c\n\x01 {}";
  TraceJson trace;
  trace.span({}, 0, 1, odd, odd);
  trace.name_process(1, "\xff");  // no UTF-8
  const Json events = parsed(std::move(trace)).at("traceEvents");
  EXPECT_EQ(events[0]["name"], odd);
  EXPECT_EQ(events[0]["cat"], odd);
  EXPECT_EQ(events[1]["args"]["name"], "\xef\xbf\xbd");
}

}  // namespace
}  // namespace sluice::trace_json_test
