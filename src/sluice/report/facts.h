// sluice/report/facts.h - what a reader must know beside the numbers: machine, noise, method.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/report/sections.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

/// Plain text, not yet escaped for any format; strings of the file went through printable().
struct Fact {
  std::string name;
  std::string value;
};

inline constexpr const char* kNoiseFact = "Noise";
inline constexpr const char* kSessionFact = "Session";  // of the method; the configuration follows

/// The machine in a few lines, as far as the environment of the file knows it.
std::vector<Fact> machine_facts(const results::ResultFile& file);

/// The one noise check of a file: what it said, and when it was made.
struct NoiseCheck {
  std::string verdict;                // "quiet", "usable", "noisy"
  std::string score;                  // of 100; empty where it is not known
  std::string when;                   // "before the rows"
  std::vector<std::string> findings;  // what took points, one line each, with its advice
  bool quiet = false;

  /// "quiet, score 98 of 100, checked before the rows".
  [[nodiscard]] std::string text() const;
};
std::optional<NoiseCheck> noise_check(const results::ResultFile& file);
/// What that check complained about; nothing of a machine that it called quiet all the same.
std::vector<std::string> noise_warnings(const results::ResultFile& file);

/// How the numbers came about: clock, scope, dataset, policy, interval. Tables of the matrix say
/// themselves what is timed under which configuration.
enum class Method { whole, without_config };
std::vector<Fact> method_facts(const Section& section, Method method = Method::whole);
/// Every value of a document by its dotted path, in order; stops after `limit`.
std::vector<Fact> flatten(const Json& json, std::size_t limit);

/// The distinct commands of a section, ready for a shell.
std::vector<std::string> commands(const Section& section);
/// "sluice quick" out of the first command.
std::string title(const Section& section);
/// "0.1.0 (3f2a9c1d0b7e)".
std::string tool_text(const results::ResultFile& file);
/// Rows by status: "8 ok, 1 failed".
std::string status_counts(const Section& section);

}  // namespace sluice::report
