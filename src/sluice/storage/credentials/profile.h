// sluice/storage/credentials/profile.h - the profile files of AWS tools.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/credentials/chain.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::storage {

using Profile = std::map<std::string, std::string>;

/// The section `name` of an INI text; in a config file sections are called "profile NAME", but
/// "default". Nothing when there is no such section.
std::optional<Profile> parse_profile(std::string_view text, std::string_view name, bool config);

/// What both files say of the profile; the credentials file wins. Nothing when neither has it and
/// it was not asked for by name.
Result<std::optional<Profile>> read_profile(const Environment& environment,
                                            const std::string& asked_for);

/// Its keys, if it has any. A profile that gets them in a way that is not built here (SSO, another
/// profile, a program) is Errc::unsupported.
Result<std::optional<Credentials>> profile_keys(const Profile& profile, std::string_view name);

}  // namespace sluice::storage
