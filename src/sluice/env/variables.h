// sluice/env/variables.h - which environment variables belong to a measurement, and in which form
// they may be shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::env {

/// From "NAME=value" entries: those that set threads, devices, memory and communication. Names that
/// look secret are left out whatever their prefix; in values home folders become "~", and device
/// UUIDs, addresses and credentials in URLs become "<hidden>".
std::map<std::string, std::string> select_variables(const std::vector<std::string>& entries);

/// The environment of this process.
std::vector<std::string> process_variables();

/// `text` without the names of people: /home/<name>, /Users/<name> and /root become "~".
std::string without_homes(std::string_view text);

}  // namespace sluice::env
