// sluice/loader/episodes/episode.cpp - steps and their values, decoded when they are asked for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader::episodes {
namespace {

using storage::ListKind;

/// By hand: views of a view would only be longer.
std::size_t list_size(ListKind kind, std::size_t bytes, std::size_t floats, std::size_t ints) {
  return kind == ListKind::bytes ? bytes : kind == ListKind::floats ? floats : ints;
}

}  // namespace

const storage::ExampleFeature* Episode::list(const FeatureSpec& spec,
                                             std::string_view suffix) const {
  if (suffix.empty()) return storage::find_feature(lists_, spec.name);
  return storage::find_feature(lists_, fmt::format("{}{}", spec.name, suffix));
}

Status Episode::parse(std::span<const std::byte> message, const FeatureTable& features) {
  table_ = &features;
  message_ = message;
  SLUICE_CHECK(storage::parse_example(lists_, message));
  columns_.resize(features.specs.size());
  for (Column& column : columns_)
    column.decoded = false;
  return count_steps();
}

Status Episode::count_steps() {
  std::optional<std::size_t> by = table_->find("steps/is_first");
  const auto usable = [&](std::size_t i) {
    const FeatureSpec& spec = table_->specs[i];
    return spec.in_steps && spec.sequences == 1 && spec.values().value_or(0) > 0 &&
           spec.list() != ListKind::none &&
           list(spec, spec.with_shape() ? "/value" : "") != nullptr;
  };
  if (!by || !usable(*by)) {
    by.reset();
    for (std::size_t i = 0; i < table_->specs.size() && !by; ++i)
      if (usable(i)) by = i;
  }
  if (!by)
    return Error{Errc::invalid_input,
                 "no feature with one element per step: how many there are "
                 "cannot be told"};
  SLUICE_TRY(const Column* const column, this->column(*by));
  const FeatureSpec& spec = table_->specs[*by];
  const std::size_t count =
      list_size(spec.list(), column->bytes.size(), column->floats.size(), column->ints.size());
  const auto values = static_cast<std::size_t>(spec.values().value_or(1));
  if (count % values != 0)
    return bad_feature(spec, fmt::format("{} values, {} per step", count, values));
  steps_ = count / values;
  return ok;
}

bool Episode::has(std::size_t feature) const {
  const FeatureSpec& spec = table_->specs[feature];
  return list(spec, spec.ragged()       ? "/ragged_flat_values"
                    : spec.with_shape() ? "/value"
                                        : "") != nullptr;
}

Result<Episode::Column*> Episode::column(std::size_t feature) {
  Column& column = columns_.at(feature);
  if (!column.decoded) {
    SLUICE_CHECK(decode(column, table_->specs[feature]));
    column.decoded = true;
  }
  return &column;
}

Status Episode::decode(Column& column, const FeatureSpec& spec) {
  column.bytes.clear();
  column.floats.clear();
  column.ints.clear();
  if (spec.type == FeatureType::other || spec.list() == ListKind::none)
    return bad_feature(
        spec, fmt::format("{} {} is not read", printable(spec.class_name), printable(spec.dtype)));
  const storage::ExampleFeature* values = list(spec, spec.ragged()       ? "/ragged_flat_values"
                                                     : spec.with_shape() ? "/value"
                                                                         : "");
  if (values == nullptr) return bad_feature(spec, "missing from the record");
  switch (spec.list()) {
    case ListKind::bytes:
      SLUICE_CHECK(read_bytes_list(column.bytes, *values));
      break;
    case ListKind::floats:
      SLUICE_CHECK(read_float_list(column.floats, *values));
      break;
    default:
      SLUICE_CHECK(read_int64_list(column.ints, *values));
  }
  if (spec.with_shape() && !spec.ragged()) {
    const storage::ExampleFeature* shapes = list(spec, "/shape");
    if (shapes == nullptr) return bad_feature(spec, "its shapes are missing from the record");
    SLUICE_CHECK(read_int64_list(column.shapes, *shapes));
  }
  return spec.ragged() ? decode_lengths(column, spec) : Status(ok);
}

/// Each level's lengths add up to the number of elements of the next one.
Status Episode::decode_lengths(Column& column, const FeatureSpec& spec) {
  const auto levels = static_cast<std::size_t>(spec.sequences - 1);
  column.lengths.resize(levels);
  for (std::size_t level = 0; level < levels; ++level) {
    const storage::ExampleFeature* lengths =
        list(spec, fmt::format("/ragged_row_lengths_{}", level));
    if (lengths == nullptr) return bad_feature(spec, "its row lengths are missing from the record");
    SLUICE_CHECK(read_int64_list(column.lengths[level], *lengths));
  }
  const std::size_t flat =
      list_size(spec.list(), column.bytes.size(), column.floats.size(), column.ints.size());
  const std::size_t values = static_cast<std::size_t>(spec.values().value_or(1));
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t next = level + 1 < levels ? column.lengths[level + 1].size()
                             : values == 0      ? 0
                                                : flat / values;
    std::size_t sum = 0;
    for (const std::int64_t length : column.lengths[level]) {
      if (length < 0 || static_cast<std::uint64_t>(length) > next - sum)
        return bad_feature(spec, fmt::format("row lengths that do not fit {} elements", next));
      sum += static_cast<std::size_t>(length);
    }
    if (values != 0 && sum != next)
      return bad_feature(spec,
                         fmt::format("row lengths add up to {}, there are {} elements", sum, next));
  }
  return ok;
}

