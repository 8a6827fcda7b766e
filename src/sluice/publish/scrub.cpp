// sluice/publish/scrub.cpp - finds private text by its form and by what is known of this process.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/scrub.h"

#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"

#include <algorithm>
#include <filesystem>
#include <pwd.h>
#include <system_error>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sluice::publish {
namespace {

/// Folders under which people and sites keep things: a path from here on, even inside a word
/// ("-I/home/a").
constexpr std::string_view kRoots[] = {"/home/",    "/Users/",   "/root/",    "/tmp/",  "/var/",
                                       "/mnt/",     "/media/",   "/opt/",     "/srv/",  "/etc/",
                                       "/private/", "/Volumes/", "/scratch/", "/gpfs/", "/lustre/"};
/// Files of the kernel: the same on every machine.
constexpr std::string_view kKernel[] = {"/sys", "/proc"};
constexpr std::string_view kSecretWords[] = {
    "TOKEN",   "SECRET", "PASSWORD",   "PASSWD",      "CREDENTIAL",
    "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTHORIZATION"};
/// How tokens of well-known services begin; what follows must be long enough to be one.
constexpr std::string_view kTokenHeads[] = {"ghp_", "gho_", "github_pat_", "hf_",   "sk-",
                                            "AKIA", "ASIA", "ya29.",       "xoxb-", "glpat-"};
constexpr std::size_t kTokenLength = 16;  // head included

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// Ends a path in running text.
bool ends_path(char c) {
  return std::string_view(" \t\r\n\"'`,;()[]{}<>|").find(c) != std::string_view::npos;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

bool starts(std::string_view text, std::size_t at, std::string_view part) {
  return text.compare(at, part.size(), part) == 0;
}

/// "/sys/devices" and "/proc/cpuinfo", but not "/proc/4711/maps".
bool of_kernel(std::string_view path) {
  for (const auto root : kKernel) {
    if (!path.starts_with(root)) continue;
    if (path.size() == root.size()) return true;
    return path[root.size()] == '/' &&
           !(path.size() > root.size() + 1 && is_digit(path[root.size() + 1]));
  }
  return false;
}

std::size_t path_end(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_path(text[at]))
    ++at;
  return at;
}

/// Whether a path that tells about a machine begins at `at`.
bool begins_path(std::string_view text, std::size_t at) {
  const char before = at == 0 ? ' ' : text[at - 1];
  const bool fresh = !is_word(before) && before != '.' && before != '/' && before != '-';
  const auto next = [&](std::size_t n) { return at + n < text.size() ? text[at + n] : ' '; };
  if (text[at] == '/') {
    if (std::any_of(std::begin(kRoots), std::end(kRoots),
                    [&](std::string_view root) { return starts(text, at, root); }))
      return true;
    return fresh && (is_word(next(1)) || next(1) == '.');
  }
  if (text[at] == '~') return fresh && (next(1) == '/' || is_word(next(1)));
  if (starts(text, at, "../")) return fresh;
  if (text[at] == '\\') return next(1) == '\\' && is_word(next(2));
  const bool letter = (text[at] >= 'a' && text[at] <= 'z') || (text[at] >= 'A' && text[at] <= 'Z');
  return letter && !is_word(before) && next(1) == ':' && (next(2) == '\\' || next(2) == '/') &&
         next(3) != '/';
}

/// Length of "scheme://" at `at`, or 0.
std::size_t scheme_length(std::string_view text, std::size_t at) {
  if (at > 0 && is_word(text[at - 1])) return 0;
  std::size_t end = at;
  while (end < text.size() && (is_word(text[end]) || text[end] == '+'))
    ++end;
  return end > at && starts(text, end, "://") ? end + 3 - at : 0;
}

std::string without_paths(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool url = scheme_length(text, at) > 0;
    if (!url && !begins_path(text, at)) {
      out += text[at++];
      continue;
    }
    const std::size_t end = path_end(text, at);
    const std::string_view path = text.substr(at, end - at);
    if (!url && of_kernel(path)) {
      out += path;
    } else {
      out += kExternalPath;
    }
    at = end;
  }
  return out;
}

/// Replaces `part`; as a whole word only, if asked.
std::string replaced(std::string text, const std::string& part, std::string_view with, bool word) {
  if (part.empty()) return text;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    const std::size_t end = at + part.size();
    const bool inside =
        (at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]));
    if (word && inside) {
      at = end;
      continue;
    }
    text.replace(at, part.size(), with);
    at += with.size();
  }
  return text;
}

/// Words separated by blanks: user@host, NAME=value, tokens.
std::string scrubbed_word(const std::string& word) {
  for (const auto head : kTokenHeads) {
    const auto at = word.find(head);
    if (at == std::string::npos || (at > 0 && is_word(word[at - 1]))) continue;
    if (word.size() - at >= kTokenLength) return word.substr(0, at) + std::string(kRemoved);
  }
  const auto equals = word.find('=');
  if (equals != std::string::npos && names_secret(word.substr(0, equals)))
    return word.substr(0, equals + 1) + std::string(kRemoved);
  const auto sign = word.find('@');
  if (sign != std::string::npos && sign > 0 && sign + 1 < word.size() && is_word(word[sign - 1]) &&
      is_word(word[sign + 1]))
    return std::string(kRemoved);
  return word;
}

