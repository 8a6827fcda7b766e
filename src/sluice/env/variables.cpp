// sluice/env/variables.cpp - an allow-list of variables, a deny-list of secrets, and what is
// blanked in values.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/variables.h"

#include "sluice/core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unistd.h>

namespace sluice::env {
namespace {

constexpr std::array kPrefixes = {
    "OMP_",     "GOMP_",  "KMP_",           "MKL_",    "OPENBLAS_", "GOTO_", "BLIS_",   "VECLIB_",
    "NUMEXPR_", "TBB_",   "DNNL_",          "ONEDNN_", "NCCL_",     "CUDA_", "CUBLAS_", "CUDNN_",
    "PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "MALLOC_", "OPENCV_",   "DALI_", "SLUICE_"};
constexpr std::array kNames = {"GLIBC_TUNABLES",
                               "LD_PRELOAD",
                               "LOCAL_RANK",
                               "MASTER_ADDR",
                               "MASTER_PORT",
                               "NVIDIA_TF32_OVERRIDE",
                               "NVIDIA_VISIBLE_DEVICES",
                               "RANK",
                               "WORLD_SIZE",
                               "TOKENIZERS_PARALLELISM"};
constexpr std::array kSecretParts = {"KEY",        "TOKEN",      "SECRET", "PASSWORD", "PASSWD",
                                     "PASSPHRASE", "CREDENTIAL", "AUTH",   "COOKIE",   "SIGNATURE"};
// Network addresses and hosts: they say where, not how fast.
constexpr std::array kHostParts = {"ADDR", "HOST", "_ID_FILE"};

bool contains_any(std::string_view text, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string_view::npos; });
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_wanted(const std::string& name) {
  if (name == "TOKENIZERS_PARALLELISM") return true;  // the one that only looks secret
  if (contains_any(upper(name), kSecretParts)) return false;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// "https://user:word@host" -> "https://<hidden>@host"
std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t end = text.find_first_of("/ ,;", begin);
    const std::size_t sign = text.rfind('@', end);
    if (sign != std::string::npos && sign >= begin) text.replace(begin, sign - begin, "<hidden>");
  }
  return text;
}

// "GPU-8932f937-..." -> "GPU-<hidden>"
std::string without_uuids(std::string text) {
  for (const char* prefix : {"GPU-", "MIG-"}) {
    for (std::size_t at = text.find(prefix); at != std::string::npos;
         at = text.find(prefix, at + 4)) {
      std::size_t end = at + 4;
      while (end < text.size() && text[end] != ',' && text[end] != ' ')
        ++end;
      text.replace(at + 4, end - at - 4, "<hidden>");
    }
  }
  return text;
}

}  // namespace

std::string without_homes(std::string_view text) {
  constexpr std::string_view kEnds = "/:;, ";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    std::size_t skip = 0;
    for (const std::string_view home : {"/home/", "/Users/"}) {
      if (rest.starts_with(home))
        skip = std::min(rest.find_first_of(kEnds, home.size()), rest.size());
    }
    // "/root" also ends harmless paths; it is a home at the beginning of one, or after a flag such
    // as -I.
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    };
    const bool begins = i == 0 || !is_name(text[i - 1]) || (i >= 2 && text[i - 2] == '-');
    if (begins && rest.starts_with("/root") &&
        (rest.size() == 5 || kEnds.find(rest[5]) != std::string_view::npos)) {
      skip = 5;
    }
    if (skip > 0) out += '~';
    if (skip == 0) out += text[i];
    i += std::max<std::size_t>(skip, 1);
  }
  return out;
}

std::map<std::string, std::string> select_variables(const std::vector<std::string>& entries) {
  constexpr std::size_t kLongest = 512;
  std::string home;  // not every home is under /home
  for (const std::string& entry : entries) {
    if (entry.starts_with("HOME=") && entry.size() > 6) home = entry.substr(5);
  }
  std::map<std::string, std::string> selected;
  for (const std::string& entry : entries) {
    const auto sign = entry.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    const std::string name = entry.substr(0, sign);
    if (!is_wanted(name)) continue;
    std::string value = contains_any(name, kHostParts) ? "<hidden>" : entry.substr(sign + 1);
    for (auto at = value.find(home); !home.empty() && at != std::string::npos;
         at = value.find(home, at + 1)) {
      value.replace(at, home.size(), "~");
    }
    value = without_uuids(without_credentials(without_homes(value)));
    if (value.size() > kLongest) value = value.substr(0, kLongest) + "...";
    selected[printable(name)] = printable(value);
  }
  return selected;
}

std::vector<std::string> process_variables() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace sluice::env
