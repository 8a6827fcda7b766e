// sluice/scenario/registry.cpp - the list of scenarios.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/scenario/micro/micro.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/spin.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::scenario {
namespace {

/// Rows of the matrix that later versions will have.
Result<std::unique_ptr<measure::Subject>> missing_yet(const measure::SubjectContext& context) {
  const std::string& name = context.case_name;
  return Error{Errc::unsupported,
               fmt::format("sluice has no '{}' yet", printable(name.substr(name.find('/') + 1)))};
}

}  // namespace

const std::vector<Scenario>& all() {
  static const std::vector<Scenario> scenarios = [] {
    std::vector<Scenario> list = canary();
    for (Scenario& scenario : std::vector<Scenario>{decode_jpeg(), decode_jpeg_progressive(),
                                                    decode_png(), decode_webp(), decode_video(),
                                                    resize(), normalise(), pipeline(), empty()}) {
      list.push_back(scenario);
    }
    for (std::vector<Scenario> more : {train_crop(), loader_rows()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return scenarios;
}

measure::Catalogue catalogue() {
  measure::Catalogue catalogue{"sluice", version::kProgram, {}};
  for (const Scenario& scenario : all())
    catalogue.scenarios[scenario.name] = scenario.make;
  add_micro(catalogue, micro_transforms(), make_micro_op);
  for (const char* prefix : {"image-rgb/", "image-9ch/", "video-16f/", "video-decode-16f/"})
    catalogue.prefixes[prefix] = missing_yet;
  add_recipe_rows(catalogue);
  catalogue.scenarios["loader/raw"] = make_loader;
  catalogue.scenarios["loader/clip16-antialias"] = make_loader;
  for (const char* prefix : {"training/", "end-to-end/"})
    catalogue.prefixes[prefix] = make_training;
  catalogue.prefixes["mixture/"] = make_mixture;
  for (const char* part : {"loader", "model", "transfer", "together", "before", "advised"})
    catalogue.scenarios[std::string("diagnose/") + part] = make_diagnose;
  catalogue.scenarios["video-decode-16f/decode/clip"] = make_video_decode;
  catalogue.scenarios[kSpinCase] = make_spin;
  catalogue.scenarios["allreduce/sum"] = make_allreduce;
  add_storage_reads(catalogue);
  return catalogue;
}

std::vector<measure::SubjectSpec> plan(const std::vector<Kind>& kinds,
                                       const std::vector<std::string>& worker,
                                       const std::filesystem::path& data_dir, unsigned cores) {
  std::vector<measure::SubjectSpec> specs;
  for (const Scenario& scenario : all()) {
    if (std::find(kinds.begin(), kinds.end(), scenario.kind) == kinds.end()) continue;
    std::vector<measure::Axis> axes;
    if (scenario.threads_axis) {
      axes.push_back({"threads", {"1"}});
      if (cores > 1) axes.back().values.push_back(std::to_string(cores));
    }
    for (const measure::State& state : measure::expand(axes)) {
      measure::SubjectSpec spec;
      spec.case_name = measure::case_name(scenario.name, state);
      spec.params = state.values;
      spec.command = worker;
      spec.threads = state.values.count("threads") > 0 ? std::stoi(state.values.at("threads")) : 1;
      spec.data_dir = data_dir;
      spec.unit = scenario.unit;
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace sluice::scenario
