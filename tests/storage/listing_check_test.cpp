// tests/storage/listing_check_test.cpp - listings that make no sense, or never end.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/listing_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::storage::listing_check_test {
namespace {

using ::testing::HasSubstr;

ListPage page_of(const std::vector<std::string>& keys, std::string next = "") {
  ListPage page;
  for (const std::string& key : keys)
    page.objects.push_back({.key = key, .size = 1});
  page.next = std::move(next);
  return page;
}

/// "" when all pages are believed, else what is wrong with the first that is not.
std::string problem_of(std::vector<ListPage> pages) {
  ListingCheck check;
  for (ListPage& page : pages) {
    if (const Status taken = check.take(page); !taken) return taken.error().message;
    if (const Status going = check.advance(page); !going) return going.error().message;
  }
  return "";
}

TEST(ListingCheck, BelievesPagesInOrderAndPutsOneInOrder) {
  EXPECT_EQ(problem_of({page_of({"a", "b"}, "1"), page_of({}, "2"), page_of({"c"})}), "");
  ListPage page = page_of({"b", "a\xff", "a"});
  ASSERT_TRUE(ListingCheck().take(page));
  EXPECT_EQ(page.objects[0].key, "a");
  EXPECT_EQ(page.objects[2].key, "b");
}

TEST(ListingCheck, RefusesWhatMakesNoSense) {
  EXPECT_THAT(problem_of({page_of({"a", "b", "a"})}), HasSubstr("the key `a` twice"));
  EXPECT_THAT(problem_of({page_of({"a", "b"}, "1"), page_of({"b", "c"})}), HasSubstr("order"));
  EXPECT_THAT(problem_of({page_of({"a"}, "1"), page_of({}, "1")}), HasSubstr("in circles"));
  EXPECT_THAT(problem_of({page_of({"a"}, "1"), page_of({}, "2"), page_of({}, "1")}),
              HasSubstr("in circles"));
  ListPage large = page_of({"a"});
  large.objects[0].size = std::uint64_t{1} << 63;
  EXPECT_THAT(problem_of({large}), HasSubstr("`a` has 9223372036854775808 bytes"));
}

TEST(ListingCheck, EndsWhatNeverEnds) {
  ListingCheck empty, thin;
  Status status = ok;
  int pages = 0;
  for (; status && pages < 1'000'000; ++pages)
    status = empty.advance(page_of({}, std::to_string(pages)));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("more than 100 empty pages in a row"));
  status = ok;
  for (pages = 0; status && pages < 1'000'000; ++pages)
    status = thin.advance(page_of({fmt::format("{:09}", pages)}, std::to_string(pages)));
  ASSERT_FALSE(status);
  EXPECT_EQ(pages, 10'001);
}

}  // namespace
}  // namespace sluice::storage::listing_check_test
