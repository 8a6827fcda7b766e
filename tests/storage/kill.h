// tests/storage/kill.h - a child process that is killed at a random moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sluice::storage::testing {

/// Runs `body` in a child with the writing end of a pipe, and SIGKILLs it `delay` after it began
/// (or after it wrote its first byte, with `after_first_byte`). Returns all it wrote. `ended`: it
/// was done before.
struct Killed {
  std::string written;
  bool ended = false;
  int status = 0;
};
inline Killed run_and_kill(const std::function<int(int)>& body, std::chrono::microseconds delay,
                           bool after_first_byte) {
  Killed result;
  int ends[2];
  if (::pipe(ends) != 0) return result;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::_exit(body(ends[1]));
  }
  ::close(ends[1]);
  char byte = 0;
  if (after_first_byte && ::read(ends[0], &byte, 1) == 1) result.written += byte;
  std::this_thread::sleep_for(delay);  // the random point; nothing waits for anything here
  ::kill(child, SIGKILL);
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    result.written.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, &result.status, 0);
  result.ended = WIFEXITED(result.status);
  return result;
}

}  // namespace sluice::storage::testing
