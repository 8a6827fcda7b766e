// sluice/cli/serve/request.cpp - method, target and host of a request.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/serve/request.h"

#include "sluice/core/text.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace sluice::cli {
namespace {

ParsedRequest refuse(int status, std::string why) {
  return {status, std::move(why), {}};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return out;
}

/// Nothing for a broken escape, one of a byte that no name has, or a control character as it is.
std::optional<std::string> decoded(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  if (std::ranges::any_of(text, control)) return std::nullopt;
  auto path = storage::uri_decode(text);
  if (path && path->find('\0') != std::string::npos) return std::nullopt;
  return path;
}

bool is_this_machine(std::string_view host, int port) {
  const std::string name = lower(host);
  return std::ranges::any_of(std::initializer_list<std::string>{"127.0.0.1", "localhost", "[::1]"},
                             [&](const std::string& own) {
                               return name == own || name == fmt::format("{}:{}", own, port);
                             });
}

}  // namespace

ParsedRequest parse_request(std::string_view bytes, int port) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos)
    return bytes.size() > kLongestRequest ? refuse(431, "the headers are too long")
                                          : ParsedRequest();
  if (end > kLongestRequest) return refuse(431, "the headers are too long");
  const std::vector<std::string> lines = split(bytes.substr(0, end), '\n');
  if (lines.empty()) return refuse(400, "expected METHOD PATH HTTP/1.1");
  const std::vector<std::string> words = split(trimmed(lines.front()), ' ');
  if (words.size() != 3) return refuse(400, "expected METHOD PATH HTTP/1.1");
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return refuse(505, "expected HTTP/1.1");
  if (words[0] != "GET" && words[0] != "HEAD") return refuse(405, "expected GET or HEAD");
  const std::string target = words[1].substr(0, words[1].find_first_of("?#"));
  const auto path = decoded(target);
  if (!path || path->empty() || path->front() != '/')
    return refuse(400, "expected a path that begins with /");
  int hosts = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    if (colon == std::string::npos) return refuse(400, "expected NAME: VALUE");
    if (lower(lines[i].substr(0, colon)) != "host") continue;
    ++hosts;
    if (!is_this_machine(trimmed(std::string_view(lines[i]).substr(colon + 1)), port))
      return refuse(403, "expected the Host of this machine: 127.0.0.1 or localhost");
  }
  if (hosts != 1) return refuse(400, "expected one Host header");
  return {200, "", {*path, words[0] == "HEAD"}};
}

}  // namespace sluice::cli
