// sluice/report/shell.cpp - an argument vector as a line for a shell.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace sluice::report {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out;
  if (printable(word) == word) {
    for (const char c : word)
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return "'" + out + "'";
  }
  // Bytes that cannot be shown: $'...', which bash, zsh and ksh understand.
  for (const char c : word) {
    const auto byte = static_cast<std::uint8_t>(c);
    const bool shown = byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\';
    out += shown ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return "$'" + out + "'";
}

}  // namespace

std::string shell_command(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  words.reserve(argv.size());
  for (const auto& word : argv)
    words.push_back(quoted(word));
  return join(words, " ");
}

}  // namespace sluice::report
