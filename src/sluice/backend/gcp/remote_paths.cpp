// sluice/backend/gcp/remote_paths.cpp - names put together, and what may stand in them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/remote_paths.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace sluice::backend::gcp {
namespace {

constexpr std::size_t kMachinePart = 24;
constexpr std::size_t kIdPart = 12;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string new_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i)
    id += fmt::format("{:08x}", device() & 0xffffffffU);
  return id;
}

std::string instance_name(std::string_view machine_type, std::string_view run_id) {
  std::string machine;
  for (const char c : machine_type.substr(0, kMachinePart)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    machine += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
  }
  return fmt::format("benchmark-{}-{}", machine, run_id.substr(0, kIdPart));
}

std::string under(std::string_view prefix, std::string_view name) {
  while (prefix.ends_with('/'))
    prefix.remove_suffix(1);
  return fmt::format("{}/{}", prefix, name);
}

std::string run_prefix(std::string_view results_uri, std::string_view run_id) {
  return under(results_uri, run_id);
}

std::string bundle_prefix(std::string_view results_uri, std::string_view digest) {
  return under(under(results_uri, "bundles"), digest);
}

std::string environment_cache(std::string_view results_uri) {
  while (results_uri.ends_with('/'))
    results_uri.remove_suffix(1);
  constexpr std::string_view kScheme = "gs://";
  const std::size_t slash = results_uri.rfind('/');
  const bool bucket_only = slash == std::string_view::npos || slash < kScheme.size();
  return under(bucket_only ? results_uri : results_uri.substr(0, slash), "augmentation-cache");
}

Status check_uri(std::string_view key, std::string_view uri) {
  constexpr std::string_view kScheme = "gs://";
  const bool scheme = uri.starts_with(kScheme) && uri.size() > kScheme.size();
  const std::string_view rest = scheme ? uri.substr(kScheme.size()) : std::string_view();
  const bool plain =
      std::all_of(rest.begin(), rest.end(), [](char c) { return is_plain(c) || c == '/'; });
  if (scheme && plain && rest.front() != '/' && rest.find("//") == std::string_view::npos)
    return ok;
  return Error{Errc::invalid_config,
               fmt::format("{} '{}': expected gs://BUCKET/NAME of letters, digits, '-', '_', '.' "
                           "and '/'",
                           key, printable(uri))};
}

Status check_name(std::string_view key, std::string_view name) {
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return is_plain(c) || c == ':'; });
  if (plain && !name.empty() && name.front() != '-') return ok;
  return Error{
      Errc::invalid_config,
      fmt::format("{} '{}': expected letters, digits, '-', '_' and '.'", key, printable(name))};
}

std::string label_list(const std::map<std::string, std::string>& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels)
    parts.push_back(key + "=" + value);
  return join(parts, ",");
}

}  // namespace sluice::backend::gcp
