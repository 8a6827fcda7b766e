// sluice/results/sections.cpp - which conclusions a result file holds.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/sections.h"

#include <algorithm>

namespace sluice::results {
namespace {

/// A kind of which a file has one or none; `there`: a key that only it has was read. Its keys stand
/// in all sections, or in one.
template <class Place, class Kind>
void keys_of_kind(Place& place, bool there, std::optional<Kind>& kind) {
  if (!place.writing() && there) kind.emplace();
  if (kind) keys_of(place, *kind);
}

constexpr const char* kSections[] = {"metrics", "verdict", "summary"};
constexpr Keys Sections::*kMembers[] = {&Sections::metrics, &Sections::verdict, &Sections::summary};

}  // namespace

void keys_of(Sections& sections, ResultFile& file) {
  Keys& metrics = sections.metrics;
  const Keys& summary = sections.summary;
  const auto any = [&](std::initializer_list<const char*> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return summary.has(key); });
  };
  keys_of_kind(sections, metrics.has("load_time_per_batch_ms"), file.loader);
  keys_of_kind(metrics, metrics.has("timing"), file.training);
  keys_of_kind(sections, summary.has("libraries"), file.training_summary);
  keys_of_kind(metrics, metrics.has("measured_batches"), file.mixture);
  keys_of_kind(sections, summary.has("runs"), file.mixture_summary);
  keys_of_kind(sections, summary.has("storage"), file.storage);
  keys_of_kind(sections, summary.has("allreduce"), file.allreduce);
  keys_of_kind(sections, summary.has("tune"), file.tune);
  keys_of_kind(sections,
               any({"device", "published", "labels", "skipped_files", "not_colour_files"}),
               file.matrix);
  keys_of_kind(sections, summary.has("versus"), file.versus);
  keys_of_kind(sections, summary.has("attribution"), file.diagnosis);
  keys_of_kind(sections, any({"found", "peers_reason"}), file.tour);
  sections.summary.unless_empty("peer_ratios", file.peer_ratios);
  sections.summary("resources", file.resources);
  for (std::size_t i = 0; i < std::size(kSections); ++i) {
    Json rest = at(file.extra, kSections[i]);
    (sections.*kMembers[i]).rest(rest);
    if (!sections.writing() && !rest.empty()) file.extra[kSections[i]] = std::move(rest);
  }
}

void write_sections(Json& json, const ResultFile& file) {
  Json out[] = {Json::object(), Json::object(), Json::object()};
  Sections sections{Keys(out[0]), Keys(out[1]), Keys(out[2])};
  keys_of(sections, const_cast<ResultFile&>(file));  // writing changes nothing
  for (std::size_t i = 0; i < std::size(kSections); ++i)
    if (!out[i].empty()) json[kSections[i]] = std::move(out[i]);
}

void read_sections(const Json& json, Problem& problem, ResultFile& file) {
  const Where root;
  const auto keys = [&](const char* name, const Where& where) {
    const Json& section = at(json, name);
    if (!section.is_null() && !section.is_object()) problem.wrong(where, "an object", section);
    return Keys(section, where, problem);
  };
  const Where places[] = {
      {&root, kSections[0], -1}, {&root, kSections[1], -1}, {&root, kSections[2], -1}};
  Sections sections{keys(kSections[0], places[0]), keys(kSections[1], places[1]),
                    keys(kSections[2], places[2])};
  keys_of(sections, file);
}

}  // namespace sluice::results
