// tests/cli/completion_test.cpp - completion and reference name exactly what the tree holds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/completion.h"

#include "sluice/cli/help.h"
#include "sluice/cli/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli::completion_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    CLI::App* data = root_.add_subcommand("data", "data sets");
    CLI::App* make = data->add_subcommand("make", "it's generated: \"all\" of it");
    make->add_option("--kind,-k", kind_, "what to make")->check(CLI::IsMember({"rgb", "video"}));
    make->add_option("--secret", kind_, "not for people")->group("");
    make->add_option("--count", count_, "how many")->check(CLI::Range(1, 9))->capture_default_str();
    make->add_flag("--quiet", quiet_, "say nothing");
    make->add_option("folder", folder_, "where | to")->required();
    root_.add_subcommand("worker", "internal")->group("");
  }

  CLI::App root_{"Measures.", "sluice"};
  std::string kind_;
  std::string folder_;
  int count_ = 3;
  bool quiet_ = false;
};

TEST_F(CompletionTest, BashKnowsCommandsFlagsAndValues) {
  const std::string script = bash_completion(root_);
  EXPECT_THAT(script, HasSubstr("\"\") words=\"data --help -h\" ;;"));
  EXPECT_THAT(script, HasSubstr("\" data\") words=\"make --help -h\" ;;"));
  EXPECT_THAT(script,
              HasSubstr("\" data make\") words=\"--help -h --kind -k --count --quiet\" ;;"));
  EXPECT_THAT(script, HasSubstr("\" data make --kind\") words=\"rgb video\" ;;"));
  EXPECT_THAT(script, HasSubstr("\" data make\") trail=\" data make\" ;;"));
}

TEST_F(CompletionTest, AFlagWithoutValueOffersNoValues) {
  EXPECT_THAT(bash_completion(root_), Not(HasSubstr("\" data make --quiet\")")));
}

TEST_F(CompletionTest, HiddenCommandsAndFlagsStayHidden) {
  for (const std::string& text :
       {bash_completion(root_), zsh_completion(root_), markdown_reference(root_)}) {
    EXPECT_THAT(text, Not(HasSubstr("worker")));
    EXPECT_THAT(text, Not(HasSubstr("secret")));
  }
}

TEST_F(CompletionTest, ZshDescriptionsAreQuoted) {
  EXPECT_THAT(zsh_completion(root_), HasSubstr(R"('make:it'\''s generated: "all" of it')"));
}

TEST_F(CompletionTest, ChoicesAreReadFromMembersAndFromTypeNames) {
  const CLI::App* make = root_.get_subcommand("data")->get_subcommand("make");
  EXPECT_THAT(choices_of(*make->get_option("--kind")), ElementsAre("rgb", "video"));
  EXPECT_THAT(choices_of(*make->get_option("--quiet")), IsEmpty());
}

TEST_F(CompletionTest, TheReferenceHasASectionPerLeafAndKeepsTablesWhole) {
  const std::string page = markdown_reference(root_);
  EXPECT_THAT(page, HasSubstr("## sluice data make\n"));
  EXPECT_THAT(page, Not(HasSubstr("## sluice data\n")));
  EXPECT_THAT(page, HasSubstr("sluice data make [flags] folder\n"));
  EXPECT_THAT(page, HasSubstr("| `--kind, -k rgb\\|video` | what to make |"));
  EXPECT_THAT(page, HasSubstr("| `--count INT` | how many; 1 to 9 (default 3) |"));
  EXPECT_THAT(page, HasSubstr("| `folder` | where \\| to |"));
  EXPECT_EQ(page.substr(page.size() - 2).front() == '\n', false) << "ends with one newline";
}

}  // namespace
}  // namespace sluice::cli::completion_test
