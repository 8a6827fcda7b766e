// sluice/loader/mixture/source.cpp - the frame pairs of one data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/source.h"

#include "sluice/core/text.h"
#include "sluice/loader/permutation.h"
#include "sluice/storage/format/crc32c.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::loader::mixture {
namespace {

enum Draw : std::uint32_t { kShards = 1, kRecords, kPairs };

/// A feature of steps with numbers, each step the same; its values per step.
Result<int> numbers(const SourceSpec& spec, std::size_t feature) {
  const episodes::FeatureSpec& found = spec.dataset->features.specs[feature];
  const auto values = found.values();
  const bool usable = found.in_steps && !found.ragged() && values && *values > 0 &&
                      *values < 100'000 && found.list() != storage::ListKind::bytes &&
                      found.list() != storage::ListKind::none;
  if (!usable)
    return Error{Errc::invalid_input,
                 fmt::format("data set {}: feature {} is no list of numbers per step",
                             printable(spec.name), printable(found.name))};
  return static_cast<int>(*values);
}

}  // namespace

Source::Source(const SourceSpec& spec, std::uint32_t index, const MixtureOptions& options)
    : spec_(spec),
      options_(options),
      index_(index),
      // Each data set has draws of its own, whatever else is in the mix.
      seed_(options.seed ^ std::uint64_t{storage::crc32c(std::as_bytes(std::span(spec.name)))}
                               << 32U),
      reader_(*spec.dataset->store, {}),
      shards_(spec.dataset->shards.size()) {}

Result<std::unique_ptr<Source>> Source::open(const SourceSpec& spec, std::uint32_t index,
                                             const MixtureOptions& options) {
  auto source = std::unique_ptr<Source>(new Source(spec, index, options));
  const Status resolved = source->resolve();
  if (!resolved)
    return Error{resolved.error().code,
                 fmt::format("data set {}: {}", printable(spec.name), resolved.error().message)};
  return source;
}

Status Source::resolve() {
  const episodes::FeatureTable& features = spec_.dataset->features;
  SLUICE_TRY(image_, features.require(spec_.image));
  const episodes::FeatureSpec& image = features.specs[image_];
  if (image.type != episodes::FeatureType::image || !image.in_steps || image.ragged() ||
      image.dtype != "uint8")
    return Error{Errc::invalid_input,
                 fmt::format("feature {} is no image of u8 per step", printable(image.name))};
  if (options_.metadata != Metadata::full) return ok;
  if (!spec_.action.empty()) {
    SLUICE_TRY(action_, features.require(spec_.action));
    SLUICE_TRY(action_size_, numbers(spec_, *action_));
  }
  if (!spec_.state.empty()) {
    SLUICE_TRY(state_feature_, features.require(spec_.state));
    SLUICE_TRY(state_size_, numbers(spec_, *state_feature_));
  }
  if (!spec_.language.empty()) {
    SLUICE_TRY(language_, features.require(spec_.language));
  }
  robot_ = features.find(spec_.robot);
  return ok;
}

void Source::seek(const Cursor& cursor) {
  cursor_ = cursor;
  loaded_ = false;
  epoch_samples_ = cursor.episode > 0 || cursor.pair > 0 ? 1 : 0;
}

/// Groups of `interleave` shards, a record of each in turn.
void Source::order_epoch() {
  const std::vector<episodes::ShardSlice>& slices = spec_.dataset->shards;
  const auto key = [&](Draw stage, std::uint64_t index) {
    return RngKey{.seed = seed_, .epoch = cursor_.epoch, .index = index, .stage = stage};
  };
  const bool shuffle = options_.shuffle_episodes;
  const Permutation shards(slices.size(), key(kShards, 0));
  const auto group =
      static_cast<std::size_t>(spec_.interleave > 0 ? spec_.interleave : options_.interleave);
  order_.clear();
  for (std::size_t first = 0; first < slices.size(); first += group) {
    const std::size_t count = std::min(group, slices.size() - first);
    std::vector<std::uint32_t> of;
    std::vector<Permutation> records;
    std::uint64_t longest = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      const auto shard = static_cast<std::uint32_t>(shuffle ? shards(i) : i);
      of.push_back(shard);
      records.emplace_back(slices[shard].count, key(kRecords, shard));
      longest = std::max(longest, slices[shard].count);
    }
    for (std::uint64_t turn = 0; turn < longest; ++turn)
      for (std::size_t i = 0; i < count; ++i) {
        const episodes::ShardSlice& slice = slices[of[i]];
        if (turn < slice.count)
          order_.push_back({of[i], slice.first + (shuffle ? records[i](turn) : turn)});
      }
  }
  ordered_epoch_ = cursor_.epoch;
}

/// Where the records of a file lie. What is damaged ends the list; the rest of the file is lost.
Status Source::scan(std::uint32_t number) {
  Shard& shard = shards_[number];
  const episodes::ShardSlice& slice = spec_.dataset->shards[number];
  shard.scanned = true;
  while (shard.places.size() < slice.first + slice.count) {
    auto place = reader_.skip();
    if (!place) {
      if (place.error().code != Errc::invalid_input && place.error().code != Errc::not_found) {
        shard = {};
        return place.error();
      }
      shard.error = place.error().message;
      break;
    }
    if (!*place) {
      shard.error = fmt::format("{}: {}: it has {} episodes, dataset_info.json says {}",
                                spec_.dataset->store->name(), printable(slice.file.key),
                                shard.places.size(), slice.of);
      break;
    }
    shard.places.push_back(**place);
  }
  shard.checked.resize(shard.places.size());
  return ok;
}

