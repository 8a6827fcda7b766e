// sluice/backend/gcp/ledger.cpp - records as JSON, locks, and whether a process still lives.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/ledger.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/core/utc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unistd.h>

namespace sluice::backend::gcp {
namespace {

namespace fs = std::filesystem;

constexpr std::array kStates = {MachineState::planned, MachineState::creating,
                                MachineState::running, MachineState::handed_over,
                                MachineState::kept,    MachineState::gone};

Result<fs::path> registry() {
  SLUICE_TRY(const fs::path cache, user_cache_folder());
  return cache / "gcp";
}

Json to_json(const MachineRecord& record) {
  return {{"task", record.task},
          {"run_id", record.run_id},
          {"instance", record.name},
          {"project", record.project},
          {"zone", record.zone},
          {"machine_type", record.machine_type},
          {"results_prefix", record.prefix},
          {"folder", record.folder},
          {"state", to_string(record.state)},
          {"outcome", record.outcome},
          {"expires", record.expires}};
}

MachineRecord record_of(const Json& json) {
  MachineRecord record{string_at(json, "task"),
                       string_at(json, "run_id"),
                       string_at(json, "instance"),
                       string_at(json, "project"),
                       string_at(json, "zone"),
                       string_at(json, "machine_type"),
                       string_at(json, "results_prefix"),
                       string_at(json, "folder"),
                       string_at(json, "outcome"),
                       MachineState::creating,
                       0};
  const std::string state = string_at(json, "state");
  for (const MachineState one : kStates)
    if (state == to_string(one)) record.state = one;
  if (const Json& expires = at(json, "expires"); expires.is_number_integer())
    record.expires = expires.get<std::int64_t>();
  return record;
}

std::string document(const std::string& session, const std::vector<MachineRecord>& machines) {
  Json list = Json::array();
  for (const MachineRecord& record : machines)
    list.push_back(to_json(record));
  return dump_json({{"session", session}, {"written", utc_now()}, {"machines", list}}) + "\n";
}

Result<std::vector<MachineRecord>> read_machines(const fs::path& file) {
  SLUICE_TRY(const std::string text, read_text_file(file, std::uint64_t{16} << 20));
  SLUICE_TRY(const Json json, parse_json(text, shown(file)));
  const Json& list = at(json, "machines");
  if (!list.is_array())
    return Error{Errc::invalid_input, fmt::format("{}: has no list of machines", shown(file))};
  std::vector<MachineRecord> machines;
  for (const Json& one : list)
    machines.push_back(record_of(one));
  return machines;
}

/// When a process began, in ticks since the boot; empty: there is none.
std::string began(const std::string& pid) {
  const auto text = read_text_file(fs::path("/proc") / pid / "stat", 1 << 16);
  if (!text) return {};
  const std::size_t after_name = text->rfind(')');
  if (after_name == std::string::npos) return {};
  const std::vector<std::string> fields = split(text->substr(after_name + 2), ' ');
  constexpr std::size_t kStartTime = 19;  // field 22 of proc(5), counted from the third
  return fields.size() > kStartTime ? fields[kStartTime] : std::string();
}

}  // namespace

const char* to_string(MachineState state) {
  switch (state) {
    case MachineState::planned:
      return "planned";
    case MachineState::creating:
      return "creating";
    case MachineState::running:
      return "running";
    case MachineState::handed_over:
      return "handed_over";
    case MachineState::kept:
      return "kept";
    case MachineState::gone:
      return "gone";
  }
  return "creating";
}

bool is_open(const MachineRecord& record) {
  return record.state == MachineState::creating || record.state == MachineState::running;
}

Result<Ledger> Ledger::begin(const std::string& session, const fs::path& run_folder) {
  SLUICE_TRY(const fs::path folder, registry());
  SLUICE_CHECK(create_folders(folder));
  // Another start may look at the file in the moment in which it is made.
  SLUICE_TRY(FileLock lock, FileLock::take(folder / (session + ".lock"), session, {.limit_s = 5}));
  return Ledger(session, folder / (session + ".json"),
                run_folder.empty() ? fs::path() : run_folder / kLastRun, std::move(lock));
}

Status Ledger::put(const MachineRecord& record) {
  const auto same = std::find_if(machines_.begin(), machines_.end(), [&](const MachineRecord& one) {
    return one.run_id == record.run_id && one.zone == record.zone;
  });
  if (same != machines_.end()) {
    *same = record;
  } else {
    machines_.push_back(record);
  }
  const std::string text = document(session_, machines_);
  SLUICE_CHECK(write_file_atomic(file_, text));
  return copy_.empty() ? Status(ok) : write_file_atomic(copy_, text, Flush::later);
}

std::vector<std::string> Ledger::open_machines() const {
  std::vector<std::string> names;
  for (const MachineRecord& record : machines_)
    if (is_open(record)) names.push_back(record.name);
  return names;
}

void Ledger::end() {
  std::error_code ignored;
  if (open_machines().empty()) fs::remove(file_, ignored);
}

Result<std::vector<Orphan>> orphans() {
  SLUICE_TRY(const fs::path folder, registry());
  std::vector<Orphan> found;
  std::error_code code;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    files.push_back(it->path());
  for (const fs::path& path : files) {
    const std::string session = path.stem().string();
    const fs::path file = folder / (session + ".json");
    const bool lock_alone = path.extension() == ".lock" && !fs::exists(file, code);
    if (path != file && !lock_alone) continue;
    auto lock = FileLock::take(folder / (session + ".lock"), session);
    if (!lock) continue;                    // it lives
    if (!fs::exists(file, code)) continue;  // it made nothing, or has just ended: its lock goes
    auto machines = read_machines(file);
    if (!machines) {
      log::warn("{}; machines that it names are not deleted by it", machines.error().message);
      continue;
    }
    found.push_back({session, file, std::move(*lock), std::move(*machines)});
  }
  return found;
}

Result<std::vector<MachineRecord>> read_last_run(const fs::path& run_folder) {
  const fs::path file = run_folder / kLastRun;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::vector<MachineRecord>();
  return read_machines(file);
}

std::string owner_label() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::error_code ignored;
  const std::string space = fs::read_symlink("/proc/self/ns/pid", ignored).string();
  const auto boot = read_text_file("/proc/sys/kernel/random/boot_id", 4096);
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}", host.data(), boot ? *boot : "", space, getuid()))
      .substr(0, 12);
}

std::string process_label() {
  const std::string pid = std::to_string(getpid());
  return fmt::format("{}-{}", pid, began(pid));
}

bool process_lives(const std::string& label) {
  const std::vector<std::string> parts = split(label, '-');
  if (parts.size() != 2 || parts[0].empty()) return true;  // unknown is not dead
  if (parts[0].find_first_not_of("0123456789") != std::string::npos) return true;
  return began(parts[0]) == parts[1] && !parts[1].empty();
}

}  // namespace sluice::backend::gcp
