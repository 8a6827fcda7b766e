// sluice/cli/output_files.h - files that a command writes where the user says, and never over
// somebody else's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/cli/command.h"
#include "sluice/core/file.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// Adds --force, which `Globals::force` keeps, to a command that writes files.
void add_force_flag(CLI::App& command, Globals& globals);

/// Who chose the name of a file: we (verdict.json), or the user with a flag of its own. In a run
/// folder one with a name of ours is the run's.
enum class NamedBy { us, user };

/// What lies there already is replaced only if this program wrote it and nobody changed it since,
/// or with --force. `.sluice-files.json` in the folder keeps digests of what was written; it is not
/// needed in a run folder, nor for text with a mark by which it is known.
class OutputFiles {
 public:
  explicit OutputFiles(const Globals& globals) : OutputFiles(globals.force) {}
  explicit OutputFiles(bool force) : force_(force) {}
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();

  /// Before anything is measured or written; makes their folders. Errc::usage for a file that is
  /// not ours.
  Status claim(const std::vector<std::filesystem::path>& files, NamedBy named_by = NamedBy::us,
               std::string_view mark = {});
  /// Claims the file unless that was done, and writes it.
  Status write(const std::filesystem::path& file, std::string_view content,
               Flush flush = Flush::now);
  /// A claimed file that another room wrote is whole.
  void written(const std::filesystem::path& file);

 private:
  using Digests = std::map<std::string, std::string>;  // by name; empty: being written
  bool force_;
  std::map<std::filesystem::path, bool> claimed_;   // true: its folder keeps its digest
  std::map<std::filesystem::path, Digests> whole_;  // by folder
};

/// Where a command puts what it makes of `input`, a file or a folder, without --out: beside it,
/// where that lies in the folder of a run. Errc::usage elsewhere: published files stay as they are.
Result<std::filesystem::path> folder_beside(const std::filesystem::path& input);

/// One file, claimed and written.
Status write_output(const Globals& globals, const std::filesystem::path& file,
                    std::string_view content);

}  // namespace sluice::cli
