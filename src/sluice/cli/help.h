// sluice/cli/help.h - how a flag is described, the same in --help, in docs/cli.md and in a shell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {

/// The values an option accepts when it names them (CLI::IsMember), else none.
std::vector<std::string> choices_of(const CLI::Option& option);
/// "--out" and "--output" of an option with both; a flag's short name last.
std::vector<std::string> flags_of(const CLI::Option& option);
/// Options and positionals of `app` that are not hidden (an empty group), in the order they were
/// added in.
std::vector<const CLI::Option*> visible_options(const CLI::App& app);
/// Headings of its flags in the order of the help: those that every command has come last.
std::vector<std::string> headings_of(const CLI::App& app);

/// "--out, --output DIR", "--mode synthetic|e2e", "base"; brief: by its first name only.
std::string signature(const CLI::Option& option, bool brief = false);
/// What it means, with its default, environment variable and, unless brief, its range.
std::string meaning(const CLI::Option& option, bool brief = false);

/// Help by headings, wrapped to the terminal. Not empty: plain --help shows `first` only.
std::shared_ptr<CLI::FormatterBase> help_format(std::vector<std::string> first = {});

}  // namespace sluice::cli
