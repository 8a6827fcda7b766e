// sluice/plan/pages.h - the pages of docs/ that are made from the tables of this room.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sluice::plan {

/// docs/transforms.md: every transform with its parameters, sets and the libraries that have it.
std::string transforms_page();
/// docs/matrix.md: scenarios, libraries, devices, scopes, groups, exclusions and labels.
std::string matrix_page();
/// docs/scope.md: what each mode and scope times and leaves out, statuses, thresholds.
std::string scope_page();
/// docs/run-config.md: every key of a run configuration.
std::string run_config_page();

}  // namespace sluice::plan
