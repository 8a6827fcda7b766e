// tests/cli/help_test.cpp - the words and the length of --help, of every command of the program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/help.h"

#include "sluice/cli/completion.h"
#include "sluice/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

namespace sluice::cli::help_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HelpTest : public ::testing::Test {
 protected:
  /// Commands that people see, and those within them.
  std::vector<const CLI::App*> commands() const {
    std::vector<const CLI::App*> all;
    for (const CLI::App* command : visible_commands(*root_)) {
      all.push_back(command);
      for (const CLI::App* inner : visible_commands(*command))
        all.push_back(inner);
    }
    return all;
  }

  Context context_;
  std::unique_ptr<CLI::App> root_ = make_app(context_);
};

std::string all_of(const CLI::App& command) {
  return command.help("", CLI::AppFormatMode::All);
}

TEST_F(HelpTest, CommandsStartLargeAndFlagsSmall) {
  for (const CLI::App* command : commands()) {
    const std::string& text = command->get_description();
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(text.at(0))) != 0) << text;
    EXPECT_NE(text.back(), '.') << text;
    for (const CLI::Option* option : visible_options(*command)) {
      const std::string& words = option->get_description();
      ASSERT_GE(words.size(), 2U) << command->get_name() << " " << signature(*option);
      const bool name = std::isupper(static_cast<unsigned char>(words[1])) != 0;  // GPU, JPEG, CI
      EXPECT_TRUE(name || words.rfind("OpenAI", 0) == 0 ||
                  std::isupper(static_cast<unsigned char>(words[0])) == 0)
          << words;
      EXPECT_NE(words.back(), '.') << words;
      EXPECT_FALSE(words.rfind("of ", 0) == 0) << "does not stand alone: " << words;
    }
  }
}

TEST_F(HelpTest, HelpAllHasEveryFlagAndHelpSaysSoWhereItHasNot) {
  for (const CLI::App* command : commands()) {
    const std::string all = all_of(*command);
    const std::string plain = command->help();
    bool left_out = false;
    for (const CLI::Option* option : visible_options(*command)) {
      if (option == command->get_help_all_ptr()) continue;
      EXPECT_THAT(all, HasSubstr("\n  " + signature(*option)));
      const std::string named =
          "\n  " + (flags_of(*option).empty() ? option->get_name() : flags_of(*option)[0]);
      left_out = left_out || plain.find(named) == std::string::npos;
    }
    EXPECT_EQ(plain.find("--help-all shows") != std::string::npos, left_out) << command->get_name();
  }
}

TEST_F(HelpTest, HelpFitsOneScreen) {
  for (const CLI::App* command : commands()) {
    const std::string text = command->help();
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 51) << text;
  }
}

TEST_F(HelpTest, HeadingsFollowEachOtherAndTheCommonFlagsComeLast) {
  CLI::App* command = add_command(*root_, context_, "some", "Some command", nullptr);
  int number = 1;
  command->add_option("--plain", number, "a number")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  begin_group(*command, "Rare");
  command->add_option("--rare", number, "another one; " + std::string(120, 'x'));
  EXPECT_THAT(headings_of(*command), ElementsAre("Flags", "Rare", kEveryCommand));
  EXPECT_THAT(command->help(), HasSubstr("\nRare:\n  --rare INT"));
  EXPECT_THAT(command->help(),
              HasSubstr("--plain INT                   a number; 1 to 9 (default 1)"));
  EXPECT_THAT(command->help(), HasSubstr("another one;\n" + std::string(32, ' ') + "xxx"));
  EXPECT_THAT(command->help(), Not(HasSubstr("--help-all")));
  show_first(*command, {"--plain"});
  EXPECT_THAT(command->help(), Not(HasSubstr("--rare")));
  EXPECT_THAT(command->help(), HasSubstr("a number (default 1)"));
  EXPECT_THAT(command->help(), HasSubstr("--json"));
  EXPECT_THAT(all_of(*command), HasSubstr("--rare"));
  show_first(*command, {"--misspelt"});
  EXPECT_THROW(command->help(), CLI::OptionNotFound) << "a name that no flag has is our own bug";
}

}  // namespace
}  // namespace sluice::cli::help_test
