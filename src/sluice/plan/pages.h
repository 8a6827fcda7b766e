// sluice/plan/pages.h - the pages of docs/ that are made from the tables of this room.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sluice::plan {

/// docs/transforms.md: every transform with its parameters, sets and the libraries that have it.
std::string transforms_page();

}  // namespace sluice::plan
