// sluice/core/own_temporaries.h - the temporary files of this process, where the handler of a
// signal that ends it finds them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sluice {

/// Known while it lives. Of more than 64 at a time, and of very long names, nothing is known: what
/// is left of them the next writer removes (temporary_files.h).
class OwnTemporary {
 public:
  explicit OwnTemporary(const std::string& path);  // before the file is made
  OwnTemporary(OwnTemporary&& other) noexcept;
  OwnTemporary& operator=(OwnTemporary&&) = delete;
  OwnTemporary(const OwnTemporary&) = delete;
  OwnTemporary& operator=(const OwnTemporary&) = delete;
  ~OwnTemporary();
  /// To be called when the file is there. Does not return in a process that is ending.
  void made() const;

 private:
  int slot_ = -1;
};

/// Safe in a signal handler, which ends the process after it: threads that write wait for that.
void remove_own_temporaries() noexcept;

}  // namespace sluice
