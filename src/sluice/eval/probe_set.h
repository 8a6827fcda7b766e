// sluice/eval/probe_set.h - questions with one right answer, and the rules that score them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::eval {

/// exact: equal. prefix: the response begins with it. regex: found anywhere, dot matches newlines.
/// All without blanks at the ends and, unless the item says case_sensitive, without case.
enum class Method : std::uint8_t { exact, prefix, regex };

struct ProbeItem {
  std::string prompt;
  std::string expected;
  Method method = Method::exact;
  bool case_sensitive = false;
  std::string stop = "\n";  // the answer ends before it
};

struct ProbeSet {
  std::string name;
  std::string sha256;  // of the file
  std::vector<ProbeItem> items;
  bool of_engine = false;  // asked of engine_model.h, whatever weights are evaluated
};

/// Sets that are built in.
const std::vector<std::string>& probe_names();
/// A built-in set. An unknown name is a usage error that lists them.
Result<ProbeSet> find_probe_set(std::string_view name);
/// Errors (invalid_input) name the item and the field; regular expressions are compiled here once.
Result<ProbeSet> parse_probe_set(std::string_view text, std::string_view name);

/// Precondition: the item came from parse_probe_set().
bool is_correct(const ProbeItem& item, std::string_view response);

}  // namespace sluice::eval
