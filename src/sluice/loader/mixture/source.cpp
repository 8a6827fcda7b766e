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

/// Of one source, for where frames lie: 4 bytes a step, so some 40,000 episodes of 80 steps.
constexpr std::size_t kLayoutBytes = std::size_t{16} << 20U;

/// `key` is what a preset calls it.
Result<std::size_t> required(const episodes::FeatureTable& features, const char* key,
                             std::string_view name) {
  auto found = features.require(name);
  if (found) return found;
  return Error{found.error().code, fmt::format("{}: {}", key, found.error().message)};
}

/// A feature of steps with numbers, each step the same; its values per step.
Result<int> numbers(const SourceSpec& spec, const char* key, std::size_t feature) {
  const episodes::FeatureSpec& found = spec.dataset->features.specs[feature];
  const auto values = found.values();
  const bool usable = found.in_steps && !found.ragged() && values && *values > 0 &&
                      *values < 100'000 && found.list() != storage::ListKind::bytes &&
                      found.list() != storage::ListKind::none;
  if (!usable)
    return Error{Errc::invalid_input, fmt::format("{}: feature {} is no list of numbers per step",
                                                  key, printable(found.name))};
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
                 fmt::format("{}data set {}: {}: {}",
                             spec.where.empty() ? std::string()
                                                : fmt::format("preset {}: ", printable(spec.where)),
                             printable(spec.name), spec.dataset->name(), resolved.error().message)};
  return source;
}

Status Source::resolve() {
  const episodes::FeatureTable& features = spec_.dataset->features;
  SLUICE_TRY(image_, required(features, "image", spec_.image));
  const episodes::FeatureSpec& image = features.specs[image_];
  if (image.type != episodes::FeatureType::image || !image.in_steps || image.ragged() ||
      image.dtype != "uint8")
    return Error{Errc::invalid_input, fmt::format("image: feature {} is no image of u8 per step",
                                                  printable(image.name))};
  if (options_.metadata != Metadata::full) return ok;
  if (!spec_.action.empty()) {
    SLUICE_TRY(action_, required(features, "action", spec_.action));
    SLUICE_TRY(action_size_, numbers(spec_, "action", *action_));
  }
  if (!spec_.state.empty()) {
    SLUICE_TRY(state_feature_, required(features, "state", spec_.state));
    SLUICE_TRY(state_size_, numbers(spec_, "state", *state_feature_));
  }
  if (!spec_.language.empty()) {
    SLUICE_TRY(language_, required(features, "language", spec_.language));
  }
  robot_ = features.find(spec_.robot);
  for (const auto& feature : {action_, state_feature_, language_, robot_})
    if (feature) others_.push_back(*feature);
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
  shard.known.resize(shard.places.size());
  return ok;
}

void Source::count_pairs(std::uint64_t steps) {
  const auto offset = static_cast<std::uint64_t>(spec_.offset);
  pairs_ = steps > offset ? steps - offset : 0;
  taken_ = options_.samples_per_episode == 0
               ? pairs_
               : std::min(pairs_, static_cast<std::uint64_t>(options_.samples_per_episode));
}

void Source::remember(const Place& place, std::uint32_t checksum) {
  Shard& shard = shards_[place.shard];
  std::unique_ptr<Known>& known = shard.known[place.record];
  const storage::ObjectStore& store = *spec_.dataset->store;
  // Two frames a pair: where half of all are wanted, one read of all of them is as good. So is a
  // record that is checked each time and comes in requests: all of it comes anyway.
  const bool few = taken_ > 0 && 4 * taken_ <= episode_.steps();
  const bool in_requests = options_.check_always && store.request_bytes() > 0;
  if (known || !few || in_requests ||
      shard.places[place.record].size < 2 * PartReader::worth_reading(store) ||
      layout_bytes_ >= kLayoutBytes)
    return;
  auto layout = episode_.layout(image_, others_);
  if (!layout) return;
  known = std::make_unique<Known>(Known{.layout = std::move(*layout), .checksum = checksum});
  layout_bytes_ += known->layout.memory_bytes();
}

void Source::forget(const Place& place) {
  Shard& shard = shards_[place.shard];
  shard.checked[place.record] = 0;
  layout_bytes_ -= shard.known[place.record]->layout.memory_bytes();
  shard.known[place.record].reset();
}

