// tests/config/parse_test.cpp - YAML into Nodes with lines; broken and hostile documents refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/parse.h"

#include "sluice/config/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::config::parse_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string as_line(std::string_view text) {
  const auto node = parse(text, "f.yaml");
  return node ? to_yaml_line(*node) : "error: " + node.error().message;
}

TEST(Parse, ReadsEveryShape) {
  EXPECT_EQ(as_line("a: 1\nb: [x, 2.5, true, null]\nc:\n  d: 'quoted'\n  e: \"1\"\n"),
            "{a: 1, b: [x, 2.5, true, null], c: {d: quoted, e: \"1\"}}");
  EXPECT_EQ(as_line("- a\n- b: 1\n"), "[a, {b: 1}]");
  EXPECT_EQ(as_line("{}"), "{}");
  EXPECT_EQ(as_line("a: |\n  two\n  lines\n"), "{a: \"two\\nlines\\n\"}");
  EXPECT_EQ(as_line("text"), "text");
}

TEST(Parse, EscapesOfCharactersOutsideAsciiAreUtf8) {
  EXPECT_EQ(as_line("\"a\\N\\_b\": \"\xc3\xa9\\N\\_\\u00e9\""),
            "{\"a\xc2\x85\xc2\xa0"
            "b\": \"\xc3\xa9\xc2\x85\xc2\xa0\xc3\xa9\"}");
}

TEST(Parse, AnEmptyDocumentIsAnEmptyMap) {
  for (const char* text :
       {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "~", "\xef\xbb\xbf"}) {
    EXPECT_EQ(as_line(text), "{}") << text;
  }
}

TEST(Parse, AcceptsWindowsLineEndsAndByteOrderMark) {
  EXPECT_EQ(as_line("\xef\xbb\xbf"
                    "a: 1\r\nb:\r\n  c: x\r\n"),
            "{a: 1, b: {c: x}}");
}

TEST(Parse, KnowsLinesAndPaths) {
  const auto root = parse("a: 1\n\nb:\n  c:\n    - x\n    - d: 2\n", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a")->where(), "f.yaml:1");
  const Node& list = *root->find("b")->find("c");
  EXPECT_EQ(list.items()[0].where(), "f.yaml:5");
  EXPECT_EQ(list.items()[1].find("d")->where(), "f.yaml:6");
  EXPECT_EQ(list.items()[1].find("d")->path(), "b.c[1].d");
  EXPECT_EQ(root->path(), "");
}

TEST(Parse, KeepsDuplicateKeysForTheReader) {
  const auto root = parse("a: 1\na: 2\n", "f.yaml");
  ASSERT_TRUE(root);
  ASSERT_EQ(root->entries().size(), 2U);
  EXPECT_EQ(root->find("a")->text(), "1");
}

TEST(Parse, TellsTextFromNumbers) {
  const auto root = parse("a: 5\nb: '5'\nc: \"5\"\n", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->find("a")->is_text());
  EXPECT_TRUE(root->find("b")->is_text());
  EXPECT_TRUE(root->find("c")->is_text());
}

TEST(Parse, RefusesWhatIsBrokenInOneLineWithItsPlace) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases{
      {"a: [1, 2\n", "not valid YAML"},
      {"a: 1\n b: 2\n", "f.yaml:2: not valid YAML"},
      {"a: b: c\n", "f.yaml:1: not valid YAML"},
      {"a: 'open\n", "f.yaml:1: not valid YAML: a quote that is not closed"},
      {"a: \"open\n\n", "a quote that is not closed"},
      {"a: 'open", "not valid YAML"},
      {"a: 'open  ", "not valid YAML"},
      {"a: 'open\n  ", "not valid YAML"},
      {"\ta: 1\n", "not valid YAML"},
      {"a:\n\tb: 1\n", "f.yaml:2: not valid YAML"},
      {"a: *nothing\n", "not valid YAML"},
      {"}\n", "not valid YAML"},
      {"a: @x\n", "not valid YAML"},
      {"a: 1\n---\nb: 2\n", "f.yaml:2: a second document"},
      {"a: !custom 1\n", "f.yaml:1: a tag ('!custom')"},
      {"a: !!int 1\n", "tags are not accepted"},
      {"[a, b]: 1\n", "f.yaml:1: a list or a map as a key"},
      {"? {a: 1}\n: 1\n", "a list or a map as a key"},
      {"~: 1\n", "a key is empty"},
      {": 1\n", "a key is empty"},
      {"a: &x\n  b: *x\n", "f.yaml:2: an alias inside the value"},
      {"x: &k a\n*k : 1\n", "an alias used as a key"},
      {std::string(201, 'k') + ": 1\n", "a key of 201 bytes"},
      {"a: \xff\n", "f.yaml: not text in UTF-8"},
      {std::string("\xff\xfe"
                   "a\0:\0",
                   6),
       "not text in UTF-8"},
      {std::string("a: 1\nb: \0\n", 9), "f.yaml:2: the control character \\x00"},
      {"a: \x1b[31m\n", "f.yaml:1: the control character \\x1b"},
  };
  for (const Case& c : cases) {
    const auto root = parse(c.text, "f.yaml");
    ASSERT_FALSE(root) << c.text;
    EXPECT_EQ(root.error().code, Errc::invalid_config);
    EXPECT_THAT(root.error().message, HasSubstr(c.message)) << c.text;
    EXPECT_THAT(root.error().message, HasSubstr("f.yaml")) << c.text;
    EXPECT_THAT(root.error().message, Not(HasSubstr("\n"))) << c.text;
  }
}

