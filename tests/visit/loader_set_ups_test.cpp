// tests/visit/loader_set_ups_test.cpp - what is tried of other loaders before the fastest counts.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/loader/peers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

namespace sluice::visit::loader_set_ups_test {
namespace {

using Tried = std::set<std::tuple<int, int, std::string>>;  // workers, prefetch, variant

Tried tried(const std::string& library, bool all) {
  Tried list;
  for (const SetUp& one : set_ups_of(library, 8, all))
    EXPECT_TRUE(list.emplace(one.workers, one.prefetch, one.variant).second) << library;
  return list;
}

TEST(LoaderSetUps, EveryPeerThatLeavesThemToTheUserHasSeveral) {
  EXPECT_EQ(tried("torch-pil", false), (Tried{{1, 2, ""}, {2, 2, ""}, {8, 2, ""}}));
  EXPECT_EQ(tried("dali-cpu", false), (Tried{{8, 2, ""}, {16, 2, ""}, {8, 2, "affinity"}}));
  EXPECT_EQ(tried("spdl", false), (Tried{{8, 2, ""}, {16, 2, ""}, {8, 2, "images"}}));
  for (const char* library : {"torch-tensor", "webdataset", "pyav", "dali-cpu", "spdl"})
    EXPECT_EQ(tried(library, true).size(), 2 * tried(library, false).size()) << library;
  EXPECT_EQ(tried("sluice-python", true), (Tried{{8, 2, ""}}));
}

TEST(LoaderSetUps, TheUsualOneIsComparedFirst) {
  for (const char* library : {"torch-pil", "dali-cpu", "spdl"})
    EXPECT_EQ(set_ups_of(library, 8, false).front().variant, "") << library;
}

}  // namespace
}  // namespace sluice::visit::loader_set_ups_test
