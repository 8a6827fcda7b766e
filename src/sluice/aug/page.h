// sluice/aug/page.h - docs/augment.md: every transform of ours, from the registry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sluice::aug {

std::string augment_page();

}  // namespace sluice::aug
