// sluice/measure/worker_process.cpp - fork, exec, process groups, signals and the end of a worker.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/measure/protocol.h"
#include "sluice/measure/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every <unistd.h>

namespace sluice::measure {
namespace {

constexpr double kByeTimeoutS = 2.0;
constexpr int kChildIn = 3;
constexpr int kChildOut = 4;

/// Closes what was opened on every way out.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd& operator=(Fd&&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int release() { return std::exchange(fd_, -1); }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// The last words of this worker: of what was appended to the log since `start`, and of that only
/// the end.
std::string last_line(const std::filesystem::path& file, std::uintmax_t start) {
  constexpr std::uintmax_t kTail = 4096;
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(file, problem);
  if (problem || size <= start) return "";
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(std::max(start, size - std::min(size, kTail))));
  std::string line;
  std::string last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return printable(last.substr(0, 200));
}

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(file, problem);
  return problem ? 0 : size;
}

std::string text_field(const Json& message, const char* key, std::string fallback) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : fallback;
}

/// Again when a signal came in between.
template <class Call>
auto retried(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(pid_t pid, int read_fd, int write_fd, LaunchOptions options,
                std::uintmax_t log_start)
      : pid_(pid),
        channel_(read_fd, write_fd),
        ended_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        options_(std::move(options)),
        log_start_(log_start) {}
  ~ProcessWorker() override { kill_and_reap(); }

  Result<Json> request(Json request, double timeout_s) override {
    const std::string type = text_field(request, "type", "");
    const std::int64_t id = ++last_id_;
    request["id"] = id;
    if (auto sent = channel_.send(request); !sent) return died(type);
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const double left_s =
          timeout_s -
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      // Once more after the deadline, for what is there already; then no talk however lively helps.
      auto reply = channel_.receive(std::max(left_s, 0.0), options_.cancel_fd, ended_.get());
      if (!reply) return explain(type, timeout_s, reply.error());
      const bool failed = text_field(*reply, "type", "") == "error";
      const auto answered = reply->find("id");
      const bool ours = answered == reply->end() ? failed : *answered == Json(id);
      if (ours && !failed) return reply;
      if (ours) {
        const Errc code =
            text_field(*reply, "code", "") == "unsupported" ? Errc::unsupported : Errc::measurement;
        return Error{code, printable(text_field(*reply, "reason", "no reason given"))};
      }
      if (left_s <= 0) return explain(type, timeout_s, {Errc::timeout, ""});
    }
  }

  void pause() override { signal_group(SIGSTOP); }
  void resume() override { signal_group(SIGCONT); }

  void finish() override {
    if (reaped_) return;
    resume();
    if (channel_.send(Json{{"type", "bye"}}))
      (void)channel_.receive(kByeTimeoutS, options_.cancel_fd, ended_.get());
    wait_for_exit(kByeTimeoutS);
    kill_and_reap();
  }

  [[nodiscard]] std::int64_t pid() const override { return pid_; }
  [[nodiscard]] std::optional<std::int64_t> peak_rss_bytes() const override {
    return peak_rss_bytes_;
  }

 private:
  Error explain(const std::string& type, double timeout_s, const Error& error) {
    switch (error.code) {
      case Errc::timeout:
        kill_and_reap();
        return {Errc::timeout, fmt::format("{}: no answer within {:g} s; killed", type, timeout_s)};
      case Errc::interrupted:
        return error;
      case Errc::io:
        return died(type);
      default:
        return {Errc::measurement, fmt::format("{}: the worker answered with something that is {}",
                                               type, error.message)};
    }
  }

  /// The channel broke: find out why, and quote the last words in its log.
  Error died(const std::string& type) {
    wait_for_exit(0.5);
    const bool ended = reaped_;
    kill_and_reap();
    std::string reason = ended ? how_it_ended(status_) : std::string("closed its channel");
    if (const std::string words = last_line(options_.log_file, log_start_); !words.empty())
      reason += "; last line of its log: " + words;
    return {Errc::measurement, fmt::format("{}: the worker {}", type, reason)};
  }

  void signal_group(int signal) const {
    if (!reaped_) kill(-pid_, signal);
  }

  void wait_for_exit(double limit_s) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
    while (!reap(WNOHANG) && std::chrono::steady_clock::now() < end)
      usleep(500);
  }

  /// The group is killed while its dead leader still holds the number, so that no stranger can
  /// have it.
  bool reap(int flags) {
    if (reaped_) return true;
    siginfo_t info{};
    if (retried([&] {
          return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags);
        }) != 0 ||
        info.si_pid != pid_)
      return false;
    kill(-pid_, SIGKILL);  // whatever it may have started
    rusage usage{};
    if (retried([&] { return wait4(pid_, &status_, 0, &usage); }) != pid_) return false;
    reaped_ = true;
    peak_rss_bytes_ = std::int64_t{usage.ru_maxrss} * 1024;
    return true;
  }

  void kill_and_reap() {
    if (reaped_) return;
    kill(-pid_, SIGKILL);
    reap(0);
  }

  pid_t pid_;
  LineChannel channel_;
  Fd ended_;  // readable when the process has ended; a grandchild may hold the pipe open
  LaunchOptions options_;
  std::uintmax_t log_start_;
  std::int64_t last_id_ = 0;
  bool reaped_ = false;
  int status_ = 0;
  std::optional<std::int64_t> peak_rss_bytes_;
};

