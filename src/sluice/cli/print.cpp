// sluice/cli/print.cpp - stdout, and the first reason why it failed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/print.h"

#include "sluice/core/descriptor.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::cli {
namespace {

int stdout_failure = 0;  // errno

void keep_failure() {
  if (stdout_failure == 0) stdout_failure = errno != 0 ? errno : EIO;
}

}  // namespace

void print_text(std::string_view text) {
  if (stdout_failure != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_failure();
}

void hold_stdout() {
  // For reading: whatever is printed fails as it would have.
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0 && errno == EBADF) {
    const int fd = ::open("/dev/null", O_RDONLY);
    if (fd >= 0 && fd != STDOUT_FILENO) {
      ::dup2(fd, STDOUT_FILENO);
      ::close(fd);
    }
  }
}

Status finish_stdout() {
  errno = 0;
  if (stdout_failure == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) keep_failure();
  // A copy is closed, which is when network file systems report a full disk.
  Descriptor copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (const int problem = copy.open() ? copy.close() : 0; stdout_failure == 0)
    stdout_failure = problem;
  if (stdout_failure == 0) return ok;
  return Error{Errc::io,
               fmt::format("stdout: the output could not be written: {}", why(stdout_failure))};
}

}  // namespace sluice::cli
