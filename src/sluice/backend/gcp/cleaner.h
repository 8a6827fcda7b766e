// sluice/backend/gcp/cleaner.h - deletes machines until the cloud says that they are gone, and
// finds those that nobody looks after any more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/gcloud.h"
#include "sluice/backend/gcp/ledger.h"

#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// Deletes the instance and its disk, and looks until neither is there and, where `certain` is
/// false (nobody knows how its creation ended), no operation is under way that could still bring
/// it. An Error: it may still be there.
Status remove_machine(const Gcloud& gcloud, const MachineRecord& machine, bool certain);

/// What dead sessions of this user left, by their ledgers and by label; and what is past its time,
/// whoever made it. Returns the names of what was deleted. An Error: something is left, or
/// `project` cannot be looked into.
Result<std::vector<std::string>> sweep(const Gcloud& gcloud, const std::string& project);

}  // namespace sluice::backend::gcp
