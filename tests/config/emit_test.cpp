// tests/config/emit_test.cpp - what is written reads back as the same.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/emit.h"

#include "sluice/config/parse.h"
#include "sluice/config/units.h"
#include "sluice/core/rng.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::config::emit_test {
namespace {

/// Text again as text, so that a string never turns into a number on the way.
void expect_same(const Node& node) {
  for (const std::string& text : {to_yaml(node), to_yaml_line(node)}) {
    const auto read = parse(text, "emitted");
    ASSERT_TRUE(read) << read.error().message << "\n" << text;
    EXPECT_TRUE(read->same_content(node)) << text;
  }
}

TEST(Emit, WritesBlocks) {
  Node root = Node::map();
  root.set("name", Node::of("nightly run"));
  root.set("seed", Node::of(42));
  root.set("libraries", Node::of(std::vector<std::string>{"sluice", "opencv"}));
  Node job = Node::map();
  job.set("workers", Node::of(4));
  job.set("resume", Node::of(true));
  root.set("jobs", Node::list()).push(job);
  root.set("empty", Node::list());
  root.set("none", Node());
  Node nested = Node::list();
  nested.push(Node::of(0.5));
  root.set("matrix", Node::list()).push(nested).push(Node::map());
  EXPECT_EQ(
      to_yaml(root),
      "name: \"nightly run\"\nseed: 42\nlibraries:\n  - sluice\n  - opencv\njobs:\n"
      "  - workers: 4\n    resume: true\nempty: []\nnone: null\nmatrix:\n  - - 0.5\n    - {}\n");
  expect_same(root);
}

TEST(Emit, QuotesWhatLooksLikeSomethingElse) {
  const std::vector<std::string> texts{
      "",          " ",     "true",  "False",  "null", "~",          "yes",      "NO",
      "on",        "y",     "5",     "-5",     "1e3",  "0x10",       ".5",       ".inf",
      "1_000",     "12:30", "a: b",  "a #b",   "#c",   "- x",        "-",        "?",
      ":",         "*a",    "&a",    "!t",     "%x",   "@x",         "`x",       "'q'",
      "\"q\"",     "[",     "{a}",   "a,b",    "a\nb", "\n",         "a\r\n",    "\t",
      "tab\there", "\\",    "a\\nb", "é",      "日本", "😀",          "<<",       "---",
      "...",       "a: ",   " lead", "trail ", "\x01", "\x7f",       "\xc2\x85", "\xe2\x80\xa8",
      "|",         ">",     "=",     "5%",     "2GiB", "2001-01-01", "/a/b.c-d", "path/to+x",
      "C:\\x"};
  Node root = Node::map();
  for (const std::string& text : texts) {
    root.set("k" + text, Node::of(text));
    Node list = Node::list();
    list.push(Node::of(text));
    const auto again = parse(to_yaml(list), "x");
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(again->items().size(), 1U) << text;
    ASSERT_TRUE(again->items()[0].is_scalar()) << text;
    EXPECT_EQ(again->items()[0].text(), text);
  }
  expect_same(root);
}

TEST(Emit, NumbersReadBackExactly) {
  Node root = Node::list();
  for (const double value :
       {0.0, -0.0, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 1e21, 123456789.0}) {
    root.push(Node::of(value));
    EXPECT_EQ(parse_number(root.items().back().text()).value(), value);
    EXPECT_EQ(to_yaml_line(root.items().back()).front() == '"', false);
  }
  root.push(Node::of(std::numeric_limits<std::int64_t>::min()));
  root.push(Node::of(std::numeric_limits<std::uint64_t>::max()));
  root.push(Node::of(std::numeric_limits<double>::infinity()));
  expect_same(root);
}

TEST(Emit, RepairsBytesThatAreNotUtf8) {
  EXPECT_EQ(to_yaml_line(Node::of("a\xff")), "\"a\xef\xbf\xbd\"");
}

Node random_node(Rng& rng, int depth) {
  const auto random_text = [&] {
    constexpr std::string_view kAlphabet = "ab 1.-:#,[]{}&*!|>'\"%@`\n\t\\~?=\x01_/yn";
    std::string text;
    for (std::uint64_t n = rng.below(6); n > 0; --n)
      text += kAlphabet[rng.below(kAlphabet.size())];
    return text;
  };
  const std::uint64_t kind = rng.below(depth > 0 ? 6 : 4);
  if (kind == 0) return {};
  if (kind == 1) return Node::of(static_cast<std::int64_t>(rng.below(1000)) - 500);
  if (kind <= 3) return Node::of(random_text());
  Node node = kind == 4 ? Node::list() : Node::map();
  for (std::uint64_t n = rng.below(4); n > 0; --n) {
    if (kind == 4) {
      node.push(random_node(rng, depth - 1));
    } else {
      node.set(random_text() + "k", random_node(rng, depth - 1));
    }
  }
  return node;
}

TEST(Emit, RandomTreesReadBackTheSame) {
  Rng rng({.seed = 11});
  for (int i = 0; i < 500; ++i) {
    Node root = Node::map();
    root.set("root", random_node(rng, 5));
    expect_same(root);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::config::emit_test