Status Source::load(FillReport& report) {
  const Place place = order_[cursor_.episode];
  const std::int64_t start = thread_ns();
  if (open_shard_ != place.shard) {
    reader_.open(spec_.dataset->shards[place.shard].file);
    open_shard_ = place.shard;
  }
  Shard& shard = shards_[place.shard];
  if (!shard.scanned) SLUICE_CHECK(scan(place.shard));
  if (place.record >= shard.places.size()) return Error{Errc::invalid_input, shard.error};
  char& checked = shard.checked[place.record];
  const bool check = options_.check_always || checked == 0;
  const auto record = reader_.at(shard.places[place.record],
                                 check ? storage::RecordCheck::all : storage::RecordCheck::lengths);
  report.read_ns += thread_ns() - start;
  if (!record) return record.error();
  checked = 1;
  const Status parsed = episode_.parse(record->payload, spec_.dataset->features);
  if (!parsed)
    return Error{
        parsed.error().code,
        fmt::format("{}: {}: record at byte {}: {}", spec_.dataset->store->name(),
                    printable(reader_.file().key), record->place.offset, parsed.error().message)};
  const std::uint64_t steps = episode_.steps();
  const auto offset = static_cast<std::uint64_t>(spec_.offset);
  pairs_ = steps > offset ? steps - offset : 0;
  if (pairs_ == 0) ++report.too_short;
  taken_ = options_.samples_per_episode == 0
               ? pairs_
               : std::min(pairs_, static_cast<std::uint64_t>(options_.samples_per_episode));
  loaded_ = true;
  return ok;
}

Status Source::take(Sample& out) {
  const Place place = order_[cursor_.episode];
  std::uint64_t frame = cursor_.pair;
  if (options_.shuffle_pairs)
    frame = Permutation(pairs_, {.seed = seed_,
                                 .epoch = cursor_.epoch,
                                 .index = place.record,
                                 .repeat = place.shard,
                                 .stage = kPairs})(frame);
  const auto t = static_cast<std::size_t>(frame);
  const auto offset = static_cast<std::size_t>(spec_.offset);
  SLUICE_TRY(const auto first, episode_.bytes(image_, t));
  SLUICE_TRY(const auto second, episode_.bytes(image_, t + offset));
  out.source = index_;
  out.shard = place.shard;
  out.record = place.record;
  out.frame = static_cast<std::int64_t>(frame);
  out.bytes.resize(first.size() + second.size());
  std::copy(first.begin(), first.end(), out.bytes.begin());
  std::copy(second.begin(), second.end(),
            out.bytes.begin() + static_cast<std::ptrdiff_t>(first.size()));
  out.second = first.size();
  if (options_.metadata != Metadata::full) return ok;
  out.action.assign(static_cast<std::size_t>(action_size_), 0.0F);
  step_.resize(out.action.size());
  for (std::size_t i = t; action_ && i < t + offset; ++i) {
    SLUICE_CHECK(episode_.numbers(step_, *action_, i));
    for (std::size_t k = 0; k < step_.size(); ++k)
      out.action[k] += step_[k];
  }
  out.state.resize(static_cast<std::size_t>(state_size_));
  if (state_feature_) SLUICE_CHECK(episode_.numbers(out.state, *state_feature_, t));
  out.language.clear();
  if (language_) {
    SLUICE_TRY(out.language, step_text(episode_, spec_.dataset->features, *language_, t));
  }
  out.robot.clear();
  if (robot_ && episode_.has(*robot_)) {
    SLUICE_TRY(out.robot, step_text(episode_, spec_.dataset->features, *robot_, 0));
  }
  return ok;
}

Result<bool> Source::passable(const Error& error, FillReport& report) {
  const bool of_data = error.code == Errc::invalid_input || error.code == Errc::not_found;
  if (!of_data || options_.on_error == OnBadData::stop)
    return Error{error.code, fmt::format("data set {}: {}", printable(spec_.name), error.message)};
  ++report.bad_records;
  if (report.first_error.empty()) report.first_error = error.message;
  return true;
}

Result<std::size_t> Source::fill(std::span<Sample> out, FillReport& report) {
  const std::int64_t start = thread_ns();
  const std::int64_t read_before = report.read_ns;
  std::size_t count = 0;
  const auto next_episode = [&] {
    ++cursor_.episode;
    cursor_.pair = 0;
    loaded_ = false;
  };
  while (count < out.size()) {
    if (ordered_epoch_ != cursor_.epoch) order_epoch();
    if (cursor_.episode >= order_.size()) {
      report.dropped = epoch_samples_ == 0;
      report.ended = options_.one_pass || report.dropped;
      if (report.ended) break;
      cursor_ = {.epoch = cursor_.epoch + 1};
      loaded_ = false;
      epoch_samples_ = 0;
      continue;
    }
    Status done = loaded_ ? Status(ok) : load(report);
    if (done && cursor_.pair < taken_) {
      done = take(out[count]);
      if (done) {
        ++cursor_.pair;
        ++epoch_samples_;
        out[count++].after = cursor_;
        continue;
      }
    }
    if (!done) {
      SLUICE_TRY([[maybe_unused]] const bool passed, passable(done.error(), report));
    }
    next_episode();
  }
  report.parse_ns += thread_ns() - start - (report.read_ns - read_before);
  return count;
}

}  // namespace sluice::loader::mixture
