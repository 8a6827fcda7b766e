// sluice/backend/cluster/command.cpp - a command as a process whose words are kept.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/command.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/file.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

constexpr double kEndS = 60;          // for a process that was asked to end
constexpr double kEndingTaskS = 120;  // that was killed, and still holds the folder

fs::path beside(const fs::path& type_folder, int task, const std::string& suffix) {
  return folder_of_task(type_folder, task).string() + suffix;
}

Result<Descriptor> new_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return Error{Errc::io, fmt::format("{}: cannot be written", shown(path))};
  return file;
}

/// --resume where there is something to continue; what cannot be continued is moved aside.
Result<std::vector<std::string>> look_at(const fs::path& folder, const Submission& submission) {
  std::error_code code;
  if (!fs::exists(folder, code)) return std::vector<std::string>();
  SLUICE_CHECK(wait_until_free(folder, kEndingTaskS));
  if (submission.continues) return std::vector<std::string>{"--resume"};
  if (!submission.collect_command.empty()) return std::vector<std::string>();  // goes on by itself
  for (int n = 1;; ++n) {
    const fs::path aside = fmt::format("{}.{}", folder.string(), n);
    if (fs::exists(aside, code)) continue;
    fs::rename(folder, aside, code);
    if (code) return Error{Errc::io, fmt::format("{}: {}", shown(folder), code.message())};
    return std::vector<std::string>();
  }
}

}  // namespace

Result<int> run_to_end(const ProcessOptions& options) {
  SLUICE_TRY(Process process, Process::start(options));
  while (!process.wait(0.05)) {
    if (!stop_requested()) continue;
    process.signal(SIGTERM);
    if (!process.wait(kEndS)) process.kill();
    break;
  }
  return process.end() ? process.end()->exit_code() : 128 + SIGKILL;
}

std::vector<std::string> with_out(const std::vector<std::string>& words, const fs::path& out,
                                  const std::vector<std::string>& more) {
  const auto named = std::find_if(words.begin(), words.end(),
                                  [](const std::string& word) { return word.starts_with('-'); });
  std::vector<std::string> all(words.begin(), named);
  all.insert(all.end(), {"--out", out.string()});
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), named, words.end());
  return all;
}

fs::path printed_by_task(const fs::path& type_folder, int task) {
  return beside(type_folder, task, ".out");
}
fs::path complaints_of_task(const fs::path& type_folder, int task) {
  return beside(type_folder, task, ".err");
}

Result<int> run_command_task(const fs::path& program, const Submission& submission,
                             const fs::path& type_folder, int task) {
  const fs::path folder = folder_of_task(type_folder, task);
  SLUICE_CHECK(create_folders(folder.parent_path()));
  const measure::Interrupt interrupt;
  SLUICE_TRY(const std::vector<std::string> more, look_at(folder, submission));
  SLUICE_TRY(const Descriptor out, new_file(printed_by_task(type_folder, task)));
  SLUICE_TRY(const Descriptor err, new_file(complaints_of_task(type_folder, task)));
  ProcessOptions options;
  options.command = with_out(submission.commands[static_cast<std::size_t>(task)], folder, more);
  options.command.insert(options.command.begin(), program.string());
  options.descriptors = {{out.get(), 1}, {err.get(), 2}};
  SLUICE_TRY(const int code, run_to_end(options));
  if (interrupt.requested()) return Error{Errc::interrupted, "interrupted; --resume goes on"};
  return code;
}

}  // namespace sluice::backend
