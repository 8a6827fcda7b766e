// sluice/storage/credentials/profile.cpp - INI sections with keys, merged from two files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/profile.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

bool is_section(std::string_view line, std::string_view name, bool config) {
  line.remove_prefix(1);
  std::string_view title = trimmed(line.substr(0, line.find(']')));
  if (config && title.starts_with("profile")) {
    const std::string_view rest = title.substr(7);
    if (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t'))
      return trimmed(rest) == name;
  }
  return (!config || name == "default") && title == name;
}

fs::path file_of(const Environment& environment, const std::string& variable,
                 const char* under_home) {
  if (const auto named = environment(variable)) return *named;
  const auto home = environment("HOME");
  return home ? fs::path(*home) / ".aws" / under_home : fs::path();
}

Result<std::optional<Profile>> read_one(const fs::path& path, std::string_view name, bool config) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return std::optional<Profile>();
  SLUICE_TRY(const std::string text, read_text_file(path, std::uint64_t{1} << 20));
  return parse_profile(text, name, config);
}

}  // namespace

std::optional<Profile> parse_profile(std::string_view text, std::string_view name, bool config) {
  std::optional<Profile> profile;
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = is_section(line, name, config);
      if (inside && !profile) profile.emplace();
      continue;
    }
    const std::size_t equals = line.find('=');
    // Indented lines belong to a nested setting ("s3 =").
    const bool nested = raw.front() == ' ' || raw.front() == '\t';
    if (!inside || nested || equals == std::string_view::npos) continue;
    (*profile)[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  return profile;
}

Result<std::optional<Profile>> read_profile(const Environment& environment,
                                            const std::string& asked_for) {
  const std::string name = asked_for.empty() ? "default" : asked_for;
  const fs::path credentials = file_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const fs::path config = file_of(environment, "AWS_CONFIG_FILE", "config");
  SLUICE_TRY(auto first, read_one(credentials, name, false));
  SLUICE_TRY(auto second, read_one(config, name, true));
  if (!first && !second) {
    if (asked_for.empty()) return std::optional<Profile>();
    return Error{Errc::usage,
                 fmt::format("AWS profile \"{}\" is neither in {} nor in {}", printable(name),
                             printable(credentials.string()), printable(config.string()))};
  }
  if (!first) return second;
  if (second) first->merge(*second);  // keeps what the credentials file says
  return first;
}

Result<std::optional<Credentials>> profile_keys(const Profile& profile, std::string_view name) {
  const auto value = [&](const char* key) {
    const auto it = profile.find(key);
    return it == profile.end() ? std::string() : it->second;
  };
  Credentials keys{value("aws_access_key_id"), value("aws_secret_access_key"),
                   value("aws_session_token"), std::nullopt};
  if (!keys.access_key.empty() && !keys.secret_key.empty())
    return std::optional<Credentials>(std::move(keys));
  if (keys.access_key.empty() != keys.secret_key.empty())
    return Error{Errc::usage, fmt::format("AWS profile \"{}\" must have both aws_access_key_id and "
                                          "aws_secret_access_key",
                                          printable(name))};
  if (!value("web_identity_token_file").empty()) return std::optional<Credentials>();
  for (const char* key : std::array{"credential_process", "sso_session", "sso_start_url",
                                    "source_profile", "credential_source"})
    if (!value(key).empty())
      return Error{Errc::unsupported,
                   fmt::format("AWS profile \"{}\" uses {}, which is not supported: run "
                               "`aws configure export-credentials --format env` and set what it "
                               "prints",
                               printable(name), key)};
  return std::optional<Credentials>();
}

}  // namespace sluice::storage