Result<std::size_t> Episode::per_step(const FeatureSpec& spec, std::size_t count,
                                      std::size_t step) const {
  if (spec.ragged()) return bad_feature(spec, "it is ragged: its steps differ in length");
  const std::size_t steps = spec.in_steps ? steps_ : 1;
  if (step >= steps) return bad_feature(spec, fmt::format("step {} of {}", step, steps));
  const auto stated = spec.values();
  if (count % steps != 0 || (stated && count / steps != *stated))
    return bad_feature(spec, stated
                                 ? fmt::format("{} values in {} steps of {}", count, steps, *stated)
                                 : fmt::format("{} values in {} steps", count, steps));
  return count / steps;
}

Result<std::string_view> Episode::bytes(std::size_t feature, std::size_t step) {
  SLUICE_TRY(const auto all, all_bytes(feature));
  SLUICE_TRY(const std::size_t each, per_step(table_->specs[feature], all.size(), step));
  if (each != 1)
    return bad_feature(table_->specs[feature], fmt::format("{} strings per step", each));
  if (all[step].data() == nullptr)
    return bad_feature(table_->specs[feature], fmt::format("step {} was not read", step));
  return all[step];
}

Result<std::span<const float>> Episode::floats(std::size_t feature, std::size_t step) {
  SLUICE_TRY(const auto all, all_floats(feature));
  SLUICE_TRY(const std::size_t each, per_step(table_->specs[feature], all.size(), step));
  return all.subspan(step * each, each);
}

Result<std::span<const std::int64_t>> Episode::ints(std::size_t feature, std::size_t step) {
  SLUICE_TRY(const auto all, all_ints(feature));
  SLUICE_TRY(const std::size_t each, per_step(table_->specs[feature], all.size(), step));
  return all.subspan(step * each, each);
}

Status Episode::numbers(std::span<float> out, std::size_t feature, std::size_t step) {
  const FeatureSpec& spec = table_->specs[feature];
  const auto wrong = [&](std::size_t size) {
    return bad_feature(spec,
                       fmt::format("{} values per step where {} are expected", size, out.size()));
  };
  if (spec.list() == ListKind::ints) {
    SLUICE_TRY(const auto values, ints(feature, step));
    if (values.size() != out.size()) return wrong(values.size());
    std::transform(values.begin(), values.end(), out.begin(),
                   [](std::int64_t value) { return static_cast<float>(value); });
    return ok;
  }
  SLUICE_TRY(const auto values, floats(feature, step));
  if (values.size() != out.size()) return wrong(values.size());
  std::copy(values.begin(), values.end(), out.begin());
  return ok;
}

Result<std::span<const std::int64_t>> Episode::row_lengths(std::size_t feature, int level) {
  const FeatureSpec& spec = table_->specs[feature];
  SLUICE_TRY(const Column* const column, this->column(feature));
  if (!spec.ragged() || level < 0 || level >= spec.sequences - 1)
    return bad_feature(spec, "it is not ragged at this level");
  return std::span<const std::int64_t>(column->lengths[static_cast<std::size_t>(level)]);
}

Result<Episode::Range> Episode::ragged(std::size_t feature, std::size_t step) {
  const FeatureSpec& spec = table_->specs[feature];
  SLUICE_TRY(const auto rows, row_lengths(feature, 0));
  if (rows.size() != steps_ || step >= steps_)
    return bad_feature(spec, fmt::format("{} rows in {} steps, of which {} is asked for",
                                         rows.size(), steps_, step));
  Range range{.first = step, .last = step + 1};
  for (int level = 0; level < spec.sequences - 1; ++level) {
    SLUICE_TRY(const auto lengths, row_lengths(feature, level));
    std::size_t first = 0, last = 0;
    for (std::size_t i = 0; i < range.last; ++i) {
      if (i == range.first) first = last;
      last += static_cast<std::size_t>(lengths[i]);
    }
    if (range.first == range.last) first = last;
    range = {.first = first, .last = last};
  }
  return range;
}

Result<std::span<const std::string_view>> Episode::all_bytes(std::size_t feature) {
  SLUICE_TRY(const Column* const column, this->column(feature));
  if (table_->specs[feature].list() != ListKind::bytes)
    return bad_feature(table_->specs[feature], "it holds numbers, no strings");
  return std::span<const std::string_view>(column->bytes);
}

Result<std::span<const float>> Episode::all_floats(std::size_t feature) {
  SLUICE_TRY(const Column* const column, this->column(feature));
  if (table_->specs[feature].list() != ListKind::floats)
    return bad_feature(table_->specs[feature], "it holds no floating point numbers");
  return std::span<const float>(column->floats);
}

Result<std::span<const std::int64_t>> Episode::all_ints(std::size_t feature) {
  SLUICE_TRY(const Column* const column, this->column(feature));
  if (table_->specs[feature].list() != ListKind::ints)
    return bad_feature(table_->specs[feature], "it holds no whole numbers");
  return std::span<const std::int64_t>(column->ints);
}

Result<std::span<const std::int64_t>> Episode::shape(std::size_t feature, std::size_t step) {
  const FeatureSpec& spec = table_->specs[feature];
  SLUICE_TRY(const Column* const column, this->column(feature));
  const std::size_t rank = spec.shape.size();
  const std::size_t steps = spec.in_steps ? steps_ : 1;
  if (!spec.with_shape() || spec.ragged() || column->shapes.size() != steps * rank || step >= steps)
    return bad_feature(spec, fmt::format("{} numbers of shapes in {} steps of {}",
                                         column->shapes.size(), steps, rank));
  return std::span<const std::int64_t>(column->shapes).subspan(step * rank, rank);
}

}  // namespace sluice::loader::episodes
