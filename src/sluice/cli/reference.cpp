// sluice/cli/reference.cpp - `sluice docs PAGE` (hidden): what tools/docs writes to docs/PAGE.md.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/reference.h"

#include "sluice/aug/page.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/completion.h"
#include "sluice/cli/help.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/peers/places.h"
#include "sluice/peers/semantics.h"
#include "sluice/plan/matrix.h"
#include "sluice/plan/pages.h"
#include "sluice/plan/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace sluice::cli {
namespace {

constexpr const char* kTableHead = "| argument | meaning |\n|---|---|\n";

std::string option_rows(const CLI::App& app, const std::string& heading) {
  std::string rows;
  for (const CLI::Option* option : visible_options(app))
    if (option->get_group() == heading)
      rows += fmt::format("| `{}` | {} |\n", table_cell(signature(*option)),
                          table_cell(meaning(*option)));
  return rows;
}

/// One table; with several headings each is a row of its own before its flags.
std::string option_table(const CLI::App& app) {
  std::vector<std::string> headings = headings_of(app);
  std::erase(headings, kEveryCommand);
  std::string text;
  for (const std::string& heading : headings) {
    if (headings.size() > 1) text += fmt::format("| **{}** | |\n", heading);
    text += option_rows(app, heading);
  }
  return text.empty() ? "" : kTableHead + text + "\n";
}

/// "sluice compare [flags] BASE CANDIDATE".
std::string usage(const CLI::App& app, const std::string& name) {
  std::string text = name + " [flags]";
  for (const CLI::Option* option : visible_options(app)) {
    if (!flags_of(*option).empty()) continue;
    const std::vector<std::string> choices = choices_of(*option);
    const std::string word = choices.empty() ? option->get_name() : join(choices, "|");
    text += option->get_required() ? " " + word : " [" + word + "]";
    if (option->get_items_expected_max() > 1) text += "...";
  }
  return text;
}

std::string command_section(const CLI::App& app, const std::string& name) {
  std::string text = fmt::format("## {}\n{}\n\n", name, app.get_description());
  text += fmt::format("```\n{}\n```\n", usage(app, name));
  const std::string table = option_table(app);
  if (!table.empty()) text += "\n" + table;
  if (table.empty()) text += "\n";
  const std::string footer = app.get_footer();
  if (!footer.empty()) text += fmt::format("```\n{}\n```\n\n", footer);
  return text;
}

/// Commands that hold others have no flags of their own: only the leaves get a section.
void sections(const CLI::App& app, const std::string& name, std::string& text) {
  for (const CLI::App* sub : visible_commands(app)) {
    const std::string full = name + " " + sub->get_name();
    if (visible_commands(*sub).empty()) {
      text += command_section(*sub, full);
    } else {
      sections(*sub, full, text);
    }
  }
}

const CLI::App* first_leaf(const CLI::App& app) {
  const auto commands = visible_commands(app);
  return commands.empty() ? &app : first_leaf(*commands.front());
}

using PageText = Result<std::string>;

/// The audit lies beside the adapters, where `peers audit` wrote it.
PageText semantics_page(const CLI::App&) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const auto file = places.adapters / "semantics.json";
  SLUICE_TRY(const std::string text, read_text_file(file));
  SLUICE_TRY(const peers::Audit audit, peers::Audit::read(text, file.string()));
  return peers::semantics_page(audit);
}

/// A generated page, and for --json the data behind it where there is more to it than text.
struct Page {
  std::string_view name;
  PageText (*text)(const CLI::App& root);
  Json (*data)() = nullptr;
};
const std::array kPages = {
    Page{"cli", [](const CLI::App& root) -> PageText { return markdown_reference(root); }},
    Page{"augment", [](const CLI::App&) -> PageText { return aug::augment_page(); }, nullptr},
    Page{"transforms", [](const CLI::App&) -> PageText { return plan::transforms_page(); },
         plan::transforms_json},
    Page{"matrix", [](const CLI::App&) -> PageText { return plan::matrix_page(); },
         plan::matrix_json},
    Page{"presets", [](const CLI::App&) -> PageText { return loader::episodes::presets_page(); }},
    Page{"scope", [](const CLI::App&) -> PageText { return plan::scope_page(); }},
    Page{"semantics", semantics_page},
    Page{"run-config", [](const CLI::App&) -> PageText { return plan::run_config_page(); }},
};

std::vector<std::string> page_names() {
  std::vector<std::string> names;
  for (const Page& page : kPages)
    names.emplace_back(page.name);
  return names;
}

Result<ExitCode> run_docs(const CLI::App& root, const Context& context, const std::string& name) {
  const auto* page = std::find_if(kPages.begin(), kPages.end(),
                                  [&](const Page& candidate) { return candidate.name == name; });
  if (page == kPages.end()) {
    return Error{Errc::usage, fmt::format("docs: unknown page '{}'; accepted: {}", printable(name),
                                          join(page_names()))};
  }
  SLUICE_TRY(const std::string text, page->text(root));
  if (!context.globals.out.empty()) {
    SLUICE_CHECK(create_folders(context.globals.out));
    SLUICE_CHECK(write_file_atomic(context.globals.out / (name + ".md"), text));
  } else if (context.globals.json) {
    const Json data = page->data != nullptr ? page->data() : Json{{"page", name}, {"text", text}};
    print("{}\n", data.dump(2));
  } else {
    print("{}", text);
  }
  return ExitCode::done;
}

}  // namespace

std::string markdown_reference(const CLI::App& root) {
  std::string text =
      "<!-- Written by tools/docs from the command tree; edit the commands instead. -->\n"
      "# Commands\n";
  text += root.get_description() + "\n\n";
  text += fmt::format("{}\n\n", root.get_footer());
  text += "Results go to stdout, logs and progress to stderr; `NO_COLOR` is honoured.\n\n";
  text += "## Flags of every command\n";
  text += kTableHead + option_rows(*first_leaf(root), kEveryCommand) + "\n";
  sections(root, root.get_name(), text);
  while (text.size() > 1 && text[text.size() - 1] == '\n' && text[text.size() - 2] == '\n') {
    text.pop_back();
  }
  return text;
}

void add_docs(CLI::App& root, Context& context) {
  auto page = std::make_shared<std::string>();
  CLI::App* command =
      add_command(root, context, "docs", "Print a generated page of the documentation",
                  [page, &root, &context]() { return run_docs(root, context, *page); });
  add_value(*command, "page", *page, "{" + join(page_names(), ",") + "}", "page to print")
      ->required();
}

}  // namespace sluice::cli
