// tests/storage/plan_test.cpp - what is staged of a list of entries, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::storage::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ArchiveEntry file(const std::string& name, std::uint64_t size = 1) {
  return {EntryType::file, name, "", size};
}
ArchiveEntry link(const std::string& name, const std::string& target,
                  EntryType type = EntryType::symbolic_link) {
  return {type, name, target, 0};
}

Result<StagePlan> plan(const std::vector<ArchiveEntry>& entries, std::uint64_t limit = 0,
                       const StageLimits& limits = {}, std::uint64_t source = 1 << 20) {
  Planner planner({suffixes_of("image"), limit}, limits, source);
  for (const ArchiveEntry& entry : entries)
    SLUICE_CHECK(planner.add(entry));
  return planner.finish();
}

std::vector<std::string> names(const Result<StagePlan>& plan) {
  std::vector<std::string> list;
  if (!plan) return {"error: " + plan.error().message};
  for (const StageFile& file : plan->files)
    list.push_back(file.name);
  return list;
}

std::string refusal(const std::vector<ArchiveEntry>& entries, const StageLimits& limits = {},
                    std::uint64_t source = 1 << 20) {
  const auto made = plan(entries, 0, limits, source);
  return made ? "accepted" : made.error().message;
}

TEST(PlanTest, MediaInNameOrderWithoutJunk) {
  const auto made = plan({file("./b/2.JPG"),
                          file("a.jpeg"),
                          file("b/1.png"),
                          file("notes.txt"),
                          file(".DS_Store"),
                          file("b/._1.png"),
                          file("__MACOSX/b/1.png"),
                          file(".git/x.png"),
                          {EntryType::folder, "./", "", 0},
                          file("c.mp4"),
                          file("noending"),
                          file("\xc3\xa4.jpg")});
  EXPECT_THAT(names(made), ElementsAre("a.jpeg", "b/1.png", "b/2.JPG", "\xc3\xa4.jpg"));
  EXPECT_EQ(made->skipped.hidden, 4U);
  EXPECT_EQ(made->skipped.suffix, 3U);
  EXPECT_EQ(made->bytes, 4U);
}

TEST(PlanTest, TheLimitTakesTheFirstInNameOrder) {
  const auto made = plan({file("c.jpg"), file("a.jpg"), file("b.jpg")}, 2);
  EXPECT_THAT(names(made), ElementsAre("a.jpg", "b.jpg"));
  EXPECT_EQ(made->skipped.over_limit, 1U);
  EXPECT_NE(made->find("a.jpg"), nullptr);
  EXPECT_EQ(made->find("c.jpg"), nullptr);
}

TEST(PlanTest, NamesThatLeadOutAreRefused) {
  for (const char* name :
       {"/etc/x.jpg", "../x.jpg", "a/../../x.jpg", "a/..", "//x.jpg", "a/../b.jpg"})
    EXPECT_THAT(refusal({file("ok.jpg"), file(name)}), HasSubstr(name)) << name;
  EXPECT_THAT(refusal({file("../notes.txt")}), HasSubstr("..")) << "also what is not staged";
  EXPECT_THAT(refusal({file("")}), HasSubstr("no name"));
  EXPECT_THAT(refusal({file(".")}), HasSubstr("without a name"));
  EXPECT_EQ(refusal({file("..a.jpg"), file("a../b.jpg")}), "accepted");
}

TEST(PlanTest, LongNamesAreRefused) {
  const std::string part(255, 'a');
  EXPECT_EQ(refusal({file(part + "/b.jpg")}), "accepted");
  EXPECT_THAT(refusal({file(part + "a/b.jpg")}), HasSubstr("255 bytes"));
  EXPECT_THAT(refusal({file(part + "/" + part + "/" + part + "/" + part + "/b.jpg")}),
              HasSubstr("1024 bytes"));
}

TEST(PlanTest, LinksThatLeadOutAreRefusedOthersLeftOut) {
  const auto made = plan({file("a/b.jpg"), link("a/c.jpg", "b.jpg"), link("a/d.jpg", "../e.jpg"),
                          link("f.jpg", "a/b.jpg", EntryType::hard_link)});
  EXPECT_THAT(names(made), ElementsAre("a/b.jpg"));
  EXPECT_EQ(made->skipped.links, 3U);
  EXPECT_THAT(refusal({link("a/x", "../../etc")}), HasSubstr("leads out"));
  EXPECT_THAT(refusal({link("x", "/etc/passwd")}), HasSubstr("/etc/passwd"));
  EXPECT_THAT(refusal({link("a/b/x.jpg", "../y.jpg", EntryType::hard_link)}),
              HasSubstr("leads out"));
}

TEST(PlanTest, DevicesAreRefused) {
  EXPECT_THAT(refusal({{EntryType::other, "tty.jpg", "", 0}}), HasSubstr("'tty.jpg' is a device"));
}

TEST(PlanTest, TwoOfOneNameAndFilesAsFoldersAreRefused) {
  EXPECT_THAT(refusal({file("a.jpg"), file("./a.jpg")}), HasSubstr("'a.jpg' is there twice"));
  EXPECT_THAT(refusal({file("a.jpg/b.jpg"), file("a.jpg")}), HasSubstr("needs a folder"));
  EXPECT_EQ(refusal({file("a.jpg/b.txt"), file("a.jpg")}), "accepted") << "only one is written";
}

TEST(PlanTest, BombsAreRefused) {
  StageLimits limits;
  limits.max_bytes = 100;
  EXPECT_THAT(refusal({file("a.jpg", 60), file("b.jpg", 41)}, limits), HasSubstr("101 bytes"));
  EXPECT_EQ(refusal({file("a.jpg", 60), file("b.txt", 41)}, limits), "accepted");
  limits = {};
  limits.max_file_bytes = 50;
  EXPECT_THAT(refusal({file("b.txt", 51)}, limits), HasSubstr("51 bytes"));
  limits = {};
  limits.max_entries = 2;
  EXPECT_THAT(refusal({file("a.jpg"), file("b.txt"), file("c.jpg")}, limits), HasSubstr("'c.jpg'"));
  // 2 GiB out of 1 MiB is over 200 times; out of a folder (no size) it is what it is.
  EXPECT_THAT(refusal({file("a.jpg", 1ULL << 31)}), HasSubstr("200 times"));
  EXPECT_EQ(refusal({file("a.jpg", 1ULL << 31)}, {}, 0), "accepted");
}

TEST(PlanTest, NamesInErrorsCannotForgeLines) {
  EXPECT_THAT(refusal({file("/a\nb\x1b[31m.jpg")}), HasSubstr("/a\\nb\\x1b[31m.jpg"));
  EXPECT_LT(refusal({file(std::string(5000, 'a'))}).size(), 400U);
}

TEST(PlanTest, TheListingTellsListsApart) {
  EXPECT_EQ(listing_hash({{"a", 1}}), listing_hash({{"a", 1}}));
  EXPECT_NE(listing_hash({{"a", 1}}), listing_hash({{"a", 2}}));
  EXPECT_NE(listing_hash({{"a", 1}, {"b", 1}}), listing_hash({{"a 1\n1 b", 1}}));
}

}  // namespace
}  // namespace sluice::storage::plan_test
