// sluice/peers/install.cpp - lock, repair, venv, pip, marker, and the removal of what is older.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/log.h"
#include "sluice/core/process/child.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/peers/environment.h"
#include "sluice/peers/library.h"
#include "sluice/peers/marker.h"
#include "sluice/peers/python.h"

#include <fmt/format.h>

#include <chrono>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kVenvTimeoutS = 300;
constexpr double kFreezeTimeoutS = 120;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Held while a group is installed.
Result<FileLock> lock_group(const fs::path& file, std::string_view group,
                            const InstallOptions& options) {
  return FileLock::take(file, fmt::format("environment '{}'", group),
                        {.limit_s = options.pip_timeout_s + kVenvTimeoutS + kFreezeTimeoutS,
                         .cancel_fd = options.cancel_fd,
                         .waiting = [&](const std::string& holder) {
                           log::warn("environment '{}': {} is installing it; waiting for it", group,
                                     holder);
                         }});
}

/// Ours may point Python or pip elsewhere; proxies and indexes stay as the user set them.
std::map<std::string, std::optional<std::string>> clean_environment() {
  std::map<std::string, std::optional<std::string>> changes;
  for (const char* name : {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE",
                           "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT",
                           "PIP_NO_DEPS", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"})
    changes[name] = std::nullopt;
  changes["PYTHONNOUSERSITE"] = "1";
  changes["PYTHONUNBUFFERED"] = "1";
  changes["PIP_DISABLE_PIP_VERSION_CHECK"] = "1";
  changes["PIP_NO_INPUT"] = "1";
  return changes;
}

/// What pip means, from what it wrote.
std::string advice_for(std::string_view output) {
  const auto says = [&](std::string_view words) { return output.find(words) != output.npos; };
  if (says("No space left on device"))
    return "the disk is full: free some, or name another folder with SLUICE_CACHE_DIR";
  for (const std::string_view words :
       {"Temporary failure in name resolution", "Name or service not known",
        "Failed to establish a new connection", "Network is unreachable", "Connection refused",
        "Max retries exceeded", "Read timed out", "ProxyError", "ConnectTimeoutError"}) {
    if (says(words))
      return "the package index cannot be reached: check the network, or set PIP_INDEX_URL or "
             "PIP_FIND_LINKS";
  }
  if (says("No module named pip") || says("ensurepip is not"))
    return "Python lacks a part: run apt-get install python3-venv";
  if (says("No matching distribution found"))
    return "there is no such package for this Python and processor";
  return "";
}

/// The last line that says what is wrong; the last line at all when none does.
std::string last_words(std::string_view output) {
  std::string last;
  std::string error;
  for (const std::string& line : split(output, '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    if (line.find("ERROR") != std::string::npos || line.find("Error:") != std::string::npos)
      error = line;
  }
  return printable((error.empty() ? last : error).substr(0, 300));
}

/// Lines that pin one, not those of its hashes; each is collected once.
std::uint64_t count_packages(std::string_view requirements) {
  std::uint64_t count = 0;
  for (const std::string& line : split(requirements, '\n'))
    count += line.find("==") != std::string::npos && line.front() != '#' ? 1U : 0U;
  return count;
}

/// One environment on its way.
class Installation {
 public:
  Installation(Venv wanted, Python python, std::string requirements, const InstallOptions& options)
      : environment_(std::move(wanted)),
        python_(std::move(python)),
        requirements_(std::move(requirements)),
        options_(options),
        log_(environment_.folder.string() + ".log"),
        steps_(count_packages(requirements_) + 2),  // and the venv, and the installation
        bar_((options.progress != nullptr ? *options.progress : Progress::silent())
                 .bar("install " + environment_.group, steps_, "steps")) {}

  Result<Venv> run() {
    SLUICE_CHECK(write_file_atomic(log_, ""));
    begin(0, "create venv");
    SLUICE_TRY(const std::string made,
               step("venv", {python_.program.string(), "-m", "venv", environment_.folder.string()},
                    kVenvTimeoutS));
    begin(1, "download");
    SLUICE_CHECK(write_file_atomic(own_requirements(), requirements_));
    SLUICE_TRY(const std::string installed, step("pip", pip_command(), options_.pip_timeout_s));
    SLUICE_TRY(const std::string frozen,
               step("pip freeze", {environment_.python().string(), "-m", "pip", "freeze", "--all"},
                    kFreezeTimeoutS));
    environment_.packages = parse_freeze(frozen);
    if (environment_.packages.empty())
      return Error{Errc::io, fmt::format("environment '{}': pip freeze lists no package; log: {}",
                                         environment_.group, printable(log_.string()))};
    std::string lock;
    for (const auto& [name, version] : environment_.packages)
      lock += name + "==" + version + "\n";
    environment_.lock_hash = sha256_hex("python " + python_.version + "\n" + lock);
    SLUICE_CHECK(write_file_atomic(environment_.folder / "lock.txt", lock));
    SLUICE_CHECK(write_marker(environment_));
    begin(steps_, "done");
    return environment_;
  }

 private:
  /// A copy of what was hashed: the file itself may change while pip runs.
  [[nodiscard]] fs::path own_requirements() const {
    return environment_.folder / "requirements.txt";
  }

  [[nodiscard]] std::vector<std::string> pip_command() const {
    // Wheels only: nothing is compiled, so what is measured is what its authors publish.
    return {environment_.python().string(),
            "-m",
            "pip",
            "install",
            "--no-input",
            "--no-warn-script-location",
            "--progress-bar",
            "off",
            "--only-binary",
            ":all:",
            "--require-hashes",  // what the index sends is what was pinned: tools/pin_hashes.py
            "--no-deps",  // all is pinned: a new release of what a package asks for changes nothing
            "-r",
            own_requirements().string()};
  }

  void begin(std::uint64_t step, std::string note) {
    done_ = step;
    note_ = std::move(note);
    bar_.set(done_, note_);
  }

  void show(std::string_view line) {
    const bool installing = line.starts_with("Installing collected packages");
    if (installing)
      done_ = steps_ - 1;
    else if (line.starts_with("Collecting ") && done_ + 2 < steps_)
      ++done_;
    begin(done_, installing ? "installing" : printable(line.substr(0, 120)));
  }

  Result<std::string> step(const char* name, std::vector<std::string> command, double timeout_s) {
    ChildOptions child;
    child.command = std::move(command);
    child.environment = clean_environment();
    child.log_file = log_;
    child.timeout_s = timeout_s;
    child.cancel_fd = options_.cancel_fd;
    child.on_tick = [this] { bar_.set(done_, note_); };
    if (std::string_view(name) == "pip") {
      child.on_line = [this](std::string_view line) { show(line); };
    }
    auto done = run_child(child);
    if (!done) {
      return Error{done.error().code,
                   fmt::format("environment '{}': {}: {}; log: {}", environment_.group, name,
                               done.error().message, printable(log_.string()))};
    }
    if (done->status == 0) return std::move(done->output);
    std::string message =
        fmt::format("environment '{}': {} failed (exit code {}): {}", environment_.group, name,
                    done->status, last_words(done->output));
    if (const std::string advice = advice_for(done->output); !advice.empty())
      message += "; " + advice;
    return Error{Errc::io, message + "; log: " + printable(log_.string())};
  }

  Venv environment_;
  Python python_;
  std::string requirements_;
  const InstallOptions& options_;
  fs::path log_;
  std::uint64_t steps_;
  Progress::Bar bar_;
  std::uint64_t done_ = 0;
  std::string note_;
};

Status remove_folder(const fs::path& folder) {
  std::error_code problem;
  fs::remove_all(folder, problem);
  if (!problem) return ok;
  return Error{Errc::io, fmt::format("{}: cannot be removed: {}", printable(folder.string()),
                                     problem.message())};
}

/// Those of other processors stay: a home folder may be shared.
void remove_older(const Places& places, const Venv& current) {
  for (const fs::path& folder : folders_of_group(places, current.group)) {
    if (folder == current.folder) continue;
    const auto found = read_marker(folder);
    if (found && found->architecture != current.architecture) continue;
    if (const Status removed = remove_folder(folder); !removed) {
      log::warn("{}", removed.error().message);
      continue;
    }
    std::error_code ignored;
    fs::remove(folder.string() + ".log", ignored);
    log::info("{}: removed, replaced by {}", folder.string(), current.folder.string());
  }
}

}  // namespace

Result<InstallReport> install_environment(const Places& places, std::string_view group,
                                          const InstallOptions& options) {
  const auto start = Clock::now();
  if (!is_group(group))
    return Error{Errc::usage, fmt::format("group '{}' is not known", printable(group))};
  if (places.adapters.empty()) return find_environment(places, group).error();
  SLUICE_TRY(const std::string requirements,
             read_text_file(requirements_file(places, group), 1 << 20));
  SLUICE_TRY(const Python python, find_python(places));
  Venv wanted;
  wanted.group = group;
  wanted.requirements_hash = sha256_hex(requirements);
  wanted.hash = environment_hash(requirements, python.version, python.architecture);
  wanted.folder = environment_folder(places, group, wanted.hash);
  wanted.python_version = python.version;
  wanted.architecture = python.architecture;

  SLUICE_CHECK(create_folders(environments_folder(places)));
  SLUICE_TRY(
      const FileLock lock,
      lock_group(environments_folder(places) / fmt::format("{}.lock", group), group, options));
  if (auto found = read_marker(wanted.folder); found && found->hash == wanted.hash)
    return InstallReport{std::move(*found), false, seconds_since(start)};
  std::error_code problem;
  if (fs::exists(wanted.folder, problem)) {
    log::warn("environment '{}' is only half installed: it is removed and made again", group);
    SLUICE_CHECK(remove_folder(wanted.folder));
  }
  Installation installation(wanted, python, requirements, options);
  SLUICE_TRY(Venv made, installation.run());
  remove_older(places, made);
  return InstallReport{std::move(made), true, seconds_since(start)};
}

}  // namespace sluice::peers
