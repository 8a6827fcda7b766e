// sluice/backend/slurm/scripts.cpp - batch scripts that a person can read and submit.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/slurm/scripts.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::backend {
namespace {

class Script {
 public:
  explicit Script(const std::string& purpose) {
    text_ = fmt::format("#!/bin/bash\n# {}\n", purpose);
  }
  void option(const std::string& text) { text_ += fmt::format("#SBATCH {}\n", text); }
  template <class T>
  void option(const char* name, const std::optional<T>& value) {
    if (value) option(fmt::format("--{}={}", name, *value));
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Quoted in an #SBATCH line; check_script_path() has seen to what is in it.
std::string quoted(const std::filesystem::path& path) {
  return fmt::format("\"{}\"", path.string());
}

std::string named(const Submission& submission, const std::string& type) {
  return fmt::format("sluice-{}{}{}", submission.token, type.empty() ? "" : "-", type);
}

/// A comment of a script: an argument may hold anything.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

void begin(Script& script, const ScriptContext& context, const std::string& name,
           const char* pattern) {
  script.option("--job-name=" + name);
  script.option("--output=" + quoted(context.out / "logs" / pattern));
  script.option("--open-mode=append");
  script.option("--chdir=" + quoted(context.submission->work_folder));
  script.option("--nodes=1");
  script.option("--ntasks=1");
  const plan::Slurm& slurm = context.config->slurm;
  script.option("partition", slurm.partition);
  script.option("account", slurm.account);
  script.option("qos", slurm.qos);
}

void end(Script& script, const ScriptContext& context, const std::vector<std::string>& command) {
  script.line("set -euo pipefail");
  for (const std::string& line : context.config->slurm.setup)
    script.line(line);
  std::vector<std::string> words;
  std::transform(command.begin(), command.end(), std::back_inserter(words), shell_word);
  script.line("exec " + join(words, " "));
}

std::vector<std::string> slice_command(const ScriptContext& context, const std::string& type) {
  std::vector<std::string> command = {context.program.string(), "slice", context.out.string()};
  if (!type.empty()) command.insert(command.end(), {"--type", type});
  return command;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted_word = "'";
  for (const char c : word)
    quoted_word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted_word + "'";
}

std::string array_name(const Submission& submission, const std::string& type) {
  return named(submission, type);
}
std::string collect_name(const Submission& submission, const std::string& type) {
  return named(submission, type) + "-collect";
}

Status check_script_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  const bool fits = std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return c < ' ' || c == 0x7f || c == '"' || c == '\\' || c == '%';
  });
  if (fits) return ok;
  return Error{Errc::usage,
               fmt::format("{}: a folder whose name holds \", \\, % or a control character cannot "
                           "be written into a script of Slurm; name another",
                           shown(path))};
}

std::string array_script(const ScriptContext& context, const std::string& type,
                         const std::vector<int>& tasks) {
  const plan::Cluster& cluster = context.config->cluster;
  const plan::Slurm& slurm = context.config->slurm;
  const bool plan = context.submission->commands.empty();
  Script script(fmt::format("measures {}; written by sluice --backend slurm",
                            plan ? "slices of a plan" : "by a command of sluice"));
  begin(script, context, array_name(*context.submission, type), "%x-%A_%a.out");
  script.option(fmt::format("--array={}{}", index_list(tasks),
                            cluster.parallel ? fmt::format("%{}", *cluster.parallel) : ""));
  script.option("--requeue");  // what was preempted begins again, and goes on where it was
  if (slurm.exclusive) script.option("--exclusive");
  if (!type.empty()) script.option("--constraint=" + type);
  script.option("cpus-per-task", cluster.cpus);
  script.option("gpus-per-node", cluster.gpus);
  if (cluster.memory) script.option(fmt::format("--mem={}M", (*cluster.memory + 1048575) >> 20));
  script.option("time", cluster.minutes);
  for (const std::string& option : slurm.options)
    script.option(option);
  script.line("");
  for (const int task : tasks)
    script.line(fmt::format("# task {}: {}", task, one_line(context.submission->describe(task))));
  end(script, context, slice_command(context, type));
  return script.text();
}

std::string collect_script(const ScriptContext& context, const std::string& type) {
  Script script("puts the results of all tasks together; written by sluice --backend slurm");
  begin(script, context, collect_name(*context.submission, type), "%x-%j.out");
  script.option("--requeue");
  script.option("--cpus-per-task=1");
  for (const std::string& option : context.config->slurm.options)
    script.option(option);
  script.line("");
  std::vector<std::string> command = slice_command(context, type);
  command.emplace_back("--collect");
  end(script, context, command);
  return script.text();
}

std::vector<std::string> sbatch_command(const std::filesystem::path& script,
                                        const std::vector<std::string>& after) {
  std::vector<std::string> command = {"sbatch", "--parsable"};
  if (!after.empty()) command.push_back("--dependency=afterany:" + join(after, ":"));
  command.push_back(script.string());
  return command;
}

std::vector<std::string> task_command(const ScriptContext& context, const std::string& type,
                                      int task) {
  std::vector<std::string> command = slice_command(context, type);
  command.insert(command.end(), {"--index", std::to_string(task)});
  return command;
}

}  // namespace sluice::backend
