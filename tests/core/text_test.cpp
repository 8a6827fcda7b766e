// tests/core/text_test.cpp - suggestions, splitting, and untrusted text made harmless.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"

#include <gtest/gtest.h>

namespace sluice::text_test {
namespace {

TEST(EditDistance, CountsEdits) {
  struct Case {
    std::string_view a, b;
    std::size_t distance;
  };
  for (const Case& c :
       {Case{"", "", 0}, Case{"", "abc", 3}, Case{"abc", "", 3}, Case{"quick", "qick", 1},
        Case{"quick", "qucik", 1}, Case{"kitten", "sitting", 3}, Case{"resize", "resize", 0},
        Case{"ab", "ba", 1}, Case{"abcd", "dcba", 3}}) {
    EXPECT_EQ(edit_distance(c.a, c.b), c.distance) << c.a << " " << c.b;
    EXPECT_EQ(edit_distance(c.b, c.a), c.distance) << c.b << " " << c.a;
  }
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> commands{"env", "quick", "report", "compare"};
  EXPECT_EQ(nearest("qick", commands), "quick");
  EXPECT_EQ(nearest("comapre", commands), "compare");
  EXPECT_EQ(nearest("en", commands), "env");
  EXPECT_EQ(nearest("x", {"y"}), "y");
  EXPECT_EQ(nearest("zebra", commands), std::nullopt);
  EXPECT_EQ(nearest("", commands), std::nullopt);
  EXPECT_EQ(nearest("quick", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'q'), commands), std::nullopt);
}

TEST(Nearest, TakesTheFirstOfEquals) {
  EXPECT_EQ(nearest("bat", {"cat", "hat"}), "cat");
}

TEST(Split, KeepsEmptyParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split("a", ','), Parts{"a"});
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
}

TEST(Join, PutsSeparatorsBetween) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a", "b"}, " | "), "a | b");
}

TEST(Printable, KeepsOrdinaryText) {
  for (const std::string text : {"", "plain", "a\\b", "Größe µs", "日本", "😀"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  struct Case {
    std::string text, shown;
  };
  for (const Case& c : {
           Case{"a\nb", "a\\nb"},
           Case{"\r\t", "\\r\\t"},
           Case{"\x1b[31m", "\\x1b[31m"},
           Case{std::string("a\0b", 3), "a\\x00b"},
           Case{"\x7f", "\\x7f"},
           Case{"\xc2\x9b", "\\xc2\\x9b"},                    // C1 control sequence introducer
           Case{"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // right-to-left override
           Case{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},           // line separator
           Case{"\xff", "\\xff"},                             // never valid
           Case{"\xc0\xaf", "\\xc0\\xaf"},                    // overlong '/'
           Case{"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
           Case{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // above U+10FFFF
           Case{"\xe2\x82", "\\xe2\\x82"},                    // cut short
           Case{"\xe2\x82z", "\\xe2\\x82z"},
       }) {
    EXPECT_EQ(printable(c.text), c.shown);
  }
}

TEST(Utf8, IsCheckedAndRepaired) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("µ\n😀"));
  EXPECT_FALSE(is_utf8("a\xff"));
  EXPECT_FALSE(is_utf8("\xe2\x82"));
  EXPECT_EQ(to_utf8("µ\n"), "µ\n");
  EXPECT_EQ(to_utf8("a\xffz\xc0\xaf"), "a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Base64, IsThatOfTheStandard) {
  // The vectors of RFC 4648, section 10.
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\xfe\x00", 3)), "//4A");
}

}  // namespace
}  // namespace sluice::text_test
