// sluice/publish/scrub.h - takes out of a JSON document what names people, machines and their
// paths.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::publish {

inline constexpr std::string_view kExternalPath = "<external-path>";
inline constexpr std::string_view kRemoved = "<removed>";

/// What is private beyond what any text gives away by its form.
struct Secrets {
  std::vector<std::string> paths;   // replaced wherever they occur: home, working folder, ...
  std::vector<std::string> names;   // host and user, replaced as whole words
  std::vector<std::string> values;  // of environment variables that hold a secret

  /// Of this process: its home, working folder, host, user and the environment's secrets.
  static Secrets of_process();
  /// Adds the paths and user names that the strings of `json` give away themselves.
  void learn(const Json& json);
};

/// Does a variable or key of this name hold a secret ("HF_TOKEN", "password")?
bool names_secret(std::string_view name);

/// Paths outside the repository (absolute, ~, .., file and cloud URLs, Windows) become
/// `<external-path>`; /sys and /proc files without a process number stay. User@host, NAME=value of
/// a secret NAME, tokens known by their shape, process numbers written as such, and `secrets` go.
std::string scrub_text(std::string_view text, const Secrets& secrets);

/// Every string of the document, keys included; values under a secret key go whole. Idempotent.
Json scrub(const Json& json, const Secrets& secrets);

}  // namespace sluice::publish
