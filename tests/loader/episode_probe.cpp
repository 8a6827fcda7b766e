// tests/loader/episode_probe.cpp - prints the episodes of a data set, one JSON line each, for tests
// that read it another way.
// SPDX-License-Identifier: Apache-2.0
//
// usage: episode_probe STORE DATASET SPLIT
#include "sluice/core/json.h"
#include "sluice/loader/episodes/episode.h"
#include "sluice/loader/episodes/episode_dataset.h"
#include "sluice/storage/open_store.h"

#include <cstdio>
#include <iostream>

namespace sluice::loader::episodes {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4U]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15U]);
  }
  return out;
}

/// Elements [first, last) of the whole list, each a string or a list of its values.
Result<Json> elements(Episode& episode, const FeatureSpec& spec, std::size_t feature,
                      Episode::Range range) {
  Json out = Json::array();
  const std::size_t values = static_cast<std::size_t>(spec.values().value_or(1));
  for (std::size_t i = range.first * values; i < range.last * values; ++i) {
    if (spec.list() == storage::ListKind::bytes) {
      SLUICE_TRY(const auto all, episode.all_bytes(feature));
      out.push_back(hex(all[i]));
    } else if (spec.list() == storage::ListKind::floats) {
      SLUICE_TRY(const auto all, episode.all_floats(feature));
      out.push_back(static_cast<double>(all[i]));
    } else {
      SLUICE_TRY(const auto all, episode.all_ints(feature));
      out.push_back(all[i]);
    }
  }
  return out;
}

Result<Json> step_value(Episode& episode, const FeatureSpec& spec, std::size_t feature,
                        std::size_t step) {
  if (spec.ragged()) {
    SLUICE_TRY(const auto range, episode.ragged(feature, step));
    return elements(episode, spec, feature, range);
  }
  if (spec.type == FeatureType::tensor && spec.encoding != Encoding::none) {
    SLUICE_TRY(const auto encoded, episode.bytes(feature, step));
    std::vector<std::int64_t> shape;
    if (spec.with_shape()) {
      SLUICE_TRY(const auto own, episode.shape(feature, step));
      shape.assign(own.begin(), own.end());
    }
    std::vector<std::byte> memory;
    SLUICE_CHECK(unpack_tensor(memory, spec, encoded, shape));
    return Json(hex({reinterpret_cast<const char*>(memory.data()), memory.size()}));
  }
  if (spec.list() == storage::ListKind::bytes) {
    SLUICE_TRY(const auto bytes, episode.bytes(feature, step));
    return Json(hex(bytes));
  }
  Json out = Json::array();
  if (spec.list() == storage::ListKind::floats) {
    SLUICE_TRY(const auto values, episode.floats(feature, step));
    for (const float value : values)
      out.push_back(static_cast<double>(value));
  } else {
    SLUICE_TRY(const auto values, episode.ints(feature, step));
    for (const std::int64_t value : values)
      out.push_back(value);
  }
  return out;
}

Status print(const std::string& place, const std::string& name, const std::string& split) {
  SLUICE_TRY(auto store, storage::open_store({.input = place}));
  SLUICE_TRY(auto folder, find_dataset(*store, name));
  SLUICE_TRY(const auto dataset, EpisodeDataset::open(store, folder, split));
  EpisodeReader reader(dataset);
  Episode episode;
  while (true) {
    SLUICE_TRY(const auto record, reader.next());
    if (!record) return ok;
    SLUICE_CHECK(episode.parse(record->payload, dataset.features));
    Json line = {{"steps", episode.steps()}, {"features", Json::object()}};
    for (std::size_t i = 0; i < dataset.features.specs.size(); ++i) {
      const FeatureSpec& spec = dataset.features.specs[i];
      Json& column = line["features"][spec.name] = Json::array();
      for (std::size_t step = 0; step < (spec.in_steps ? episode.steps() : 1); ++step) {
        SLUICE_TRY(auto value, step_value(episode, spec, i, step));
        column.push_back(std::move(value));
      }
    }
    std::cout << dump_json(line, -1) << '\n';
  }
}

}  // namespace
}  // namespace sluice::loader::episodes

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: episode_probe STORE DATASET SPLIT\n", stderr);
    return 2;
  }
  const auto outcome = sluice::loader::episodes::print(argv[1], argv[2], argv[3]);
  if (outcome) return 0;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  return 1;
}
