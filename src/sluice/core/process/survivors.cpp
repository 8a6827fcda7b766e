// sluice/core/process/survivors.cpp - /proc and pidfds; nothing here trusts a process to stay in
// its group.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/process/survivors.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace sluice {
namespace {

namespace fs = std::filesystem;

struct Started {
  std::mutex mutex;
  std::map<pid_t, std::string> lineage;  // of programs that run, by leader
  std::set<pid_t> strangers;             // children from before adopt_orphans()
  bool adopting = false;
};

Started& started() {
  static Started all;
  return all;
}

/// none: it was started without, or is about to be given one.
enum class Environment : std::uint8_t { of_kernel, none, some, in_exec };

/// What /proc/<pid>/stat says.
struct Found {
  pid_t pid = 0;
  char state = 0;
  pid_t parent = 0;
  pid_t group = 0;
  Environment environment = Environment::some;
  std::string name{};
};

std::optional<Found> found_at(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Found found;
  found.pid = pid;
  found.name = text.substr(open + 1, close - open - 1);
  const std::vector<std::string> fields = split(text.substr(close + 1), ' ');
  if (fields.size() < 4 || fields[1].empty()) return std::nullopt;  // the first is before a blank
  const auto number = [](const std::string& word) {
    pid_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  found.state = fields[1][0];
  found.parent = number(fields[2]);
  found.group = number(fields[3]);
  constexpr std::size_t kBegin = 48, kEnd = 49;  // addresses of the environment
  constexpr pid_t kKernel = 2;
  if (pid == kKernel || found.parent == kKernel)
    found.environment = Environment::of_kernel;
  else if (fields.size() > kEnd && fields[kEnd] == "0")
    found.environment = Environment::in_exec;
  else if (fields.size() > kEnd && fields[kBegin] == fields[kEnd])
    found.environment = Environment::none;
  return found;
}

std::vector<Found> all_processes() {
  std::vector<Found> all;
  std::error_code code;
  for (fs::directory_iterator it("/proc", code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc{} || rest != name.data() + name.size()) continue;
    if (auto found = found_at(pid)) all.push_back(std::move(*found));
  }
  return all;
}

/// Children of this process; nothing where the kernel does not list them.
std::optional<std::vector<Found>> own_children() {
  std::vector<Found> all;
  bool listed = false;
  std::error_code code;
  for (fs::directory_iterator it("/proc/self/task", code), end; !code && it != end;
       it.increment(code)) {
    std::ifstream in(it->path() / "children");
    listed = listed || in.is_open();
    for (pid_t pid = 0; in >> pid;)
      if (auto found = found_at(pid)) all.push_back(std::move(*found));
  }
  return listed ? std::optional(std::move(all)) : std::nullopt;
}

bool has_ended(const Found& found) {
  return found.state == 'Z' || found.state == 'X';
}

/// The environment of a process. While it calls exec, that is not there to be read, and for a
/// moment looks as if there were none: then it is asked again, until it runs another program.
std::string environment_of(const Found& one) {
  constexpr int kAsked = 200, kSure = 5;  // times, a millisecond apart; of them one after another
  int none = 0;
  for (int asked = 0; asked < kAsked && none < kSure; ++asked) {
    std::ifstream in(fmt::format("/proc/{}/environ", one.pid), std::ios::binary);
    if (!in.is_open()) break;  // not ours
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto now = found_at(one.pid);
    if (!text.empty() || !now || has_ended(*now) || now->environment == Environment::of_kernel)
      return text;
    none = now->environment == Environment::none ? none + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

/// Of its environment; empty: cleared, or not ours to read.
std::string lineage_of(const Found& one) {
  const std::string text = environment_of(one);
  const std::string key = std::string(kLineageVariable) + "=";
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    if (text.compare(at, key.size(), key) == 0)
      return text.substr(at + key.size(), text.find('\0', at) - at - key.size());
    if (text.find('\0', at) == std::string::npos) break;
  }
  return {};
}

/// What `leader` left: in its group, or with its lineage, or adopted and of no program that runs.
std::vector<Found> left_by(pid_t leader, const std::string& lineage) {
  Started& ours = started();
  const std::lock_guard lock(ours.mutex);
  std::optional<std::vector<Found>> children;
  if (ours.adopting) children = own_children();
  std::vector<Found> left;
  for (Found& one : children ? *children : all_processes()) {
    if (one.pid == leader || ours.lineage.count(one.pid) > 0 || ours.strangers.count(one.pid) > 0)
      continue;
    const bool adopted = ours.adopting && one.parent == getpid();
    if (has_ended(one)) {
      if (adopted) waitpid(one.pid, nullptr, WNOHANG);
      continue;
    }
    if (one.group == leader) {
      left.push_back(std::move(one));
      continue;
    }
    const std::string own = lineage_of(one);
    const bool others = std::ranges::any_of(ours.lineage, [&](const auto& other) {
      return other.first != leader && other.second == own;
    });
    if (own == lineage || (adopted && !others)) left.push_back(std::move(one));
  }
  return left;
}

Descriptor pidfd_of(pid_t pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

/// Until all of them have ended, but no longer than `limit_s`.
void wait_for(const std::vector<Found>& all, double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(limit_s);
  for (const Found& one : all) {
    const Descriptor ended = pidfd_of(one.pid);
    if (!ended.open()) continue;
    const double left_s = std::chrono::duration<double>(deadline - Clock::now()).count();
    pollfd waits{ended.get(), POLLIN, 0};
    poll(&waits, 1, std::max(0, static_cast<int>(left_s * 1000)));
  }
}

}  // namespace

std::string new_lineage() {
  static std::atomic<std::uint64_t> next{0};
  return fmt::format("{}-{}-{:x}", getpid(), ++next,
                     std::chrono::steady_clock::now().time_since_epoch().count());
}

void adopt_orphans() {
  {
    Started& ours = started();
    const std::lock_guard lock(ours.mutex);
    if (ours.adopting || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return;
    ours.adopting = true;
  }
  spare_children();
}

void spare_children() {
  Started& ours = started();
  const std::lock_guard lock(ours.mutex);
  for (const Found& one : own_children().value_or(std::vector<Found>{}))
    ours.strangers.insert(one.pid);
}

void note_started(pid_t leader, const std::string& lineage) {
  Started& ours = started();
  const std::lock_guard lock(ours.mutex);
  ours.lineage[leader] = lineage;
}

void note_ended(pid_t leader) {
  Started& ours = started();
  const std::lock_guard lock(ours.mutex);
  ours.lineage.erase(leader);
}

Survivors end_survivors(pid_t leader, const std::string& lineage, double grace_s) {
  constexpr int kRounds = 20;  // what is killed leaves children too
  constexpr double kKilledS = 0.1;
  std::vector<Found> left = left_by(leader, lineage);
  Survivors all{!left.empty()};
  if (!left.empty() && grace_s > 0) {
    wait_for(left, grace_s);
    left = left_by(leader, lineage);
  }
  std::vector<std::string>& names = all.killed;
  for (int round = 0; round < kRounds && !left.empty(); ++round) {
    for (const Found& one : left) {
      std::string name = fmt::format("{} (pid {})", printable(one.name), one.pid);
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
      ::kill(one.pid, SIGKILL);
    }
    wait_for(left, kKilledS);
    left = left_by(leader, lineage);
  }
  return all;
}

bool is_running(pid_t pid) {
  const auto found = found_at(pid);
  return found && !has_ended(*found);
}

bool descends_from(pid_t pid, pid_t ancestor) {
  constexpr int kDeepest = 100;
  for (int i = 0; i < kDeepest && pid > 1; ++i) {
    if (pid == ancestor) return true;
    const auto found = found_at(pid);
    if (!found) return false;
    pid = found->parent;
  }
  return false;
}

}  // namespace sluice
