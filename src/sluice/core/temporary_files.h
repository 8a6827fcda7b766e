// sluice/core/temporary_files.h - what write_file_atomic() writes under before it renames, and who
// removes it when a process ends before that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

/// Removes temporary files whose writer is gone; never those of a living one, which holds a lock on
/// them. The first write of a process into a folder does this.
void remove_stale_temporaries(const std::filesystem::path& folder);

/// Names such a file, wherever it lies.
bool is_temporary_name(std::string_view file_name);

/// A temporary file of this process, known to remove_own_temporaries() while this lives. Of more
/// than 64 at a time, and of very long names, nothing is known: the next writer removes those.
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
