// sluice/loader/episodes/preset_draft.h - a preset to start from, made of what features.json says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/loader/episodes/features.h"
#include "sluice/storage/object_store.h"

#include <string>
#include <string_view>

namespace sluice::loader::episodes {

/// "image uint8 256x320x3 jpeg": what a feature is, for people.
std::string describe(const FeatureSpec& spec);

/// YAML that parse_preset() reads: every data set of the store, with its first image, action, state
/// and language, and as comments which others there are. No record is read. `root` is written as
/// it is. Data sets without a usable image are comments too; where all are, an error.
Result<std::string> draft_preset(storage::ObjectStore& store, std::string_view root);

}  // namespace sluice::loader::episodes
