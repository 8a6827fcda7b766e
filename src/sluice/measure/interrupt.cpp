// sluice/measure/interrupt.cpp - the signal handler and its pipe.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/interrupt.h"

#include "sluice/core/stop.h"
#include "sluice/core/temporary_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

namespace sluice::measure {
namespace {

std::atomic<int> signals_seen{0};
std::atomic<int> notify_fd{-1};
std::atomic<int> term_held_ms{0};
// Put back at the end; one Interrupt lives at a time.
struct sigaction before_int {};
struct sigaction before_term {};
struct sigaction before_alarm {};

void on_signal(int signal) {
  if (const int held_ms = signal == SIGTERM ? term_held_ms.exchange(0) : 0; held_ms > 0) {
    const itimerval later{{0, 0}, {held_ms / 1000, held_ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &later, nullptr);
    return;
  }
  if (signals_seen.fetch_add(1) > 0) {  // the user insists; workers die with us
    remove_own_temporaries();
    _exit(130);
  }
  set_stop_requested(true);
  const int interrupted_errno = errno;
  const char byte = 1;
  const ssize_t written = write(notify_fd.load(), &byte, 1);
  (void)written;
  errno = interrupted_errno;
}

}  // namespace

Interrupt::Interrupt() {
  std::array<int, 2> fds{-1, -1};
  if (pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  read_fd_ = fds[0];
  write_fd_ = fds[1];
  signals_seen = 0;
  set_stop_requested(false);
  notify_fd = write_fd_;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
  sigaction(SIGALRM, &action, &before_alarm);  // of a SIGTERM that was held
}

Interrupt::~Interrupt() {
  if (write_fd_ >= 0) {
    sigaction(SIGINT, &before_int, nullptr);
    sigaction(SIGTERM, &before_term, nullptr);
    sigaction(SIGALRM, &before_alarm, nullptr);
  }
  notify_fd = -1;
  set_stop_requested(false);
  if (read_fd_ >= 0) close(read_fd_);
  if (write_fd_ >= 0) close(write_fd_);
}

void Interrupt::hold_term(int ms) {
  term_held_ms = ms;
}

bool Interrupt::requested() const {
  return signals_seen.load() > 0;
}

}  // namespace sluice::measure
