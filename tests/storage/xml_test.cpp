// tests/storage/xml_test.cpp - listings and errors read strictly, hostile ones refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/xml.h"

#include "sluice/storage/remote/s3_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::storage::xml_test {
namespace {

std::string listing(const std::string& contents) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>" +
         contents + "</ListBucketResult>";
}

std::string entry(const std::string& key, const std::string& size = "5") {
  return fmt::format(
      "<Contents><Key>{}</Key><LastModified>x</LastModified><ETag>&quot;e&quot;"
      "</ETag><Size>{}</Size><Owner><ID>Key</ID></Owner></Contents>",
      key, size);
}

TEST(S3Listing, HasKeysSizesVersionsAndAToken) {
  const auto page = parse_s3_listing(
      listing("<IsTruncated>true</IsTruncated><!-- x --><NextContinuationToken>t&amp;1"
              "</NextContinuationToken>" +
              entry("p/b&lt;&#x20AC;&#65;") + entry("p/a", "18446744073709551615") + entry("p/") +
              "<CommonPrefixes/>"),
      "p/");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->objects.size(), 2U) << "the root itself is none";
  EXPECT_EQ(page->objects[1].key, "a");
  EXPECT_EQ(page->objects[1].size, UINT64_MAX);
  EXPECT_EQ(page->objects[1].version, "e");
  EXPECT_EQ(page->objects[0].key,
            "b<\xE2\x82\xAC"
            "A");
  EXPECT_EQ(page->next, "t&1");
}

TEST(S3Listing, DecodesKeysWhereTheAnswerSaysSo) {
  const std::string keys = entry("a%2Fb+c%2B%0A");
  const auto encoded = parse_s3_listing(listing("<EncodingType>url</EncodingType>" + keys), "");
  ASSERT_TRUE(encoded);
  EXPECT_EQ(encoded->objects[0].key, "a/b c+\n");
  const auto plain = parse_s3_listing(listing(keys), "");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->objects[0].key, "a%2Fb+c%2B%0A");
}

TEST(S3Listing, RefusesWhatItDoesNotUnderstand) {
  const std::string bad[] = {
      "",
      "not xml",
      "<a>",
      "<a></b>",
      "</a>",
      "<a/><b/>",
      "<a>&unknown;</a>",
      "<a>&#0;</a>",
      "<a>&#xD800;</a>",
      "<a>&#x110000;</a>",
      "<a>&amp</a>",
      "<!DOCTYPE x><a/>",
      "<a/>x",
      "<Error><Code>NoSuchBucket</Code></Error>",
      listing("<IsTruncated>true</IsTruncated>"),
      listing(entry("a", "")),
      listing(entry("a", "-1")),
      listing(entry("a", "5x")),
      listing("<EncodingType>url</EncodingType>" + entry("%4")),
      listing("<EncodingType>url</EncodingType>" + entry("%zz")),
  };
  for (const std::string& text : bad) {
    const auto page = parse_s3_listing(text, "");
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().code, Errc::invalid_input);
  }
  EXPECT_FALSE(parse_s3_listing(listing(entry("q/a")), "p/")) << "of another prefix";
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += "<a>";
  EXPECT_FALSE(parse_s3_listing(deep, ""));
}

TEST(S3Listing, EveryPrefixOfAGoodOneIsRefusedOrGood) {
  const std::string whole = listing(entry("a") + entry("b"));
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_FALSE(parse_s3_listing(std::string_view(whole).substr(0, size), "")) << size;
}

TEST(S3Error, IsReadAsFarAsItGoes) {
  const S3ErrorBody error =
      parse_s3_error("<Error><Code>A</Code><Message>m</Message><Region>eu-west-1</Region></Error>");
  EXPECT_EQ(error.code, "A");
  EXPECT_EQ(error.message, "m");
  EXPECT_EQ(error.region, "eu-west-1");
  EXPECT_EQ(parse_s3_error("<Error><Code>A</Code><Mess").code, "A");
  EXPECT_EQ(parse_s3_error("<html><Code>A</Code>").code, "");
  EXPECT_EQ(parse_s3_error("").code, "");
}

}  // namespace
}  // namespace sluice::storage::xml_test
