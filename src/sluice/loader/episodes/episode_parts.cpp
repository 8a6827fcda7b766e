// sluice/loader/episodes/episode_parts.cpp - episodes of which only some parts were read.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::loader::episodes {
namespace {

using Bytes = std::span<const std::byte>;

/// The one value of a list that has no more than that.
Result<std::string_view> only_value(std::vector<std::string_view>& scratch, Bytes part) {
  SLUICE_CHECK(storage::read_bytes_list(
      scratch, {.name = "", .kind = storage::ListKind::bytes, .list = part}));
  if (scratch.size() != 1)
    return Error{Errc::invalid_input, fmt::format("{} values where one was", scratch.size())};
  return scratch.front();
}

/// A tag of one byte, then the length, 7 bits a byte.
std::size_t prefix_bytes(std::size_t size) {
  std::size_t bytes = 2;
  for (; size >= 0x80; size >>= 7U)
    ++bytes;
  return bytes;
}

}  // namespace

EpisodeLayout::Part EpisodeLayout::frame(std::size_t step) const {
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(step);
  return {.offset = std::accumulate(sizes.begin(), end, first), .size = *end};
}

std::optional<EpisodeLayout> Episode::layout(std::size_t image,
                                             std::span<const std::size_t> others) {
  const auto part_of = [this](Bytes bytes) {
    return EpisodeLayout::Part{.offset = static_cast<std::uint32_t>(bytes.data() - message_.data()),
                               .size = static_cast<std::uint32_t>(bytes.size())};
  };
  const auto plain = [this](std::size_t feature) {
    return !table_->specs[feature].ragged() && !table_->specs[feature].with_shape();
  };
  if (message_.size() > UINT32_MAX || !plain(image)) return std::nullopt;
  const auto frames = all_bytes(image);
  if (!frames || frames->size() != steps_) return std::nullopt;
  EpisodeLayout layout;
  std::vector<std::string_view> scratch;
  layout.sizes.reserve(steps_);
  const Bytes list = this->list(table_->specs[image], "")->list;
  std::size_t before = 0;  // bytes of the list, up to the frame
  for (const std::string_view frame : *frames) {
    const auto at =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(frame.data()) - list.data());
    const std::size_t prefix = prefix_bytes(frame.size());
    // What lies between two frames is the second one's prefix, or something that we do not know.
    if (at - before != prefix) return std::nullopt;
    const Bytes part = list.subspan(before, prefix + frame.size());
    if (const auto value = only_value(scratch, part); !value || value->data() != frame.data())
      return std::nullopt;
    if (before == 0) layout.first = part_of(part).offset;
    layout.sizes.push_back(part_of(part).size);
    before += part.size();
  }
  layout.lists.reserve(others.size());
  for (const std::size_t feature : others) {
    if (!plain(feature)) return std::nullopt;
    const storage::ExampleFeature* const found = this->list(table_->specs[feature], "");
    if (found == nullptr) continue;
    if (found->list.empty()) return std::nullopt;
    layout.lists.push_back({.feature = static_cast<std::uint32_t>(feature),
                            .kind = found->kind,
                            .part = part_of(found->list)});
  }
  return layout;
}

void Episode::start_parts(const FeatureTable& features, std::size_t steps, std::size_t image) {
  table_ = &features;
  message_ = {};
  lists_.clear();
  columns_.resize(features.specs.size());
  for (Column& column : columns_)
    column.decoded = false;
  steps_ = steps;
  columns_[image].decoded = true;
  columns_[image].bytes.assign(steps, std::string_view());
}

Status Episode::add_frame(std::size_t image, std::size_t step, Bytes part) {
  std::vector<std::string_view>& frames = columns_[image].bytes;
  std::vector<std::string_view> scratch;
  const auto value = only_value(scratch, part);
  if (!value) return bad_feature(table_->specs[image], value.error().message);
  frames.at(step) = *value;
  return ok;
}

void Episode::add_list(const EpisodeLayout::List& list, Bytes part) {
  lists_.push_back({.name = table_->specs[list.feature].name, .kind = list.kind, .list = part});
}

}  // namespace sluice::loader::episodes
