// tests/config/override_test.cpp - --set changes the document, and its errors name the flag.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/override.h"

#include "sluice/config/emit.h"
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::config::override_test {
namespace {

using ::testing::HasSubstr;

Node document() {
  auto node = parse("gate:\n  min_change: 1\njobs:\n  - workers: 2\nname: x\nempty:\n", "f.yaml");
  return std::move(node).value();
}

TEST(Override, ReplacesAddsAndMakesSections) {
  struct Case {
    std::string assignment;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{
           {"name=w", "{gate: {min_change: 1}, jobs: [{workers: 2}], name: w, empty: null}"},
           {"gate.min_change=5%",
            "{gate: {min_change: 5%}, jobs: [{workers: 2}], name: x, empty: null}"},
           {"jobs[0].workers=9",
            "{gate: {min_change: 1}, jobs: [{workers: 9}], name: x, empty: null}"},
           {"jobs=[]", "{gate: {min_change: 1}, jobs: [], name: x, empty: null}"},
           {"gate={}", "{gate: {}, jobs: [{workers: 2}], name: x, empty: null}"},
           {"gate=", "{gate: null, jobs: [{workers: 2}], name: x, empty: null}"},
           {"empty.a.b=[1, z]",
            "{gate: {min_change: 1}, jobs: [{workers: 2}], name: x, empty: {a: {b: [1, z]}}}"},
           {"new=a=b",
            "{gate: {min_change: 1}, jobs: [{workers: 2}], name: x, empty: null, new: \"a=b\"}"},
           {"new='1'",
            "{gate: {min_change: 1}, jobs: [{workers: 2}], name: x, empty: null, new: \"1\"}"},
       }) {
    Node node = document();
    const Status status = apply_override(node, c.assignment);
    ASSERT_TRUE(status) << c.assignment << ": " << status.error().message;
    EXPECT_EQ(to_yaml_line(node), c.expected) << c.assignment;
  }
}

TEST(Override, RefusesWhatHasNoPlace) {
  struct Case {
    std::string assignment;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"", "--set : not of the form key.path=value"},
           {"name", "--set name: not of the form key.path=value"},
           {"=1", "--set =1: not of the form"},
           {"a..b=1", "--set a..b=1: not of the form"},
           {"a.=1", "--set a.=1: not of the form"},
           {"a[x]=1", "not of the form"},
           {"a[1=1", "not of the form"},
           {"a]=1", ""},
           {"name.x=1", "--set name.x=1: 'name' is not a map, it has no key 'x'"},
           {"jobs[1].workers=1", "--set jobs[1].workers=1: 'jobs' has only 1 elements"},
           {"gate[0]=1", "--set gate[0]=1: 'gate' is not a list"},
           {"name=[1", "--set name=[1: a list or a map as a key, or a bracket that is not closed"},
           {"name=\x1b[m", "--set name=\\x1b[m: the control character"},
       }) {
    Node node = document();
    const Status status = apply_override(node, c.assignment);
    if (c.message.empty()) continue;  // odd, but a key like any other
    ASSERT_FALSE(status) << c.assignment;
    EXPECT_EQ(status.error().code, Errc::usage);
    EXPECT_THAT(status.error().message, HasSubstr(c.message));
    EXPECT_TRUE(node.same_content(document())) << c.assignment;
  }
}

TEST(Override, ReadingNamesTheFlagInsteadOfALine) {
  Node node = document();
  ASSERT_TRUE(apply_override(node, "gate.min_change=7"));
  ASSERT_TRUE(apply_override(node, "gate.min_chagne=7"));
  ASSERT_TRUE(apply_override(node, "nmae=7", "--override"));
  double min_change = 0;
  std::string name;
  Reader reader(node);
  reader.read("name", name);
  reader.node("jobs");
  reader.node("empty");
  Reader gate = reader.child("gate");
  gate.read("min_change", min_change, closed_interval(0, 1));
  const Status status = reader.finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "--set gate.min_change=7: gate.min_change: '7' is not in [0, 1]; "
            "--override nmae=7: unknown key 'nmae' (nearest: 'name'); "
            "--set gate.min_chagne=7: unknown key 'gate.min_chagne' (nearest: 'min_change')");
}

}  // namespace
}  // namespace sluice::config::override_test