Result<bool> Source::read_parts(const Place& place, const Known& known) {
  const storage::RecordPlace& record = shards_[place.shard].places[place.record];
  if (options_.check_always) {
    SLUICE_TRY(const std::uint32_t checksum, parts_.check(reader_, record, parts_wanted_));
    return checksum == known.checksum;
  }
  SLUICE_CHECK(parts_.read(*spec_.dataset->store, reader_.file(),
                           record.offset + storage::kRecordHeaderBytes, parts_wanted_));
  return true;
}

Result<bool> Source::load_parts(const Place& place, FillReport& report) {
  const Known* const known = shards_[place.shard].known[place.record].get();
  if (known == nullptr) return false;
  const episodes::EpisodeLayout& layout = known->layout;
  count_pairs(layout.steps());
  steps_wanted_.clear();
  parts_wanted_.clear();
  for (std::uint64_t pair = 0; pair < taken_; ++pair)
    for (const std::size_t step :
         {frame_of(pair), frame_of(pair) + static_cast<std::size_t>(spec_.offset)}) {
      steps_wanted_.push_back(step);
      parts_wanted_.push_back(layout.frame(step));
    }
  for (const episodes::EpisodeLayout::List& list : layout.lists)
    parts_wanted_.push_back(list.part);
  const std::int64_t start = thread_ns();
  const auto read = read_parts(place, *known);
  report.read_ns += thread_ns() - start;
  if (!read) return read.error();
  bool same = *read;
  episode_.start_parts(spec_.dataset->features, layout.steps(), image_);
  for (std::size_t i = 0; same && i < steps_wanted_.size(); ++i)
    same = episode_.add_frame(image_, steps_wanted_[i], parts_.part(i)).has_value();
  if (!same) {
    // The file was written anew: what is known of the record counts no longer.
    forget(place);
    return false;
  }
  std::size_t part = steps_wanted_.size();
  for (const episodes::EpisodeLayout::List& list : layout.lists)
    episode_.add_list(list, parts_.part(part++));
  return true;
}

Status Source::load(FillReport& report) {
  const Place place = order_[cursor_.episode];
  std::int64_t start = thread_ns();
  if (open_shard_ != place.shard) {
    reader_.open(spec_.dataset->shards[place.shard].file);
    open_shard_ = place.shard;
  }
  Shard& shard = shards_[place.shard];
  if (!shard.scanned) SLUICE_CHECK(scan(place.shard));
  report.read_ns += thread_ns() - start;
  if (place.record >= shard.places.size()) return Error{Errc::invalid_input, shard.error};
  SLUICE_TRY(loaded_, load_parts(place, report));
  if (loaded_) return ok;
  start = thread_ns();
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
  count_pairs(episode_.steps());
  if (pairs_ == 0) ++report.too_short;
  remember(place, record->checksum);
  loaded_ = true;
  return ok;
}

std::size_t Source::frame_of(std::uint64_t pair) const {
  if (!options_.shuffle_pairs) return static_cast<std::size_t>(pair);
  const Place& place = order_[cursor_.episode];
  return static_cast<std::size_t>(Permutation(pairs_, {.seed = seed_,
                                                       .epoch = cursor_.epoch,
                                                       .index = place.record,
                                                       .repeat = place.shard,
                                                       .stage = kPairs})(pair));
}

Status Source::take(Sample& out) {
  const Place place = order_[cursor_.episode];
  const std::size_t t = frame_of(cursor_.pair);
  const auto offset = static_cast<std::size_t>(spec_.offset);
  SLUICE_TRY(const auto first, episode_.bytes(image_, t));
  SLUICE_TRY(const auto second, episode_.bytes(image_, t + offset));
  out.source = index_;
  out.shard = place.shard;
  out.record = place.record;
  out.frame = static_cast<std::int64_t>(t);
  // As bytes of one type: of two, the compiler makes a loop that moves one at a time.
  const auto append = [&](std::string_view image) {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(image.data());
    out.bytes.insert(out.bytes.end(), begin, begin + image.size());
  };
  out.bytes.clear();
  out.bytes.reserve(first.size() + second.size());
  append(first);
  append(second);
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
