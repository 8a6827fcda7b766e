// sluice/measure/worker_process.cpp - fork, exec, process groups, signals and the end of a worker.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/measure/protocol.h"
#include "sluice/measure/worker.h"

#include <fmt/format.h>

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
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every <unistd.h>

namespace sluice::measure {
namespace {

constexpr double kByeTimeoutS = 2.0;
constexpr int kChildIn = 3;
constexpr int kChildOut = 4;

std::string last_line(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  std::string last;
  while (std::getline(in, line)) {
    if (!line.empty()) last = line;
  }
  return printable(last.substr(0, 200));
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(pid_t pid, int read_fd, int write_fd, LaunchOptions options)
      : pid_(pid), channel_(read_fd, write_fd), options_(std::move(options)) {}
  ~ProcessWorker() override { kill_and_reap(); }

  Result<Json> request(Json request, double timeout_s) override {
    const std::string type = request.value("type", "");
    const std::int64_t id = ++last_id_;
    request["id"] = id;
    if (auto sent = channel_.send(request); !sent) return died(type);
    while (true) {
      auto reply = channel_.receive(timeout_s, options_.cancel_fd);
      if (!reply) return explain(type, timeout_s, reply.error());
      if (reply->value("id", Json()) != Json(id)) continue;  // a late answer to an earlier request
      if (reply->value("type", "") != "error") return reply;
      const Errc code =
          reply->value("code", "") == "unsupported" ? Errc::unsupported : Errc::measurement;
      return Error{code, printable(reply->value("reason", std::string("no reason given")))};
    }
  }

  void pause() override { signal_group(SIGSTOP); }
  void resume() override { signal_group(SIGCONT); }

  void finish() override {
    if (reaped_) return;
    resume();
    if (channel_.send(Json{{"type", "bye"}}))
      (void)channel_.receive(kByeTimeoutS, options_.cancel_fd);
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
    if (const std::string words = last_line(options_.log_file); !words.empty())
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

  bool reap(int flags) {
    if (reaped_) return true;
    rusage usage{};
    if (wait4(pid_, &status_, flags, &usage) != pid_) return false;
    reaped_ = true;
    peak_rss_bytes_ = std::int64_t{usage.ru_maxrss} * 1024;
    kill(-pid_, SIGKILL);  // whatever it may have started
    return true;
  }

  void kill_and_reap() {
    if (reaped_) return;
    kill(-pid_, SIGKILL);
    reap(0);
  }

  pid_t pid_;
  LineChannel channel_;
  LaunchOptions options_;
  std::int64_t last_id_ = 0;
  bool reaped_ = false;
  int status_ = 0;
  std::optional<std::int64_t> peak_rss_bytes_;
};

/// Our environment with the descriptors and the padding.
std::vector<std::string> worker_environment(std::size_t padding) {
  const std::array<std::string, 3> replaced{"SLUICE_PADDING=", std::string(kPeerInVariable) + "=",
                                            std::string(kPeerOutVariable) + "="};
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    bool keep = true;
    for (const std::string& name : replaced)
      keep = keep && text.rfind(name, 0) != 0;
    if (keep) environment.push_back(text);
  }
  environment.push_back(replaced[0] + std::string(padding, 'x'));
  environment.push_back(replaced[1] + std::to_string(kChildIn));
  environment.push_back(replaced[2] + std::to_string(kChildOut));
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

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_worker(const ChildPlan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the supervisor died before the line above
  // Both pipe ends are above kChildOut (opened so), hence no dup2 overwrites the other.
  dup2(plan.in_fd, kChildIn);
  dup2(plan.out_fd, kChildOut);
  const int null_fd = open("/dev/null", O_RDONLY);
  dup2(null_fd, STDIN_FILENO);
  dup2(plan.log_fd, STDOUT_FILENO);
  dup2(plan.log_fd, STDERR_FILENO);
  if (null_fd > kChildOut) close(null_fd);
  if (!plan.cpus->empty()) pin_to(*plan.cpus);
  execve(plan.argv[0], plan.argv, plan.envp);
  constexpr char kMessage[] = "the worker program could not be started\n";
  const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  (void)written;
  _exit(127);
}

/// A close-on-exec pipe whose ends are above the descriptors the child will use.
bool high_pipe(std::array<int, 2>& fds) {
  std::array<int, 2> low{-1, -1};
  if (pipe2(low.data(), O_CLOEXEC) != 0) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, kChildOut + 1);
    close(low[i]);
  }
  return fds[0] >= 0 && fds[1] >= 0;
}

}  // namespace

Result<std::unique_ptr<Worker>> ProcessLauncher::launch(const LaunchOptions& options) {
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = worker_environment(options.environment_padding);
  const std::vector<char*> argv = c_array(arguments);
  const std::vector<char*> envp = c_array(environment);
  std::array<int, 2> to_child{-1, -1};
  std::array<int, 2> from_child{-1, -1};
  if (!high_pipe(to_child) || !high_pipe(from_child)) {
    return Error{Errc::io, fmt::format("no pipe for a worker: {}", std::strerror(errno))};
  }
  const std::filesystem::path log = options.log_file.empty() ? "/dev/null" : options.log_file;
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return Error{Errc::io, fmt::format("{}: {}", log.string(), std::strerror(errno))};
  signal(SIGPIPE, SIG_IGN);  // a dead worker is an answer, not our death
  const ChildPlan plan{argv.data(), envp.data(), to_child[0],  from_child[1],
                       log_fd,      getpid(),    &options.cpus};
  const pid_t pid = fork();
  if (pid == 0) become_worker(plan);
  const int fork_errno = errno;
  close(to_child[0]);
  close(from_child[1]);
  close(log_fd);
  if (pid < 0) {
    close(to_child[1]);
    close(from_child[0]);
    return Error{Errc::io, fmt::format("no process for a worker: {}", std::strerror(fork_errno))};
  }
  setpgid(pid, pid);  // also here, so that signals to the group cannot come too early
  return std::unique_ptr<Worker>(
      std::make_unique<ProcessWorker>(pid, from_child[0], to_child[1], options));
}

}  // namespace sluice::measure
