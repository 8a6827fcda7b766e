// sluice/config/problems.h - everything that is wrong with a document, gathered into one Error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/core/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// What a value is, for messages: "'abc'", "a list", "a map", "an empty value".
std::string describe(const Node& node);

class Problems {
 public:
  /// `root_name` stands before every path: for a document that is itself one section.
  explicit Problems(std::string root_name = {}) : root_name_(std::move(root_name)) {}

  /// "run.yaml:3: gate.min_change: '2' is not in (0, 1)"; `what` is the part from "is".
  void add_value(const Node& node, std::string_view what);
  /// "run.yaml:3: " + message.
  void add(const Node& node, int line, std::string message);
  /// The message of an Error that already says where.
  void add_error(const Node& node, const Error& error);

  /// The path of `node`, or of its entry `key`, with the root's name.
  [[nodiscard]] std::string path(const Node& node, std::string_view key = {}) const;
  [[nodiscard]] bool empty() const { return found_.empty() && left_out_ == 0; }
  [[nodiscard]] bool full() const { return found_.size() >= kMaxKept; }
  /// ok, or one Error with all problems in the order of the document. It is one line: "a; b; c".
  [[nodiscard]] Status status() const;

 private:
  static constexpr std::size_t kMaxKept = 200;
  static constexpr std::size_t kMaxShown = 20;
  struct Problem {
    int line;
    std::string message;
  };
  void keep(int line, std::string message);

  std::string root_name_;
  std::vector<Problem> found_;
  std::size_t left_out_ = 0;
};

}  // namespace sluice::config
