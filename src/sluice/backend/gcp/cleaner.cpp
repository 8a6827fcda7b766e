// sluice/backend/gcp/cleaner.cpp - delete, look, delete again; then the same for what was left.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/cleaner.h"

#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace sluice::backend::gcp {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 8;

/// True: neither instance nor disk is there, and none is on its way. What is found is deleted.
Result<bool> is_gone(const Gcloud& gcloud, const MachineRecord& machine, bool certain) {
  std::vector<Instance> under_way;  // looked at first: what it brings meanwhile is listed then
  if (!certain) {
    SLUICE_TRY(under_way, instances(gcloud, list_operations(machine.project, machine.name)));
  }
  SLUICE_TRY(const std::vector<Instance> found,
             instances(gcloud, list_instances(machine.project, name_filter(machine.name))));
  SLUICE_TRY(const std::vector<Instance> disks,
             instances(gcloud, list_disks(machine.project, name_filter(machine.name))));
  for (const Instance& one : found)
    (void)gcloud.run(delete_instance(machine.project, one.zone, one.name));
  if (found.empty()) {  // a disk in use cannot be deleted
    for (const Instance& one : disks)
      (void)gcloud.run(delete_disk(machine.project, one.zone, one.name));
  }
  return found.empty() && disks.empty() && under_way.empty();
}

bool is_expired(const Instance& instance, std::time_t now) {
  const std::string text = instance.label(kExpiresLabel);
  std::int64_t expires = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), expires);
  return code == std::errc() && end == text.data() + text.size() && expires < now;
}

/// A process of this user on this machine made it, would have deleted it, and is dead.
bool is_orphaned(const Instance& instance, const std::string& owner) {
  return instance.label(kOwnerLabel) == owner && instance.label(kModeLabel) == "attached" &&
         instance.label(kKeepLabel).empty() && !process_lives(instance.label(kProcessLabel));
}

}  // namespace

Status remove_machine(const Gcloud& gcloud, const MachineRecord& machine, bool certain) {
  auto deleted = gcloud.run(delete_instance(machine.project, machine.zone, machine.name));
  std::string last = deleted ? "" : deleted.error().message;
  for (int round = 1; round <= kRounds; ++round) {
    const Result<bool> gone = is_gone(gcloud, machine, certain);
    if (gone && *gone) return ok;
    if (!gone) last = gone.error().message;
    if (!gone && gone.error().code == Errc::interrupted) break;
    if (round < kRounds && !gcloud.wait(gcloud.pace().retry_s * round)) break;
  }
  return Error{Errc::io,
               fmt::format("{} in {}: may still be there: {}; the next `sluice run --backend gcp` "
                           "deletes it, and at the latest it deletes itself",
                           printable(machine.name), printable(machine.zone),
                           last.empty() ? "it is still listed" : last)};
}

Result<std::vector<std::string>> sweep(const Gcloud& gcloud, const std::string& project) {
  std::vector<std::string> deleted;
  SLUICE_TRY(std::vector<Orphan> dead, orphans());
  const std::time_t now = std::time(nullptr);
  for (Orphan& orphan : dead) {
    bool resolved = true;
    for (const MachineRecord& machine : orphan.machines) {
      if (!is_open(machine)) continue;
      const Status removed = remove_machine(gcloud, machine, false);
      if (removed) {
        deleted.push_back(machine.name);
        continue;
      }
      if (machine.project == project || removed.error().code == Errc::interrupted)
        return removed.error();
      log::warn("{}", removed.error().message);      // another project is no reason to stop
      resolved = resolved && machine.expires < now;  // the cloud has deleted it by then
    }
    std::error_code ignored;
    if (resolved) fs::remove(orphan.file, ignored);
  }
  SLUICE_TRY(const std::vector<Instance> listed,
             instances(gcloud, list_instances(project, label_filter(kLabel, kLabelValue))));
  const std::string owner = owner_label();
  for (const Instance& instance : listed) {
    if (std::find(deleted.begin(), deleted.end(), instance.name) != deleted.end()) continue;
    if (!is_expired(instance, now) && !is_orphaned(instance, owner)) continue;
    MachineRecord machine;
    machine.name = instance.name;
    machine.project = project;
    machine.zone = instance.zone;
    SLUICE_CHECK(remove_machine(gcloud, machine, true));
    deleted.push_back(instance.name);
  }
  for (const std::string& name : deleted)
    log::warn("{}: was left by an earlier run and is deleted", printable(name));
  return deleted;
}

}  // namespace sluice::backend::gcp
