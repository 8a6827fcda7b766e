// sluice/plan/page_transforms.cpp - docs/transforms.md from the table of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/plan/page_text.h"
#include "sluice/plan/pages.h"
#include "sluice/plan/transforms.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace sluice::plan {
namespace {

constexpr std::array<std::pair<char, std::string_view>, 5> kColumns = {{
    {'A', "albumentationsx"},
    {'T', "torchvision"},
    {'K', "kornia"},
    {'P', "pillow"},
    {'D', "dali"},
}};

std::string params_text(const Json& params) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : params.items())
    parts.push_back(
        fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  return parts.empty() ? "" : "`" + join(parts) + "`";
}

std::string support_cell(const Transform& transform, char library) {
  if (transform.libraries.find(library) != std::string_view::npos) return "yes";
  if (library == 'P' && transform.libraries.find('p') != std::string_view::npos) return "pipeline";
  return "";
}

std::size_t count(TransformSet set, char library) {
  std::size_t total = 0;
  for (const Transform& transform : transforms()) {
    if (in_set(transform, set) && transform.libraries.find(library) != std::string_view::npos)
      ++total;
  }
  return total;
}

std::string counts_line(std::string_view label, TransformSet set, std::string_view libraries) {
  std::vector<std::string> parts;
  for (const auto& [letter, name] : kColumns) {
    if (libraries.find(letter) != std::string_view::npos)
      parts.push_back(fmt::format("{} {}", name, count(set, letter)));
  }
  return fmt::format("- {}: {} transforms; {}\n", label, transform_names(set).size(), join(parts));
}

}  // namespace

std::string transforms_page() {
  std::string text = page_head("Transforms", "src/sluice/plan/transforms.cpp");
  text +=
      "The transforms that are compared, with the parameters that every library is given. A "
      "transform is in\n"
      "a set when at least two of the libraries of that set have it; `sluice`, `opencv` and `dali` "
      "do not\n"
      "count for that. Random transforms are applied always (p = 1).\n\n"
      "Sets: R `image-rgb`, 9 `image-9ch`, V `video-16f`. Output: what becomes of height and "
      "width.\n"
      "Libraries: what each has for RGB images; what the installed versions really answer is "
      "tested, and\n"
      "a row that a library lacks is `unsupported` with its own words. `pipeline`: in recipes "
      "only.\n"
      "What the libraries make of the same parameters is a question of its own.\n\n";
  text += counts_line("image-rgb", TransformSet::rgb, "ATKPD");
  text += counts_line("image-9ch", TransformSet::nine_channel, "ATK");
  text += counts_line("video-16f", TransformSet::video, "ATK");
  text += "\n| # | transform | sets | parameters | output | random |";
  for (const auto& column : kColumns)
    text += fmt::format(" {} |", column.second);
  text += "\n|--:|---|---|---|---|---|---|---|---|---|---|\n";
  int number = 0;
  for (const Transform& transform : transforms()) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |", ++number, transform.name, transform.sets,
                        params_text(transform.params), to_string(transform.shape),
                        transform.stochastic ? "yes" : "");
    for (const auto& column : kColumns) {
      const std::string cell = support_cell(transform, column.first);
      text += cell.empty() ? " |" : " " + cell + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace sluice::plan
