// sluice/backend/cluster/slices.cpp - a plan in slices.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/slices.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::backend {

std::vector<Slice> slices_of(const plan::RunConfig& config, std::int64_t cases_per_task) {
  if (config.mode() == plan::Mode::decode) return {Slice{}};
  const std::vector<std::string>& all = *config.selection.transforms;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, cases_per_task));
  std::vector<Slice> slices;
  for (std::size_t first = 0; first < all.size(); first += step) {
    const std::size_t end = std::min(all.size(), first + step);
    slices.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(first),
                        all.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return slices;
}

plan::RunConfig config_of(const plan::RunConfig& config, const Slice& slice) {
  plan::RunConfig part = config;
  if (!slice.empty()) part.selection.transforms = slice;
  return part;
}

std::string index_list(const std::vector<int>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1)
      ++last;
    if (!text.empty()) text += ',';
    text +=
        last == i ? fmt::format("{}", indices[i]) : fmt::format("{}-{}", indices[i], indices[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace sluice::backend
