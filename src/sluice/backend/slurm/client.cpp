// sluice/backend/slurm/client.cpp - calls programs of Slurm, and reads what they answer.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/slurm/client.h"

#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace sluice::backend {
namespace {

constexpr double kAnswerS = 120;  // a busy controller takes its time
constexpr std::string_view kLine = "sluice-job ";

Result<ChildResult> call(const std::vector<std::string>& command, const char* name,
                         std::vector<std::string>* lines = nullptr) {
  ChildOptions options;
  options.command = without_lineage(command);
  options.stdout_apart = lines == nullptr;
  options.timeout_s = kAnswerS;
  if (lines != nullptr)
    options.on_line = [lines](std::string_view line) { lines->emplace_back(line); };
  SLUICE_TRY(ChildResult done, run_child(options));
  if (done.status == 0) return done;
  std::string said(trimmed(done.output));
  if (const auto end = said.find_last_of('\n'); end != std::string::npos) said.erase(0, end + 1);
  return Error{Errc::unsupported, fmt::format("{}: ended with code {}: {}", name, done.status,
                                              said.empty() ? "no reason given" : printable(said))};
}

Result<std::string> program(const char* name, const std::string& search_path) {
  auto path = find_command(name, search_path);
  if (path) return path;
  return Error{Errc::unsupported,
               fmt::format("{}: not in PATH: this machine has no Slurm; run it where jobs are "
                           "submitted, see the scripts with --dry-run, or measure here with "
                           "--backend local",
                           name)};
}

}  // namespace

Result<SlurmClient> SlurmClient::find(const std::string& search_path) {
  SlurmClient client;
  SLUICE_TRY(client.sbatch_, program("sbatch", search_path));
  SLUICE_TRY(client.squeue_, program("squeue", search_path));
  SLUICE_TRY(client.scancel_, program("scancel", search_path));
  return client;
}

Result<std::string> SlurmClient::submit(std::vector<std::string> command) const {
  command.front() = sbatch_;
  SLUICE_TRY(const ChildResult done, call(command, "sbatch"));
  // --parsable: "123" or "123;cluster".
  const std::string id(trimmed(done.printed.substr(0, done.printed.find(';'))));
  if (id.empty() || id.find_first_not_of("0123456789") != std::string::npos)
    return Error{Errc::unsupported, fmt::format("sbatch: answered '{}', not the number of a job",
                                                printable(trimmed(done.printed)))};
  return id;
}

Result<std::vector<QueuedJob>> SlurmClient::queued(const std::vector<std::string>& names) const {
  std::vector<std::string> lines;
  SLUICE_TRY(const ChildResult done,
             call({squeue_, "--noheader", "--array", "--name=" + join(names, ","),
                   fmt::format("--format={}%F %K %T %j", kLine)},
                  "squeue", &lines));
  std::vector<QueuedJob> jobs;
  for (const std::string& line : lines) {
    if (!line.starts_with(kLine)) continue;
    const std::vector<std::string> words =
        split(trimmed(std::string_view(line).substr(kLine.size())), ' ');
    if (words.size() != 4 || words[2] == "COMPLETING") continue;
    QueuedJob job{words[0], std::nullopt, words[3]};
    int task = 0;
    const auto [end, wrong] =
        std::from_chars(words[1].data(), words[1].data() + words[1].size(), task);
    if (wrong == std::errc() && end == words[1].data() + words[1].size()) job.task = task;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Status SlurmClient::cancel(const std::string& id) const {
  SLUICE_TRY(const ChildResult done, call({scancel_, id}, "scancel"));
  return ok;
}

std::vector<std::string> without_lineage(std::vector<std::string> command) {
  command.insert(command.begin(), {"/usr/bin/env", "-u", kLineageVariable});
  return command;
}

bool in_allocation() {
  const char* id = std::getenv("SLURM_JOB_ID");
  return id != nullptr && *id != '\0';
}

}  // namespace sluice::backend
