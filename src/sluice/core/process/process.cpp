// sluice/core/process/process.cpp - fork, exec, process groups and the end of a process.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/process/process.h"

#include "sluice/core/file.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every <unistd.h>

namespace sluice {
namespace {

/// Again when a signal came in between.
template <class Call>
auto retried(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

std::vector<std::string> merged_environment(const ProcessOptions& options,
                                            const std::string& lineage) {
  std::vector<std::string> merged;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (options.environment.count(name) == 0 && name != kLineageVariable) merged.push_back(text);
  }
  merged.push_back(std::string(kLineageVariable) + "=" + lineage);
  for (const auto& [name, value] : options.environment) {
    if (value) merged.push_back(name + "=" + *value);
  }
  return merged;
}

std::vector<char*> c_array(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Copies of what the program is given, above every number that it will use, so that no dup2
/// overwrites another.
struct Lifted {
  int above = STDERR_FILENO;
  std::vector<Descriptor> copies{};
  std::vector<Redirect> redirects{};

  Status add(int ours, int theirs) {
    Descriptor copy(fcntl(ours, F_DUPFD_CLOEXEC, above + 1));
    if (!copy.open()) return Error{Errc::io, "no descriptor for a process: " + why(errno)};
    redirects.push_back({copy.get(), theirs});
    copies.push_back(std::move(copy));
    return ok;
  }
};

Result<Lifted> lift(const std::vector<Redirect>& asked) {
  Lifted lifted;
  for (const Redirect& one : asked)
    lifted.above = std::max(lifted.above, one.theirs);
  for (const Redirect& one : asked)
    SLUICE_CHECK(lifted.add(one.ours, one.theirs));
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
    const bool named = std::any_of(asked.begin(), asked.end(),
                                   [&](const Redirect& one) { return one.theirs == standard; });
    if (!named) SLUICE_CHECK(lifted.add(nothing.get(), standard));
  }
  return lifted;
}

/// What the child says when it cannot become the program; nothing when it did.
struct Failure {
  enum class Step { none, folder, own, program } step = Step::none;
  int error = 0;
  std::array<char, 120> words{};  // of before_exec
};

struct ChildPlan {
  char* const* argv;
  char* const* envp;
  const char* folder;
  const std::vector<Redirect>* redirects;
  const std::function<const char*()>* before_exec;
  int failure_fd;
  pid_t parent;
};

[[noreturn]] void give_up(const ChildPlan& plan, Failure::Step step, const char* words = "") {
  Failure failure{step, errno, {}};
  std::strncpy(failure.words.data(), words, failure.words.size() - 1);
  const ssize_t written = write(plan.failure_fd, &failure, sizeof failure);
  (void)written;
  _exit(127);
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_program(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // we were orphaned before the line above
  for (const Redirect& one : *plan.redirects)
    dup2(one.ours, one.theirs);
  if (*plan.folder != '\0' && chdir(plan.folder) != 0) give_up(plan, Failure::Step::folder);
  if (*plan.before_exec) {
    if (const char* wrong = (*plan.before_exec)()) give_up(plan, Failure::Step::own, wrong);
  }
  execve(plan.argv[0], plan.argv, plan.envp);
  give_up(plan, Failure::Step::program);
}

Failure read_failure(int fd) {
  Failure failure;
  const ssize_t got = retried([&] { return read(fd, &failure, sizeof failure); });
  return got == static_cast<ssize_t>(sizeof failure) ? failure : Failure{};
}

Error explained(const Failure& failure, const ProcessOptions& options) {
  switch (failure.step) {
    case Failure::Step::folder:
      return {Errc::not_found,
              fmt::format("{}: {}; expected a folder to start {} in", shown(options.folder),
                          why(failure.error), printable(options.command[0]))};
    case Failure::Step::own:
      return {Errc::measurement, failure.words.data()};
    default:
      return {Errc::not_found, fmt::format("{}: {}; expected the path of a program",
                                           printable(options.command[0]), why(failure.error))};
  }
}

}  // namespace

int ProcessEnd::exit_code() const {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ProcessEnd::text() const {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

Result<Pipe> Pipe::make() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{Errc::io, "no pipe: " + why(errno)};
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Process::Process(pid_t pid, std::string lineage, double grace_s)
    : pid_(pid),
      lineage_(std::move(lineage)),
      grace_s_(grace_s),
      ended_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
  note_started(pid_, lineage_);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      lineage_(std::move(other.lineage_)),
      grace_s_(other.grace_s_),
      ended_(std::move(other.ended_)),
      end_(std::move(other.end_)) {}

Result<Process> Process::start(const ProcessOptions& options) {
  if (options.command.empty()) return Error{Errc::internal, "a process without a command"};
  SLUICE_TRY(const Lifted lifted, lift(options.descriptors));
  SLUICE_TRY(Pipe failures, Pipe::make());
  Descriptor failure_fd(fcntl(failures.write_end.get(), F_DUPFD_CLOEXEC, lifted.above + 1));
  failures.write_end.reset();
  std::vector<std::string> arguments = options.command;
  std::string lineage = new_lineage();
  std::vector<std::string> environment = merged_environment(options, lineage);
  const std::vector<char*> argv = c_array(arguments);
  const std::vector<char*> envp = c_array(environment);
  const std::string folder = options.folder.string();
  const ChildPlan plan{argv.data(),          envp.data(),      folder.c_str(), &lifted.redirects,
                       &options.before_exec, failure_fd.get(), getpid()};
  const pid_t pid = fork();
  if (pid == 0) become_program(plan);
  if (pid < 0)
    return Error{Errc::io,
                 fmt::format("no process for {}: {}", printable(options.command[0]), why(errno))};
  setpgid(pid, pid);  // also here, so that a signal to the group cannot come too early
  failure_fd.reset();
  Process process(pid, std::move(lineage), options.grace_s);
  const Failure failure = read_failure(failures.read_end.get());
  if (failure.step != Failure::Step::none) return explained(failure, options);
  return process;
}

void Process::signal(int number) const {
  if (pid_ > 0 && !end_) ::kill(-pid_, number);
}

bool Process::wait(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(limit_s);
  while (!reap(WNOHANG)) {
    const double left_s = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (left_s <= 0) return false;
    constexpr double kLongestS = 60;
    pollfd ended{ended_.get(), POLLIN, 0};  // a kernel without pidfds: every millisecond
    poll(&ended, 1, ended_.open() ? static_cast<int>(std::min(left_s, kLongestS) * 1000) + 1 : 1);
  }
  return true;
}

void Process::kill() {
  if (end_) return;
  grace_s_ = 0;
  signal(SIGKILL);
  if (reap(0) && end_) end_->survivors.clear();  // it did not leave them, we ended it
}

/// The group is killed while its dead leader still holds the number, so that no stranger can have
/// it.
bool Process::reap(int flags) {
  if (end_ || pid_ <= 0) return true;
  siginfo_t info{};
  if (retried([&] {
        return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags);
      }) != 0 ||
      info.si_pid != pid_)
    return false;
  const auto now_ns = [] {
    return std::int64_t{std::chrono::steady_clock::now().time_since_epoch().count()};
  };
  ProcessEnd end;
  end.ended_ns = now_ns();
  Survivors left = end_survivors(pid_, lineage_, grace_s_);
  if (left.any && left.killed.empty()) end.ended_ns = now_ns();  // they belong to it
  end.survivors = std::move(left.killed);
  ::kill(-pid_, SIGKILL);  // whatever slipped through
  rusage usage{};
  if (retried([&] { return wait4(pid_, &end.status, 0, &usage); }) != pid_) return false;
  end.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  end.user_s = seconds(usage.ru_utime);
  end.system_s = seconds(usage.ru_stime);
  end_ = std::move(end);
  note_ended(pid_);
  return true;
}

Result<std::filesystem::path> own_program() {
  std::error_code problem;
  auto path = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) return Error{Errc::io, "/proc/self/exe: " + problem.message()};
  return path;
}

bool is_program(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code) && access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_command(const std::string& word, const std::string& search_path) {
  if (word.find('/') != std::string::npos) {
    if (is_program(word)) return word;
    return Error{Errc::not_found, fmt::format("{}: is not a program", printable(word))};
  }
  for (const std::string& folder : split(search_path, ':')) {
    const std::filesystem::path path = std::filesystem::path(folder) / word;
    if (!folder.empty() && is_program(path)) return path.string();
  }
  return Error{Errc::not_found,
               fmt::format("{}: no such program in PATH; give its name or path", printable(word))};
}

}  // namespace sluice
