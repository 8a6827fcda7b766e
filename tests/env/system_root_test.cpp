// tests/env/system_root_test.cpp - reading and parsing kernel files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/system_root.h"

#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::system_root_test {
namespace {

TEST(SystemRoot, ReadsBelowItsPrefixAndTrimsTheEnd) {
  fixture::Tree tree;
  tree.file("/proc/a", "one\ntwo \n\n");
  EXPECT_EQ(*tree.root().read("/proc/a"), "one\ntwo");
  EXPECT_EQ(*tree.root().read("/proc/a", 3), "one");
}

TEST(SystemRoot, NamesWhatIsMissing) {
  fixture::Tree tree;
  const auto text = tree.root().read("/proc/none");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.reason, "/proc/none is absent");
  EXPECT_TRUE(tree.root().list("/sys/none").empty());
  EXPECT_FALSE(tree.root().exists("/sys/none"));
}

TEST(SystemRoot, AFolderIsNotAFile) {
  fixture::Tree tree;
  tree.file("/proc/folder/a", "x");
  const auto text = tree.root().read("/proc/folder");
  ASSERT_FALSE(text);
  EXPECT_NE(text.reason.find("/proc/folder"), std::string::npos);
}

TEST(SystemRoot, ReadsNumbersAndRefusesText) {
  fixture::Tree tree;
  tree.file("/a", "  42\n").file("/b", "0x1f\n").file("/c", "4\x1b[31m2\n").file("/d", "");
  EXPECT_EQ(*tree.root().read_int("/a"), 42);
  EXPECT_EQ(*tree.root().read_int("/b"), 31);
  ASSERT_FALSE(tree.root().read_int("/c"));
  EXPECT_EQ(tree.root().read_int("/c").reason.find('\x1b'), std::string::npos);
  EXPECT_FALSE(tree.root().read_int("/d"));
}

TEST(SystemRoot, ReadsFilesWithoutASizeOnThisMachine) {
  const auto text = SystemRoot().read("/proc/self/status");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("Name:"), std::string::npos);
}

TEST(IdList, ParsesWhatTheKernelWrites) {
  EXPECT_EQ(*parse_id_list("0"), (std::vector<int>{0}));
  EXPECT_EQ(*parse_id_list("0-2,5,7-8\n"), (std::vector<int>{0, 1, 2, 5, 7, 8}));
  EXPECT_EQ(*parse_id_list("3,1,1"), (std::vector<int>{1, 3}));
}

TEST(IdList, RefusesEverythingElse) {
  for (const char* text : {"", "a", "1-", "-1", "3-1", "0-99999999999", "0-70000", "1,,2", "1 2"}) {
    EXPECT_FALSE(parse_id_list(text)) << text;
  }
}

TEST(IdList, FormatIsTheInverse) {
  for (const char* text : {"0", "0-2,5,7-8", "1,3,5", "0-255"}) {
    EXPECT_EQ(format_id_list(*parse_id_list(text)), text);
  }
}

TEST(FindField, DoesNotConfuseNamesThatBeginAlike) {
  const char* text = "model name\t: Xeon: fast\nmodel\t\t: 143\nempty:\npswpin 7\n";
  EXPECT_EQ(*find_field(text, "model"), "143");
  EXPECT_EQ(*find_field(text, "model name"), "Xeon: fast");
  EXPECT_EQ(*find_field(text, "empty"), "");
  EXPECT_EQ(*find_field(text, "pswpin"), "7");
  EXPECT_FALSE(find_field(text, "mode"));
}

}  // namespace
}  // namespace sluice::env::system_root_test
