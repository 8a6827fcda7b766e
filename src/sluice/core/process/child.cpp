// sluice/core/process/child.cpp - what a helper program says, and how long it may.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/process/child.h"

#include "sluice/core/process/process.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

/// What came out of the pipe, on its way to the log, the listener and the kept tail.
class ChildOutput {
 public:
  ChildOutput(const ChildOptions& options, int log_fd) : options_(options), log_fd_(log_fd) {}

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
bool drain(int fd, ChildOutput& output) {
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

/// Where one stream comes from and goes to; closed: its end was seen.
struct ChildStream {
  int fd = -1;
  ChildOutput* output = nullptr;
  bool open = true;
  void take() {
    if (open) open = drain(fd, *output);
  }
};

/// Until the child ends or may no longer run; Errc::timeout or Errc::interrupted then.
Status follow(const ChildOptions& options, std::array<ChildStream, 2> streams, Process& process) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(options.timeout_s);
  while (true) {
    const double left_s = std::chrono::duration<double>(end - Clock::now()).count();
    if (left_s <= 0)
      return Error{Errc::timeout, fmt::format("{}: not finished within {:g} s; killed",
                                              printable(options.command[0]), options.timeout_s)};
    std::array<pollfd, 4> waits{{{process.ended_fd(), POLLIN, 0},
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
    if (!process.wait(0)) continue;
    for (ChildStream& stream : streams)
      stream.take();  // what it wrote last; a grandchild may hold the pipe open
    return ok;
  }
}

const char* die_of_broken_pipes() {
  ::signal(SIGPIPE, SIG_DFL);  // ours may be ignored, and that is inherited
  return nullptr;
}

}  // namespace

Result<ChildResult> run_child(const ChildOptions& options) {
  SLUICE_TRY(Pipe out, Pipe::make());
  SLUICE_TRY(Pipe error, Pipe::make());
  const int error_fd = options.stdout_apart ? error.write_end.get() : out.write_end.get();
  for (const Pipe* pipe : {&out, &error})
    fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK);
  const Descriptor log(
      options.log_file.empty()
          ? -1
          : open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const auto start = std::chrono::steady_clock::now();
  SLUICE_TRY(Process process, Process::start({.command = options.command,
                                              .environment = options.environment,
                                              .folder = options.folder,
                                              .descriptors = {{out.write_end.get(), STDOUT_FILENO},
                                                              {error_fd, STDERR_FILENO}},
                                              .before_exec = die_of_broken_pipes,
                                              .grace_s = options.grace_s}));
  out.write_end.reset();
  error.write_end.reset();
  ChildOutput printed(options, log.get());
  ChildOutput complaints(options, log.get());
  const Status followed =
      follow(options,
             {ChildStream{out.read_end.get(), &printed},
              ChildStream{error.read_end.get(), &complaints, options.stdout_apart}},
             process);
  process.kill();
  ChildResult result;
  result.status = process.end()->exit_code();
  result.output = printed.finish();
  if (options.stdout_apart) result.printed = std::exchange(result.output, complaints.finish());
  result.wall_ns = process.end()->ended_ns - start.time_since_epoch().count();
  result.user_s = process.end()->user_s;
  result.system_s = process.end()->system_s;
  result.peak_rss_bytes = process.end()->peak_rss_bytes;
  result.survivors = process.end()->survivors;
  if (!followed) return followed.error();
  return result;
}

}  // namespace sluice