TEST(Parse, LimitsNesting) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse(nested(kMaxDepth), "f"));
  EXPECT_THAT(as_line(nested(kMaxDepth + 1)), HasSubstr("nesting deeper than 32 levels"));
  EXPECT_THAT(as_line(std::string(100'000, '[')), HasSubstr("error: "));
  EXPECT_THAT(as_line(std::string(100'000, '{')), HasSubstr("error: "));
  std::string block;
  for (std::size_t i = 0; i < 100; ++i)
    block += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(as_line(block), HasSubstr("nesting deeper"));
}

TEST(Parse, LimitsNestingThroughAliases) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i <= 40; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  EXPECT_THAT(as_line(text), HasSubstr("nesting deeper"));
}

TEST(Parse, DefusesAliasBombs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 9; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      text += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_THAT(as_line(text), HasSubstr("more than 100000 values"));
}

TEST(Parse, CopiesAliases) {
  EXPECT_EQ(as_line("a: &x {b: 1}\nc: *x\nd: [*x, *x]\n"),
            "{a: {b: 1}, c: {b: 1}, d: [{b: 1}, {b: 1}]}");
  const auto root = parse("a: &x {b: 1}\nc: *x\n", "f.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("c")->find("b")->path(), "c.b");
}

TEST(Parse, LimitsSizeAndCount) {
  EXPECT_THAT(as_line(std::string(kMaxFileBytes + 1, ' ')),
              HasSubstr("larger than the 4194304 bytes"));
  std::string many = "[";
  for (std::size_t i = 0; i < kMaxNodes; ++i)
    many += "0,";
  EXPECT_THAT(as_line(many + "]"), HasSubstr("more than 100000 values"));
}

TEST(Parse, NamesAreMadePrintable) {
  const auto root = parse("[", "evil\nname");
  ASSERT_FALSE(root);
  EXPECT_THAT(root.error().message, HasSubstr("evil\\nname:"));
}

TEST(Load, NamesAFileThatIsNotThere) {
  const auto root = load("no/such/file.yaml");
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, Errc::not_found);
  EXPECT_THAT(root.error().message, HasSubstr("no/such/file.yaml: cannot open"));
}

}  // namespace
}  // namespace sluice::config::parse_test
