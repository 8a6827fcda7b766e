// sluice/cli/completion.cpp - `sluice completion bash|zsh`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/completion.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/help.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

struct Word {
  std::string text;
  std::string description;
};

/// A flag that takes a value; without choices the shell completes file names.
struct ValueFlag {
  std::string flag;
  std::vector<std::string> choices;
};

/// What may follow one command; `trail` is its name with a space before each part (" data make").
struct CommandNode {
  std::string trail;
  std::vector<Word> words;
  std::vector<ValueFlag> values;
};

void collect(const CLI::App& app, const std::string& trail, std::vector<CommandNode>& nodes) {
  CommandNode node;
  node.trail = trail;
  for (const CLI::App* sub : visible_commands(app)) {
    node.words.push_back(Word{sub->get_name(), sub->get_description()});
  }
  for (const CLI::Option* option : visible_options(app)) {
    const std::vector<std::string> choices = choices_of(*option);
    const std::vector<std::string> flags = flags_of(*option);
    if (flags.empty()) {  // a positional
      for (const std::string& choice : choices) {
        node.words.push_back(Word{choice, option->get_description()});
      }
    }
    for (const std::string& flag : flags) {
      node.words.push_back(Word{flag, option->get_description()});
      if (option->get_items_expected_max() > 0) node.values.push_back(ValueFlag{flag, choices});
    }
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : visible_commands(app)) {
    collect(*sub, trail + " " + sub->get_name(), nodes);
  }
}

std::vector<CommandNode> collect(const CLI::App& root) {
  std::vector<CommandNode> nodes;
  collect(root, "", nodes);
  return nodes;
}

/// Arms of a `case "$trail $word"` that follow the commands typed so far.
std::string trail_arms(const std::vector<CommandNode>& nodes) {
  std::string arms;
  for (const CommandNode& node : nodes) {
    if (!node.trail.empty()) {
      arms += fmt::format("      \"{}\") trail=\"{}\" ;;\n", node.trail, node.trail);
    }
  }
  return arms;
}

/// In single quotes, for both shells.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c == '\n' ? ' ' : c;
    }
  }
  return result + "'";
}

/// `name:description` as zsh's _describe wants it.
std::string described(const Word& word) {
  std::string name;
  for (const char c : word.text) {
    if (c == ':' || c == '\\') name += '\\';
    name += c;
  }
  return shell_quoted(name + ":" + word.description);
}

/// In the first lines of both scripts.
constexpr const char* kCompletionMark = "written by `sluice completion";

struct CompletionArgs {
  std::string shell;
};

Result<ExitCode> run_completion(const CLI::App& root, const Context& context,
                                const CompletionArgs& args) {
  const bool bash = args.shell == "bash";
  if (!bash && args.shell != "zsh") {
    return Error{Errc::usage, fmt::format("completion: unknown shell '{}'; accepted: bash, zsh",
                                          printable(args.shell))};
  }
  const std::string script = bash ? bash_completion(root) : zsh_completion(root);
  std::filesystem::path file;
  if (!context.globals.out.empty()) {
    file =
        context.globals.out / (bash ? "sluice" : "_sluice");  // the names that each shell looks for
    OutputFiles files(context.globals);
    SLUICE_CHECK(files.claim({file}, NamedBy::us, kCompletionMark));
    SLUICE_CHECK(files.write(file, script));
  }
  if (context.globals.json) {
    Json document{{"shell", args.shell}, {"script", script}};
    if (!file.empty()) document["file"] = file.string();
    print("{}\n", document.dump(2));
  } else if (file.empty()) {
    print("{}", script);
  } else {
    print("{}\n", file.string());
  }
  return ExitCode::done;
}

}  // namespace

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    if (!sub->get_group().empty()) commands.push_back(sub);
  }
  return commands;
}

std::string bash_completion(const CLI::App& root) {
  const std::vector<CommandNode> nodes = collect(root);
  std::string words;
  std::string values;
  for (const CommandNode& node : nodes) {
    std::vector<std::string> texts;
    for (const Word& word : node.words) {
      texts.push_back(word.text);
    }
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", node.trail, join(texts, " "));
    for (const ValueFlag& value : node.values) {
      values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", node.trail, value.flag,
                            join(value.choices, " "));
    }
  }
  return fmt::format(R"(# bash completion for sluice; written by `sluice completion bash`.
_sluice() {{
  local trail="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$trail ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$trail" in
{}  esac
  case "$trail ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{}  esac
  # Nothing to offer: `-o default` below completes file names.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
}}
complete -o bashdefault -o default -F _sluice sluice
)",
                     trail_arms(nodes), words, values);
}

std::string zsh_completion(const CLI::App& root) {
  const std::vector<CommandNode> nodes = collect(root);
  std::string words;
  std::string values;
  for (const CommandNode& node : nodes) {
    std::string entries;
    for (const Word& word : node.words) {
      entries += "\n      " + described(word);
    }
    words += fmt::format("    \"{}\") entries=({}) ;;\n", node.trail, entries);
    for (const ValueFlag& value : node.values) {
      const std::string action =
          value.choices.empty() ? std::string("_files") : "compadd -- " + join(value.choices, " ");
      values += fmt::format("    \"{} {}\") {}; return ;;\n", node.trail, value.flag, action);
    }
  }
  return fmt::format(R"(#compdef sluice
# zsh completion for sluice; written by `sluice completion zsh`.
_sluice() {{
  local trail="" word
  local -a entries
  for word in ${{words[2,CURRENT-1]}}; do
    case "$trail $word" in
{}    esac
  done
  case "$trail ${{words[CURRENT-1]}}" in
{}  esac
  case "$trail" in
{}  esac
  _describe -o 'sluice' entries || _files
}}
if [[ $funcstack[1] == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
)",
                     trail_arms(nodes), values, words);
}

void add_completion(CLI::App& root, Context& context) {
  auto args = std::make_shared<CompletionArgs>();
  CLI::App* command =
      add_command(root, context, "completion", "Print the completion script for bash or zsh",
                  [args, &root, &context]() { return run_completion(root, context, *args); });
  add_value(*command, "shell", args->shell, "{bash,zsh}", "shell that will read the script")
      ->required();
  add_force_flag(*command, context.globals);
  add_examples(*command, {"source <(sluice completion bash)",
                          "sluice completion zsh --out ~/.zsh/completions"});
}

}  // namespace sluice::cli
