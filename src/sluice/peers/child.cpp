// sluice/peers/child.cpp - fork, exec, one pipe for both outputs, and the end of the group.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/child.h"

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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every <unistd.h>

namespace sluice::peers {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Fd read_end;
  Fd write_end;
  [[nodiscard]] bool open() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
    fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    return true;
  }
};

std::vector<std::string> environment_of(const ChildOptions& options) {
  std::vector<std::string> merged;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (options.environment.count(text.substr(0, text.find('='))) == 0) merged.push_back(text);
  }
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

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_child(char* const* argv, char* const* envp, const char* folder, int out_fd,
                               int error_fd, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // we were orphaned before the line above
  signal(SIGPIPE, SIG_DFL);             // ours may be ignored, and that is inherited
  const int null_fd = open("/dev/null", O_RDONLY);
  dup2(null_fd, STDIN_FILENO);
  dup2(out_fd, STDOUT_FILENO);
  dup2(error_fd, STDERR_FILENO);
  if (*folder != '\0' && chdir(folder) != 0) _exit(127);
  execve(argv[0], argv, envp);
  _exit(127);
}

/// What came out of the pipe, on its way to the log, the listener and the kept tail.
class Output {
 public:
  Output(const ChildOptions& options, int log_fd) : options_(options), log_fd_(log_fd) {}

  void take(std::string_view bytes) {
    if (log_fd_ >= 0 && write(log_fd_, bytes.data(), bytes.size()) < 0) {
      // A log that cannot be written is no reason to stop.
    }
    tail_.append(bytes);
    if (tail_.size() > 2 * kKeptBytes) tail_.erase(0, tail_.size() - kKeptBytes);
    for (const char c : bytes) {
      if (c != '\n' && c != '\r') {
        if (line_.size() < kKeptBytes) line_.push_back(c);
        continue;
      }
      end_line();
    }
  }
  std::string finish() {
    end_line();
    return tail_.size() <= kKeptBytes ? std::move(tail_) : tail_.substr(tail_.size() - kKeptBytes);
  }

 private:
  void end_line() {
    if (!line_.empty() && options_.on_line) options_.on_line(line_);
    line_.clear();
  }

  const ChildOptions& options_;
  int log_fd_;
  std::string tail_;
  std::string line_;
};

/// Takes what is there now; false at the end of the pipe.
bool drain(int fd, Output& output) {
  std::array<char, 8192> buffer{};
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      output.take({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
}

/// Kills the group while its leader still holds the number, then reaps it.
int kill_and_reap(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void wait_for_end(pid_t pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
}

/// Where one stream comes from and goes to; closed: its end was seen.
struct Stream {
  int fd = -1;
  Output* output = nullptr;
  bool open = true;
  void take() {
    if (open) open = drain(fd, *output);
  }
};

/// Until the child ends or may no longer run; Errc::timeout or Errc::interrupted then.
Status follow(const ChildOptions& options, std::array<Stream, 2> streams, int ended_fd) {
  const auto end = Clock::now() + std::chrono::duration<double>(options.timeout_s);
  while (true) {
    const double left_s = std::chrono::duration<double>(end - Clock::now()).count();
    if (left_s <= 0)
      return Error{Errc::timeout, fmt::format("{}: not finished within {:g} s; killed",
                                              printable(options.command[0]), options.timeout_s)};
    std::array<pollfd, 4> waits{{{ended_fd, POLLIN, 0},
                                 {options.cancel_fd, POLLIN, 0},
                                 {streams[0].open ? streams[0].fd : -1, POLLIN, 0},
                                 {streams[1].open ? streams[1].fd : -1, POLLIN, 0}}};
    if (options.on_tick) options.on_tick();
    if (poll(waits.data(), waits.size(), static_cast<int>(std::min(left_s, 1.0) * 1000) + 1) < 0)
      continue;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (waits[2 + i].revents != 0) streams[i].take();
    }
    if (waits[1].revents != 0)
      return Error{Errc::interrupted, "interrupted: " + printable(options.command[0]) + " killed"};
    if (waits[0].revents == 0) continue;
    for (Stream& stream : streams)
      stream.take();  // what it wrote last; a grandchild may hold the pipe open
    return ok;
  }
}

}  // namespace

Result<ChildResult> run_child(const ChildOptions& options) {
  if (options.command.empty()) return Error{Errc::internal, "a child without a command"};
  const std::string& program = options.command[0];
  if (access(program.c_str(), X_OK) != 0)
    return Error{Errc::not_found, fmt::format("{}: {}; expected the path of a program",
                                              printable(program), std::strerror(errno))};
  Pipe out;
  Pipe error;
  if (!out.open() || (options.stdout_apart && !error.open()))
    return Error{Errc::io, fmt::format("no pipe for {}: {}", program, std::strerror(errno))};
  const Fd log(options.log_file.empty() ? -1
                                        : open(options.log_file.c_str(),
                                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  std::vector<std::string> arguments = options.command;
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = c_array(arguments);
  const std::vector<char*> envp = c_array(environment);
  const std::string folder = options.folder.string();
  const int error_fd = options.stdout_apart ? error.write_end.get() : out.write_end.get();
  const pid_t parent = getpid();
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0)
    become_child(argv.data(), envp.data(), folder.c_str(), out.write_end.get(), error_fd, parent);
  if (pid < 0)
    return Error{Errc::io, fmt::format("no process for {}: {}", program, std::strerror(errno))};
  setpgid(pid, pid);  // also here, so that a signal to the group cannot come too early
  out.write_end.reset();
  error.write_end.reset();
  const Fd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  Output printed(options, log.get());
  Output complaints(options, log.get());
  const Status followed = follow(options,
                                 {Stream{out.read_end.get(), &printed},
                                  Stream{error.read_end.get(), &complaints, options.stdout_apart}},
                                 ended.get());
  const std::chrono::nanoseconds wall = Clock::now() - start;
  if (followed) wait_for_end(pid);
  ChildResult result;
  result.status = kill_and_reap(pid);
  result.output = printed.finish();
  if (options.stdout_apart) result.printed = std::exchange(result.output, complaints.finish());
  result.wall_ns = wall.count();
  if (!followed) return followed.error();
  return result;
}

}  // namespace sluice::peers
