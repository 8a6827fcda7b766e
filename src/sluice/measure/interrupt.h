// sluice/measure/interrupt.h - Ctrl-C as a descriptor that waits can watch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sluice::measure {

/// While alive, SIGINT and SIGTERM are remembered instead of ending the program, so that what was
/// measured can be written; what waits for a bucket sees them too (core/stop.h). One at a time per
/// process. A second signal ends the program at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// SIGTERM counts so many milliseconds later, once: a launcher of ranks sends it to all of them
  /// when one has died, and those that are left need a moment to find out which.
  static void hold_term(int ms);

  [[nodiscard]] bool requested() const;
  /// Readable from the first signal on.
  [[nodiscard]] int fd() const { return read_fd_; }

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
};

}  // namespace sluice::measure
