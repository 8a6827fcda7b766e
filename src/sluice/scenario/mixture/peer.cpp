// sluice/scenario/mixture/peer.cpp - data sets by folder, and first pairs by our own loader.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/peer.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace sluice::scenario {
namespace {

constexpr int kStageSamples = 256;  // that CPU time by stage is found with, before the runs

}  // namespace

using loader::mixture::Metadata;
using loader::mixture::Mixture;
using loader::mixture::MixtureOptions;
using loader::mixture::SourceSpec;

Result<Json> peer_spec(const MixtureSpec& spec) {
  if (spec.remote())
    return Error{Errc::unsupported,
                 fmt::format("root {}: other libraries read a folder of this machine here",
                             printable(spec.root))};
  SLUICE_TRY(const auto sources, open_sources(spec));
  const std::filesystem::path root = std::filesystem::absolute(spec.root);
  Json json = to_json(spec);
  json["mode"] = "mixture";
  json["stage_samples"] = kStageSamples;
  Json& list = json["sources"] = Json::array();
  for (const SourceSpec& source : sources) {
    if (source.weight <= 0) continue;
    if (source.place.find("://") != std::string::npos)
      return Error{Errc::unsupported,
                   fmt::format("data set {} is in {}: other libraries read folders of this machine "
                               "here",
                               source.name, printable(source.place))};
    const auto base = source.place.empty() ? root : std::filesystem::path(source.place);
    list.push_back({{"name", source.name},
                    {"folder", (base / source.dataset->folder).string()},
                    {"split", source.split},
                    {"weight", source.weight},
                    {"offset", source.offset},
                    {"image", source.image},
                    {"action", source.action},
                    {"state", source.state},
                    {"language", source.language},
                    {"robot", source.robot}});
  }
  return json;
}

Result<measure::OutputSamples> first_pairs(const MixtureSpec& spec, std::int64_t items) {
  SLUICE_TRY(auto sources, open_sources(spec));
  MixtureOptions options;
  options.image_size = spec.options.image_size;
  options.batch_size = options.mix_block = options.queue = options.min_ready = 1;
  options.read_threads = options.decode_threads = options.prefetch = 1;
  options.samples_per_episode = 1;
  options.shuffle_episodes = options.shuffle_pairs = false;
  options.metadata = Metadata::off;
  options.on_error = loader::mixture::OnBadData::stop;
  measure::OutputSamples samples;
  const auto size = static_cast<std::size_t>(options.image_size);
  for (SourceSpec& source : sources) {
    if (source.weight <= 0) continue;
    if (static_cast<std::int64_t>(samples.shapes.size()) >= items) break;
    SLUICE_TRY(const auto mixture, Mixture::open({std::move(source)}, options));
    SLUICE_TRY(const loader::mixture::MixtureBatch* batch, mixture->next());
    const auto pixels = batch->images;  // [3, 2, size, size]
    for (std::size_t i = 0; i < 2 * size * size; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        samples.values.push_back(pixels[c * 2 * size * size + i]);
    samples.shapes.push_back(
        {static_cast<std::int64_t>(2 * size), static_cast<std::int64_t>(size), 3});
  }
  return samples;
}

}  // namespace sluice::scenario
