// sluice/cli/help.cpp - descriptions of flags, and CLI11's help in our words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/help.h"

#include "sluice/cli/terminal.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::cli {
namespace {

constexpr std::size_t kHelpColumn = 32, kWidestHelp = 120;
/// Of the flags that every command has, where there is no room for all.
constexpr std::array kAlwaysShown{"--help", "--help-all", "--json", "--out"};

/// CLI11 writes a checked type as "INT:INT in [1 - 1000]": the word before the colon, and "1 to
/// 1000" or nothing.
struct TypeName {
  std::string word;
  std::string range;
};
TypeName type_name(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const std::size_t colon = text.find(':');
  TypeName type{text.substr(0, colon), ""};
  const std::size_t open = text.find("in [", colon == std::string::npos ? text.size() : colon);
  const std::size_t middle = text.find(" - ", open == std::string::npos ? text.size() : open);
  const std::size_t close = text.find(']', middle == std::string::npos ? text.size() : middle);
  if (close != std::string::npos) {
    type.range = fmt::format("{} to {}", text.substr(open + 4, middle - open - 4),
                             text.substr(middle + 3, close - middle - 3));
  }
  return type;
}

/// Two columns; the second is wrapped.
std::string two_columns(const std::string& left, const std::string& right) {
  const std::size_t width =
      std::min<std::size_t>(terminal_options().width, kWidestHelp) - kHelpColumn;
  std::string text = "  " + left, line;
  text.resize(std::max(text.size(), kHelpColumn), ' ');
  if (left.size() + 4 > kHelpColumn) text += "\n" + std::string(kHelpColumn, ' ');
  for (const std::string& word : split(right, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      text += line + "\n" + std::string(kHelpColumn, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + line + "\n";
}

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(std::vector<std::string> first) : first_(std::move(first)) {
    label("Positionals", "Arguments");
    label("OPTIONS", "flags");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_subcommand(const CLI::App* app) const override {
    return two_columns(app->get_name(), app->get_description());
  }
  std::string make_option(const CLI::Option* option, bool) const override {
    return two_columns(signature(*option), meaning(*option));
  }
  /// Commands are a list in both modes: --help-all is about the flags of one command.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = make_description(app) + make_usage(app, name) + make_positionals(app);
    text += make_subcommands(app, CLI::AppFormatMode::Normal) + flags(*app, mode);
    text += "\n" + make_footer(app);
    if (!first_.empty() && mode != CLI::AppFormatMode::All)
      text += fmt::format("\nThese are the common flags; {} --help-all shows all {}.\n", name,
                          visible_options(*app).size());
    return text;
  }

 private:
  std::string flags(const CLI::App& app, CLI::AppFormatMode mode) const {
    const bool brief = !first_.empty() && mode != CLI::AppFormatMode::All;
    std::string text;
    for (const std::string& heading : headings_of(app)) {
      std::string lines;
      for (const CLI::Option* option : visible_options(app)) {
        if (option->get_group() == heading && option->nonpositional() &&
            is_shown(app, *option, mode))
          lines += two_columns(signature(*option, brief), meaning(*option, brief));
      }
      if (!lines.empty()) text += fmt::format("\n{}:\n{}", heading, lines);
    }
    return text;
  }
  bool is_shown(const CLI::App& app, const CLI::Option& option, CLI::AppFormatMode mode) const {
    if (first_.empty()) return &option != app.get_help_all_ptr();
    if (mode == CLI::AppFormatMode::All) return true;
    const auto is_named = [&](const std::string& name) { return app.get_option(name) == &option; };
    return std::ranges::any_of(first_, is_named) || std::ranges::any_of(kAlwaysShown, is_named);
  }

  std::vector<std::string> first_;
};

}  // namespace

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return split(std::string_view(type).substr(open + 1, close - open - 1), ',');
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_lnames())
    flags.push_back("--" + name);
  for (const std::string& name : option.get_snames())
    flags.push_back("-" + name);
  return flags;
}

std::vector<const CLI::Option*> visible_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<std::string> headings_of(const CLI::App& app) {
  std::vector<std::string> headings;
  for (const CLI::Option* option : visible_options(app))
    if (std::ranges::find(headings, option->get_group()) == headings.end())
      headings.push_back(option->get_group());
  std::stable_partition(headings.begin(), headings.end(),
                        [](const auto& one) { return one != kEveryCommand; });
  return headings;
}

std::string signature(const CLI::Option& option, bool brief) {
  std::vector<std::string> flags = flags_of(option);
  if (flags.empty()) return option.get_name();
  if (brief) flags.resize(1);
  const std::vector<std::string> choices = choices_of(option);
  std::string text = join(flags);
  if (!choices.empty()) {
    text += " " + join(choices, "|");
  } else if (option.get_items_expected_max() > 0) {
    text += " " + type_name(option).word;
  }
  return text;
}

std::string meaning(const CLI::Option& option, bool brief) {
  std::string text = option.get_description();
  if (const std::string range = type_name(option).range; !range.empty() && !brief)
    text += "; " + range;
  if (!option.get_default_str().empty())
    text += fmt::format(" (default {})", option.get_default_str());
  if (option.get_required() && !flags_of(option).empty()) text += " (required)";
  if (!option.get_envname().empty()) text += fmt::format(" (also {})", option.get_envname());
  return text;
}

std::shared_ptr<CLI::FormatterBase> help_format(std::vector<std::string> first) {
  return std::make_shared<HelpFormat>(std::move(first));
}

}  // namespace sluice::cli
