// sluice/aug/page.cpp - docs/augment.md from the registry.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/page.h"

#include "sluice/aug/registry.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::aug {
namespace {

std::string tolerance_text(const Tolerance& tolerance, const char* unit) {
  if (tolerance.max == 0 && tolerance.outliers == 0) return "equal";
  std::string text = tolerance.max == 0 ? "equal" : fmt::format("{:g}{}", tolerance.max, unit);
  if (tolerance.outliers > 0)
    text += fmt::format(", {:g} % may differ more", tolerance.outliers * 100);
  if (!tolerance.reason.empty()) text += fmt::format(" ({})", tolerance.reason);
  return text;
}

std::string section(const TransformSpec& spec) {
  std::string text = fmt::format("\n## {}\n{}\n\n", spec.name, spec.doc);
  if (!spec.parameters.empty()) {
    text += "| parameter | default | accepted | |\n|---|---|---|---|\n";
    for (const TransformSpec::Parameter& one : spec.parameters)
      text += fmt::format("| `{}` | {} | {} | {} |\n", one.name,
                          table_cell(spec.defaults.at(one.name).dump()), table_cell(one.accepted),
                          table_cell(one.doc));
    text += "\n";
  }
  text += fmt::format(
      "{}; {}; {}; compared with AlbumentationsX as `{}`; fast path against reference: "
      "u8 {}, f32 {}.\n",
      spec.draws ? "Draws for each item" : "Draws nothing",
      spec.channels == ChannelRule::rgb ? "RGB only" : "any number of channels",
      spec.makes_f32  ? "u8 becomes f32"
      : spec.in_place ? "may work in place"
                      : "needs an output of its own",
      to_string(spec.parity),
      tolerance_text(spec.makes_f32 ? spec.f32 : spec.u8, spec.makes_f32 ? "" : " level"),
      tolerance_text(spec.f32, ""));
  return text;
}

}  // namespace

std::string augment_page() {
  std::string text =
      "<!-- Written by tools/docs from src/sluice/aug; edit that instead. -->\n# Our transforms\n"
      "What each computes, its parameters with the values of the paper as defaults, and how exact "
      "it "
      "is. The meaning is that\n"
      "of AlbumentationsX where libraries differ, learned from its documentation and outputs; "
      "[parity.md](parity.md) has the figures.\n"
      "u8 samples are 0 to 255, f32 samples 0 to 1. A clip gets one draw for all its frames. Draws "
      "are printed and replayed\n"
      "by `sluice augment`.\n\n"
      "Parity classes: `equal`; `pointwise` at most 1 level; `nearest` at most 1 % of the pixels "
      "differ; `smooth` 99.9th percentile\n"
      "at most 3 levels and mean at most 0.5; `property`: draws cannot be matched, so distribution "
      "and "
      "properties are tested.\n";
  std::vector<const TransformSpec*> sorted;
  for (const TransformSpec& spec : registry())
    sorted.push_back(&spec);
  std::sort(sorted.begin(), sorted.end(),
            [](const TransformSpec* a, const TransformSpec* b) { return a->name < b->name; });
  for (const TransformSpec* spec : sorted)
    text += section(*spec);
  return text;
}

}  // namespace sluice::aug