/// Our environment with what the launch adds, the descriptors and the padding.
std::vector<std::string> worker_environment(const LaunchOptions& options) {
  std::map<std::string, std::string> replaced = options.environment;
  replaced["SLUICE_PADDING"] = std::string(options.environment_padding, 'x');
  replaced[kPeerInVariable] = std::to_string(kChildIn);
  replaced[kPeerOutVariable] = std::to_string(kChildOut);
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (replaced.count(text.substr(0, text.find('='))) == 0) environment.push_back(text);
  }
  for (const auto& [name, value] : replaced)
    environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> c_array(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildPlan {
  char* const* argv;
  char* const* envp;
  int in_fd;   // the child reads requests here
  int out_fd;  // and answers here
  int log_fd;
  pid_t parent;
  const CpuList* cpus;
};

[[noreturn]] void give_up(const char* message) {
  const ssize_t written = write(STDERR_FILENO, message, strlen(message));
  (void)written;
  _exit(127);
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_worker(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the supervisor died before the line above
  // All three are above kChildOut (opened so), hence no dup2 overwrites another.
  dup2(plan.in_fd, kChildIn);
  dup2(plan.out_fd, kChildOut);
  const int null_fd = open("/dev/null", O_RDONLY);
  dup2(null_fd, STDIN_FILENO);
  dup2(plan.log_fd, STDOUT_FILENO);
  dup2(plan.log_fd, STDERR_FILENO);
  if (null_fd > kChildOut) close(null_fd);
  if (!plan.cpus->empty() && !pin_to(*plan.cpus)) give_up("the worker could not be pinned\n");
  execve(plan.argv[0], plan.argv, plan.envp);
  give_up("the worker program could not be started\n");
}

/// `fd` moved above the descriptors that the child will use; close-on-exec.
Fd high(int fd) {
  const Fd low(fd);
  return Fd(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kChildOut + 1));
}

struct Pipe {
  Fd read;
  Fd write;
  [[nodiscard]] bool open() const { return read.get() >= 0 && write.get() >= 0; }
};

Pipe high_pipe() {
  std::array<int, 2> low{-1, -1};
  if (pipe2(low.data(), O_CLOEXEC) != 0) return {};
  return {high(low[0]), high(low[1])};
}

}  // namespace

Result<std::unique_ptr<Worker>> ProcessLauncher::launch(const LaunchOptions& options) {
  if (options.command.empty()) return Error{Errc::usage, "a worker without a command"};
  if (access(options.command[0].c_str(), X_OK) != 0) {
    return Error{Errc::not_found,
                 fmt::format("worker program {}: {}; expected the path of a program",
                             printable(options.command[0]), std::strerror(errno))};
  }
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = worker_environment(options);
  const std::vector<char*> argv = c_array(arguments);
  const std::vector<char*> envp = c_array(environment);
  Pipe to_child = high_pipe();
  Pipe from_child = high_pipe();
  if (!to_child.open() || !from_child.open())
    return Error{Errc::io, fmt::format("no pipe for a worker: {}", std::strerror(errno))};
  const std::filesystem::path log = options.log_file.empty() ? "/dev/null" : options.log_file;
  const Fd log_fd = high(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log_fd.get() < 0)
    return Error{Errc::io, fmt::format("{}: {}", printable(log.string()), std::strerror(errno))};
  const std::uintmax_t log_start = size_of(log);
  signal(SIGPIPE, SIG_IGN);  // a dead worker is an answer, not our death
  const ChildPlan plan{argv.data(),  envp.data(), to_child.read.get(), from_child.write.get(),
                       log_fd.get(), getpid(),    &options.cpus};
  const pid_t pid = fork();
  if (pid == 0) become_worker(plan);
  if (pid < 0)
    return Error{Errc::io, fmt::format("no process for a worker: {}", std::strerror(errno))};
  setpgid(pid, pid);  // also here, so that signals to the group cannot come too early
  return std::unique_ptr<Worker>(std::make_unique<ProcessWorker>(
      pid, from_child.read.release(), to_child.write.release(), options, log_start));
}

}  // namespace sluice::measure
