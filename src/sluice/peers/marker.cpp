// sluice/peers/marker.cpp - names of folders, the marker file, the list of packages.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/marker.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkerName = "sluice-environment.json";
constexpr int kMarkerVersion = 1;
constexpr std::size_t kHashDigits = 12;

bool is_digest(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "3.11" from "3.11.2".
std::string minor_version(const std::string& version) {
  const std::size_t dot = version.find('.');
  return dot == std::string::npos ? version : version.substr(0, version.find('.', dot + 1));
}

/// An upgrade of the system may put another Python behind the link: its packages would not be
/// found.
bool python_still_fits(const Venv& environment) {
  if (access(environment.python().c_str(), X_OK) != 0) return false;
  std::error_code problem;
  const std::string name = fs::canonical(environment.python(), problem).filename().string();
  constexpr std::string_view kPrefix = "python3.";
  if (problem || !name.starts_with(kPrefix)) return !problem;
  return name == "python" + minor_version(environment.python_version);
}

}  // namespace

fs::path environments_folder(const Places& places) {
  return places.cache / "peers";
}

fs::path environment_folder(const Places& places, std::string_view group, std::string_view hash) {
  return environments_folder(places) / fmt::format("{}-{}", group, hash.substr(0, kHashDigits));
}

std::vector<fs::path> folders_of_group(const Places& places, std::string_view group) {
  std::vector<fs::path> found;
  const std::string prefix = std::string(group) + "-";
  std::error_code problem;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(environments_folder(places), problem)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with(prefix) && is_digest(name.substr(prefix.size()), kHashDigits) &&
        entry.is_directory(ignored))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string environment_hash(std::string_view requirements, std::string_view python_version,
                             std::string_view architecture) {
  return sha256_hex(
      fmt::format("{}\npython {}\n{}\n", sha256_hex(requirements), python_version, architecture));
}

Result<Venv> read_marker(const fs::path& folder) {
  const std::string name = printable(folder.string());
  SLUICE_TRY(const std::string text, read_text_file(folder / kMarkerName, 4 << 20));
  SLUICE_TRY(const Json json, parse_json(text, name));
  Venv environment;
  environment.folder = folder;
  environment.group = text_of(json, "group");
  environment.hash = text_of(json, "hash");
  environment.requirements_hash = text_of(json, "requirements_hash");
  environment.python_version = text_of(json, "python");
  environment.architecture = text_of(json, "architecture");
  environment.lock_hash = text_of(json, "lock_hash");
  const auto packages = json.find("packages");
  const auto version = json.find("version");
  const bool sound = version != json.end() && *version == Json(kMarkerVersion) &&
                     packages != json.end() && packages->is_object() &&
                     is_digest(environment.hash, 64) && is_digest(environment.lock_hash, 64);
  if (!sound ||
      folder.filename() != environment.group + "-" + environment.hash.substr(0, kHashDigits))
    return Error{Errc::invalid_input, name + ": its marker file is damaged"};
  for (const auto& [package, value] : packages->items()) {
    if (value.is_string()) environment.packages[package] = value.get<std::string>();
  }
  if (!python_still_fits(environment))
    return Error{Errc::invalid_input, fmt::format("{}: its Python {} is gone", name,
                                                  printable(environment.python_version))};
  return environment;
}

Status write_marker(const Venv& environment) {
  Json packages = Json::object();
  for (const auto& [package, version] : environment.packages)
    packages[package] = version;
  const Json json{{"version", kMarkerVersion},
                  {"group", environment.group},
                  {"hash", environment.hash},
                  {"requirements_hash", environment.requirements_hash},
                  {"python", environment.python_version},
                  {"architecture", environment.architecture},
                  {"lock_hash", environment.lock_hash},
                  {"packages", std::move(packages)}};
  return write_file_atomic(environment.folder / kMarkerName, dump_json(json) + "\n");
}

std::string normal_name(std::string_view package) {
  std::string name;
  for (const char c : package) {
    if (c >= 'A' && c <= 'Z')
      name.push_back(static_cast<char>(c - 'A' + 'a'));
    else
      name.push_back(c == '_' || c == '.' ? '-' : c);
  }
  return name;
}

std::map<std::string, std::string> parse_freeze(std::string_view text) {
  std::map<std::string, std::string> packages;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find("==");
    const std::size_t at = line.find(" @ ");  // installed from a file or address
    if (equals != std::string::npos && line.find(' ') == std::string::npos)
      packages[normal_name(line.substr(0, equals))] = line.substr(equals + 2);
    else if (at != std::string::npos)
      packages[normal_name(line.substr(0, at))] = "unknown";
  }
  return packages;
}

std::string Venv::version_of(std::string_view package) const {
  const auto found = packages.find(normal_name(package));
  return found == packages.end() ? std::string() : found->second;
}

}  // namespace sluice::peers