std::string without_tokens(const std::string& text) {
  std::string out;
  std::string word;
  bool after_flag = false;  // "--token VALUE", "Bearer VALUE"
  const auto flush = [&] {
    if (word.empty()) return;
    const bool secret = after_flag && word != kRemoved;
    after_flag = word == "Bearer" || (word.starts_with("--") && names_secret(word) &&
                                      word.find('=') == std::string::npos);
    out += secret ? std::string(kRemoved) : scrubbed_word(word);
    word.clear();
  };
  for (const char c : text) {
    if (std::string_view(" \t\r\n\"',;").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    flush();
    out += c;
  }
  flush();
  return out;
}

/// "pid 4711", "pid=4711", "PID: 4711" without the number.
std::string without_pids(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool word = at == 0 || !is_word(text[at - 1]);
    if (!word || upper(text.substr(at, 3)) != "PID") {
      out += text[at++];
      continue;
    }
    std::size_t digits = at + 3;
    while (digits < text.size() &&
           std::string_view(" =:#").find(text[digits]) != std::string_view::npos)
      ++digits;
    std::size_t end = digits;
    while (end < text.size() && is_digit(text[end]))
      ++end;
    out += end > digits ? text.substr(at, digits - at) + "0" : text.substr(at, digits - at);
    at = end;
  }
  return out;
}

void add_unique(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

/// A string that is nothing but a path may hold blanks, which running text cannot tell; and the
/// folder below /home is a person.
void learn_path(Secrets& secrets, const std::string& text) {
  const bool absolute = text.size() > 2 && text.front() == '/' && !of_kernel(text);
  if (absolute) add_unique(secrets.paths, text);
  for (const std::string_view root : {"/home/", "/Users/"}) {
    for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at + 1)) {
      const std::size_t first = at + root.size();
      std::size_t end = first;
      while (end < text.size() && text[end] != '/' && !ends_path(text[end]))
        ++end;
      if (end - first >= 3) add_unique(secrets.names, text.substr(first, end - first));
    }
  }
}

}  // namespace

bool names_secret(std::string_view name) {
  std::string folded = upper(name);
  std::replace(folded.begin(), folded.end(), '-', '_');
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](std::string_view word) { return folded.find(word) != std::string::npos; });
}

Secrets Secrets::of_process() {
  Secrets secrets;
  std::error_code ignored;
  for (const std::string& path :
       {environment_variable("HOME"), std::filesystem::current_path(ignored).string()}) {
    if (path.size() > 2) add_unique(secrets.paths, path);
  }
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) secrets.names.emplace_back(host);
  for (const char* name : {"USER", "LOGNAME", "HOSTNAME"})
    secrets.names.push_back(environment_variable(name));
  if (const passwd* entry = ::getpwuid(::getuid()))  // NOLINT(concurrency-mt-unsafe)
    secrets.names.emplace_back(entry->pw_name);
  // Too short or too common a name would eat ordinary words.
  const auto common = [](const std::string& name) {
    return name.size() < 3 || name == "root" || name == "localhost" || name == "user";
  };
  secrets.names.erase(std::remove_if(secrets.names.begin(), secrets.names.end(), common),
                      secrets.names.end());
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    constexpr std::size_t kShortest = 6;
    if (equals == std::string_view::npos || !names_secret(text.substr(0, equals))) continue;
    if (text.size() - equals - 1 >= kShortest) secrets.values.emplace_back(text.substr(equals + 1));
  }
  return secrets;
}

void Secrets::learn(const Json& json) {
  if (json.is_string()) {
    learn_path(*this, json.get_ref<const std::string&>());
  } else if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) {
      if (json.is_object()) learn_path(*this, key);
      learn(value);
    }
  }
}

std::string scrub_text(std::string_view text, const Secrets& secrets) {
  std::string out(text);
  std::vector<std::string> paths = secrets.paths;  // longest first: one may begin another
  std::sort(paths.begin(), paths.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const auto& value : secrets.values)
    out = replaced(std::move(out), value, kRemoved, false);
  for (const auto& path : paths)
    out = replaced(std::move(out), path, kExternalPath, false);
  out = without_pids(without_tokens(without_paths(out)));
  for (const auto& name : secrets.names)
    out = replaced(std::move(out), name, kRemoved, true);
  return out;
}

Json scrub(const Json& json, const Secrets& secrets) {
  if (json.is_string()) return scrub_text(json.get_ref<const std::string&>(), secrets);
  if (json.is_array()) {
    Json out = Json::array();
    bool secret_next = false;  // the word after "--token" in a command line
    for (const auto& value : json) {
      const bool text = value.is_string();
      out.push_back(secret_next && text ? Json(kRemoved) : scrub(value, secrets));
      const std::string word = text ? value.get<std::string>() : std::string();
      secret_next =
          word.starts_with("-") && word.find('=') == std::string::npos && names_secret(word);
    }
    return out;
  }
  if (!json.is_object()) return json;
  Json out = Json::object();
  for (const auto& [key, value] : json.items()) {
    const bool secret = names_secret(key) && value.is_string();
    out[scrub_text(key, secrets)] = secret ? Json(kRemoved) : scrub(value, secrets);
  }
  return out;
}

}  // namespace sluice::publish
