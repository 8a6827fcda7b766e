// sluice/scenario/mixture/validate.cpp - one pass, counted by data set.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/validate.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace sluice::scenario {

using loader::mixture::Mixture;
using loader::mixture::MixtureBatch;
using loader::mixture::MixtureOptions;
using loader::mixture::SourceSpec;
using results::MixtureValidation;
using results::ValidationRow;

namespace {

ValidationRow row_of(const SourceSpec& source) {
  ValidationRow row;
  row.name = source.name;
  row.type = source.type;
  row.split = source.split;
  row.episodes = source.dataset->episodes;
  return row;
}

MixtureOptions validation_options(MixtureOptions options) {
  options.one_pass = true;
  options.shuffle_episodes = options.shuffle_pairs = false;
  options.metadata = loader::mixture::Metadata::full;
  options.prime = 0;
  return options;
}

}  // namespace

Result<MixtureValidation> validate_mixture(const MixtureSpec& spec,
                                           const std::function<bool()>& interrupted) {
  MixtureSpec own = spec;
  own.split.clear();  // that is the split of training
  SLUICE_TRY(auto sources, open_sources(own, loader::mixture::PresetPart::validation));
  MixtureValidation out;
  std::vector<ValidationRow> empty;
  for (const SourceSpec& source : sources)
    if (source.dataset->episodes == 0 && source.weight > 0) empty.push_back(row_of(source));
  std::erase_if(sources, [](const SourceSpec& source) { return source.dataset->episodes == 0; });
  if (sources.empty())
    return Error{Errc::invalid_input, "no data set has an episode in its validation split"};
  const auto start = std::chrono::steady_clock::now();
  SLUICE_TRY(const auto mixture,
             Mixture::open(std::move(sources), validation_options(spec.options)));
  std::vector<std::set<std::string>> seen(mixture->sources().size());
  for (const SourceSpec& source : mixture->sources())
    out.rows.push_back(row_of(source));
  while (true) {
    if (interrupted && interrupted()) return Error{Errc::interrupted, "interrupted"};
    SLUICE_TRY(const MixtureBatch* batch, mixture->next());
    if (batch == nullptr) break;
    ++out.batches;
    out.samples += static_cast<std::uint64_t>(batch->size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch->size); ++i) {
      const std::uint32_t source = batch->source[i];
      ++out.rows[source].samples;
      seen[source].insert(batch->full.episode_id[i]);
      if (batch->full.language[i].empty()) ++out.rows[source].without_language;
    }
  }
  out.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto stats = mixture->stats();
  out.whole = true;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    ValidationRow& row = out.rows[i];
    row.seen = seen[i].size();
    row.too_short = stats.sources[i].too_short;
    row.bad = stats.sources[i].bad_records + stats.sources[i].bad_images;
    out.whole = out.whole && row.bad == 0 && row.seen + row.too_short == row.episodes;
  }
  out.rows.insert(out.rows.end(), empty.begin(), empty.end());
  return out;
}

}  // namespace sluice::scenario
