// sluice/measure/worker/process.cpp - a worker as a process: requests, deadlines and last words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/process/process.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/measure/worker/protocol.h"
#include "sluice/measure/worker/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <unistd.h>
#include <utility>

namespace sluice::measure {
namespace {

constexpr double kByeTimeoutS = 2.0;
constexpr double kHelpersS =
    2.0;  // of a runtime, which leave after their worker; MPI's daemon late
constexpr int kChildIn = 3;
constexpr int kChildOut = 4;

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

class ProcessWorker final : public Worker {
 public:
  ProcessWorker(Process process, int read_fd, int write_fd, LaunchOptions options,
                std::uintmax_t log_start)
      : process_(std::move(process)),
        channel_(read_fd, write_fd),
        options_(std::move(options)),
        log_start_(log_start) {}

  Result<Json> request(Json request, double timeout_s) override {
    const std::string type = request.value("type", "");
    const std::int64_t id = ++last_id_;
    request["id"] = id;
    if (auto sent = channel_.send(request); !sent) return died(type);
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const double left_s =
          timeout_s -
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      // Once more after the deadline, for what is there already; then no talk however lively helps.
      auto reply = channel_.receive(std::max(left_s, 0.0), options_.cancel_fd, process_.ended_fd());
      if (!reply) return explain(type, timeout_s, reply.error());
      const auto failed = ErrorAnswer::read(*reply);
      const auto answered = reply->find("id");
      const bool ours = answered == reply->end() ? failed.has_value() : *answered == Json(id);
      if (ours && !failed) return reply;
      if (ours) return *failed;
      if (left_s <= 0) return explain(type, timeout_s, {Errc::timeout, ""});
    }
  }

  void pause() override { process_.signal(SIGSTOP); }
  void resume() override { process_.signal(SIGCONT); }

  void finish() override {
    if (process_.end()) return;
    resume();
    Json request = Bye{}.json();
    request["id"] = ++last_id_;  // a worker refuses one without, and would be waited for
    bool hurried = false;        // the user does not wait for the end of a sample
    if (channel_.send(request)) {
      const auto bye = channel_.receive(kByeTimeoutS, options_.cancel_fd, process_.ended_fd());
      hurried = !bye && bye.error().code == Errc::interrupted;
    }
    if (!hurried) process_.wait(kByeTimeoutS);
    process_.kill();
    if (!process_.end()->survivors.empty())
      log::warn("{}: left running, killed: {}", printable(options_.command.front()),
                join(process_.end()->survivors));
  }

  [[nodiscard]] std::int64_t pid() const override { return process_.pid(); }
  [[nodiscard]] std::optional<std::int64_t> cpu_ns() const override {
    clockid_t clock{};
    timespec spent{};
    if (process_.end() || clock_getcpuclockid(process_.pid(), &clock) != 0 ||
        clock_gettime(clock, &spent) != 0)
      return std::nullopt;
    return std::int64_t{spent.tv_sec} * 1'000'000'000 + spent.tv_nsec;
  }
  [[nodiscard]] std::optional<std::int64_t> peak_rss_bytes() const override {
    if (!process_.end()) return std::nullopt;
    return process_.end()->peak_rss_bytes;
  }

 private:
  Error explain(const std::string& type, double timeout_s, const Error& error) {
    switch (error.code) {
      case Errc::timeout:
        process_.kill();
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
    const bool ended = process_.wait(0.5);
    process_.kill();
    std::string reason = ended ? process_.end()->text() : std::string("closed its channel");
    if (const std::string words = last_line(options_.log_file, log_start_); !words.empty())
      reason += "; last line of its log: " + words;
    return {Errc::measurement, fmt::format("{}: the worker {}", type, reason)};
  }

  Process process_;
  LineChannel channel_;
  LaunchOptions options_;
  std::uintmax_t log_start_;
  std::int64_t last_id_ = 0;
};

/// What the launch adds, the descriptors and the padding.
std::map<std::string, std::optional<std::string>> worker_environment(const LaunchOptions& options) {
  std::map<std::string, std::optional<std::string>> added(options.environment.begin(),
                                                          options.environment.end());
  added["SLUICE_PADDING"] = std::string(options.environment_padding, 'x');
  added[kPeerInVariable] = std::to_string(kChildIn);
  added[kPeerOutVariable] = std::to_string(kChildOut);
  return added;
}

}  // namespace

Result<std::unique_ptr<Worker>> ProcessLauncher::launch(const LaunchOptions& options) {
  if (options.command.empty()) return Error{Errc::usage, "a worker without a command"};
  SLUICE_TRY(Pipe to_child, Pipe::make());
  SLUICE_TRY(Pipe from_child, Pipe::make());
  const std::filesystem::path log = options.log_file.empty() ? "/dev/null" : options.log_file;
  const Descriptor log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log_fd.open()) return Error{Errc::io, fmt::format("{}: {}", shown(log), why(errno))};
  const std::uintmax_t log_start = size_of(log);
  signal(SIGPIPE, SIG_IGN);  // a dead worker is an answer, not our death
  ProcessOptions process;
  process.command = options.command;
  process.environment = worker_environment(options);
  process.descriptors = {{to_child.read_end.get(), kChildIn},
                         {from_child.write_end.get(), kChildOut},
                         {log_fd.get(), STDOUT_FILENO},
                         {log_fd.get(), STDERR_FILENO}};
  process.grace_s = kHelpersS;
  process.before_exec = [&]() -> const char* {
    return options.cpus.empty() || pin_to(options.cpus) ? nullptr
                                                        : "the worker could not be pinned";
  };
  auto started = Process::start(process);
  if (!started) return Error{started.error().code, "worker program " + started.error().message};
  return std::unique_ptr<Worker>(
      std::make_unique<ProcessWorker>(std::move(*started), from_child.read_end.release(),
                                      to_child.write_end.release(), options, log_start));
}

}  // namespace sluice::measure
