// sluice/plan/page_matrix.cpp - docs/matrix.md from the matrix, the exclusions and the labels.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/plan/exclusions.h"
#include "sluice/plan/matrix.h"
#include "sluice/plan/page_text.h"
#include "sluice/plan/pages.h"
#include "sluice/plan/policy.h"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

template <class T>
std::string list(const std::vector<T>& names) {
  return join(std::vector<std::string>(names.begin(), names.end()));
}

template <class E>
std::string enum_list(const std::vector<E>& values) {
  std::vector<std::string> names;
  for (const E value : values)
    names.emplace_back(to_string(value));
  return join(names);
}

std::string scenario_table() {
  std::string text =
      "| scenario | media | channels | frames | modes | default | transforms | rates in |\n"
      "|---|---|--:|--:|---|---|--:|---|\n";
  for (const MatrixScenario& scenario : scenarios()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", scenario.name,
                        to_string(scenario.media), scenario.channels, scenario.clip_length,
                        enum_list(scenario.modes), to_string(scenario.default_mode),
                        scenario.set ? std::to_string(transform_names(*scenario.set).size()) : "",
                        media_policy(scenario.media).unit);
  }
  return text;
}

std::string scope_words(const Support& support) {
  if (support.scopes.size() == 3) return "all three";
  return enum_list(support.scopes);
}

std::string remarks(const Support& support) {
  std::vector<std::string> words;
  if (row_libraries(support).size() > 1)
    words.push_back("rows " + list(row_libraries(support)) + "; the faster counts");
  if (support.optional) words.emplace_back("optional: a table is complete without it");
  if (support.named_only) words.emplace_back("only when named");
  if (support.host_fallback) words.emplace_back("stays on the host, labelled, on a device");
  return join(words, "; ");
}

std::string library_table(const MatrixScenario& scenario, Mode mode) {
  std::string text = fmt::format("\n### {} {}\n", scenario.name, to_string(mode));
  text +=
      mode == Mode::pipeline
          ? "| library | devices | scopes | environment | backend | |\n|---|---|---|---|---|---|\n"
          : "| library | devices | environment | backend | |\n|---|---|---|---|---|\n";
  for (const Support& support : matrix()) {
    if (support.scenario != scenario.name || support.mode != mode) continue;
    const std::string scopes =
        mode == Mode::pipeline ? fmt::format(" {} |", scope_words(support)) : "";
    text += fmt::format("| {} | {} |{} {} | {} | {} |\n", support.library, list(support.devices),
                        scopes, support.group.empty() ? "none" : support.group,
                        to_string(support.backend), remarks(support));
  }
  return text;
}

std::string device_words(std::string_view device) {
  return device == "none" ? "host" : device == "gpu" ? "a GPU" : "any";
}

std::string exclusion_table() {
  std::string text =
      "| library | transforms | scenarios | modes | on | status | reason |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Exclusion& exclusion : exclusions()) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", exclusion.library,
                        list(exclusion.transforms), list(exclusion.scenarios),
                        enum_list(exclusion.modes), device_words(exclusion.device),
                        measure::to_string(exclusion.status), exclusion.reason);
  }
  return text;
}

std::string label_table() {
  std::string text = "| library | scenarios | mode | on | label |\n|---|---|---|---|---|\n";
  for (const Label& label : labels()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", label.library, list(label.scenarios),
                        to_string(label.mode), device_words(label.device), label.text);
  }
  return text;
}

}  // namespace

std::string matrix_page() {
  std::string text = page_head("Support matrix", "src/sluice/plan/matrix.cpp and exclusions.cpp");
  text +=
      "What can be measured. `sluice plan --config FILE` shows what a configuration makes of "
      "it.\n\n"
      "## Scenarios\n";
  text += scenario_table();
  text +=
      "\nA 9-channel image is an RGB image three times along the channels. A clip is 16 frames at "
      "even\n"
      "distances from the first to the last; a shorter video repeats its last frame.\n"
      "\n## Libraries\n"
      "Devices are the values of `execution.device` that are accepted. Environment: the virtual\n"
      "environment (`sluice peers install`) that the rows run in; rows that share a table of "
      "DataLoader\n"
      "results share one. A library that is not installed, or a device that is not there, gives\n"
      "`unsupported` rows with the reason, in the same files.\n";
  for (const MatrixScenario& scenario : scenarios()) {
    for (const Mode mode : scenario.modes)
      text += library_table(scenario, mode);
  }
  text +=
      "\n## Known exclusions\n"
      "These rows are not attempted: `unsupported` where the library cannot, `skipped` where the "
      "attempt\n"
      "would end the process or spoil the device for later rows. `execution.attempt_excluded: "
      "true` attempts\n"
      "them all the same. Every other row is attempted, and what the library says is its "
      "reason.\n\n";
  text += exclusion_table();
  text +=
      "\n## Labels\nHow a library does its work where a reader of the table has to know it.\n\n";
  text += label_table();
  return text;
}

}  // namespace sluice::plan
