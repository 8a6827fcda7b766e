// sluice/backend/gcp/ledger.h - what a session has made, written down before it is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file_lock.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

enum class MachineState {
  planned,      // nothing was asked of the cloud
  creating,     // asked for: it may be there
  running,      // it is there
  handed_over,  // detached: it ends by itself, and is not ours to delete
  kept,         // the user asked to keep it
  gone,         // not there, and nothing will bring it
};
const char* to_string(MachineState state);

/// One machine of a session.
struct MachineRecord {
  std::string task;  // name of the configuration
  std::string run_id, name, project, zone, machine_type;
  std::string prefix;  // of its objects
  std::string folder;  // of its results, relative to the run folder; empty: that itself
  std::string outcome;
  MachineState state = MachineState::planned;
  std::int64_t expires = 0;  // Unix seconds
};

inline constexpr const char* kLastRun = "gcp_last_run.json";

/// Two files: one in the user's cache, held locked while its session lives and removed when nothing
/// is left of it (the next start deletes what a killed session leaves); and gcp_last_run.json in
/// the run folder, which says what happened.
class Ledger {
 public:
  /// `run_folder` empty: no second file.
  static Result<Ledger> begin(const std::string& session, const std::filesystem::path& run_folder);

  /// The record of a run id, added or replaced; on disk when this returns.
  Status put(const MachineRecord& record);
  [[nodiscard]] const std::vector<MachineRecord>& machines() const { return machines_; }
  [[nodiscard]] const std::string& session() const { return session_; }
  /// Names of machines that may still be there and are ours to delete.
  [[nodiscard]] std::vector<std::string> open_machines() const;
  /// Lets go of the file of the cache; it stays where open machines are left.
  void end();

 private:
  Ledger(std::string session, std::filesystem::path file, std::filesystem::path copy, FileLock lock)
      : session_(std::move(session)),
        file_(std::move(file)),
        copy_(std::move(copy)),
        lock_(std::move(lock)) {}
  std::string session_;
  std::filesystem::path file_, copy_;
  FileLock lock_;
  std::vector<MachineRecord> machines_;
};

bool is_open(const MachineRecord& record);

/// The ledger of a session that has died, locked until it is resolved.
struct Orphan {
  std::string session;
  std::filesystem::path file;
  FileLock lock;
  std::vector<MachineRecord> machines;
};
/// Of this user, on this machine. Files that cannot be read are named in a warning.
Result<std::vector<Orphan>> orphans();

/// The machines of gcp_last_run.json; none where there is no such file.
Result<std::vector<MachineRecord>> read_last_run(const std::filesystem::path& run_folder);

/// Who makes a machine, for its labels: 12 digits of user, machine, boot and process name space;
/// and a process with the time it began.
std::string owner_label();
std::string process_label();
/// Of an owner that is ours.
bool process_lives(const std::string& label);

}  // namespace sluice::backend::gcp
