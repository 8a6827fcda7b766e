// sluice/backend/gcp/startup_script.h - what the VM does, from its first second to its own end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

struct StartupOptions {
  std::string project, name;          // of the instance, which deletes itself
  std::string prefix, bundle_prefix;  // of its objects, and of the program's archives
  int bundles = 1;                    // 0.tar, 1.tar, ...: unpacked one over the other
  std::string work;                   // folder of the VM
  std::string program_folder;         // where the program goes; ~ is root's home
  std::string data_uri;               // one tarball; empty: `data_folder` is there already
  std::string data_folder;
  std::string media = "image";      // kind of files to take from the tarball
  std::int64_t data_limit = 0;      // of them; 0: all
  std::vector<std::string> groups;  // of peers, to be installed
  std::string cache_uri;            // of their environments; empty: none
  bool restore_cache = true;        // false: made anew, and kept
  std::int64_t timeout_s = 0;       // of the run
  std::int64_t deadline_s = 0;      // of the machine
  bool gpu = false;
  bool keep = false, keep_on_failure = false;
  bool resume = false;                 // finished rows are given along
  std::vector<std::string> run_flags;  // of `sluice run` there
};

/// A bash script. Its order: the dead-man timer, the log, program and job, data, environments, the
/// run under `timeout`, results and terminal marker, and the deletion of its own machine.
std::string startup_script(const StartupOptions& options);

/// The name of archive `number` in the bundle folder.
std::string bundle_name(int number);

}  // namespace sluice::backend::gcp
