// tests/loader/mixture_probe.cpp - prints the samples of a mixture, one JSON line each, for tests
// that make them another way.
// SPDX-License-Identifier: Apache-2.0
//
// usage: mixture_probe ROOT PRESET SAMPLES_PER_EPISODE BATCHES IMAGES_FILE
// ROOT is made first: three episodes of each data set of the preset. Episodes and pairs in the
// order of the files, data sets by a deterministic schedule.
#include "sluice/core/json.h"
#include "sluice/loader/episodes/episode_maker.h"
#include "sluice/loader/mixture/mixture.h"
#include "sluice/storage/open_store.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace sluice::loader::mixture {
namespace {

void print(const MixtureBatch& batch, const std::vector<SourceSpec>& sources) {
  const auto row = [](std::span<const float> values, std::size_t at, int size) {
    Json list = Json::array();
    const auto each = static_cast<std::size_t>(size);
    for (const float value : values.subspan(at * each, each))
      list.push_back(value);
    return list;
  };
  const MixtureBatch::Full& full = batch.full;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size); ++i)
    std::cout << Json{{"name", sources[batch.source[i]].name},
                      {"action", row(full.action, i, full.action_size)},
                      {"state", row(full.state, i, full.state_size)},
                      {"language", full.language[i]},
                      {"episode_id", full.episode_id[i]},
                      {"robot", full.robot[i]},
                      {"frame", full.frame[i]},
                      {"offset", full.offset[i]}}
              << '\n';
}

Status run(const std::string& root, const std::string& preset_name, int taken, int batches,
           const char* file) {
  SLUICE_TRY(const auto preset, episodes::find_preset(preset_name));
  SLUICE_CHECK(episodes::make_episodes({.folder = root, .preset = *preset, .episodes = 3}));
  SLUICE_TRY(const auto store, storage::open_store({.input = root}));
  SLUICE_TRY(auto sources, preset_sources(store, *preset, {.split = "train"}));
  MixtureOptions options;
  options.batch_size = options.mix_block = options.queue = 1;
  options.samples_per_episode = taken;
  options.shuffle_episodes = options.shuffle_pairs = false;
  options.interleave = 1;
  options.deterministic = true;
  options.prime = 1;
  options.on_error = OnBadData::stop;
  SLUICE_TRY(const auto mixture, Mixture::open(std::move(sources), options));
  std::ofstream images(file, std::ios::binary);
  for (int i = 0; i < batches; ++i) {
    SLUICE_TRY(const MixtureBatch* batch, mixture->next());
    print(*batch, mixture->sources());
    images.write(reinterpret_cast<const char*>(batch->images.data()),
                 static_cast<std::streamsize>(batch->images.size()));
  }
  return ok;
}

}  // namespace
}  // namespace sluice::loader::mixture

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: mixture_probe ROOT PRESET SAMPLES_PER_EPISODE BATCHES FILE\n");
    return 2;
  }
  const sluice::Status done = sluice::loader::mixture::run(argv[1], argv[2], std::atoi(argv[3]),
                                                           std::atoi(argv[4]), argv[5]);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return 1;
}
