// sluice/plan/run_config_check.cpp - which keys go together, and what those left out come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/run_config_check.h"

#include "sluice/core/text.h"
#include "sluice/plan/policy.h"
#include "sluice/plan/recipes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::plan {
namespace {

/// Reports the first name that is there twice.
bool has_duplicates(const std::vector<std::string>& names, std::string_view key,
                    config::Reader& reader) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    reader.fail(key, fmt::format("'{}' is named twice", printable(name)));
    return true;
  }
  return false;
}

/// "; nearest: 'x'", or every accepted name.
std::string hint(std::string_view name, const std::vector<std::string>& accepted) {
  const auto near = nearest(name, accepted);
  return near ? fmt::format("nearest: '{}'; available: {}", *near, join(accepted))
              : "available: " + join(accepted);
}

const MatrixScenario* resolve_scenario(RunConfig& run, Sections& sections) {
  Selection& selection = run.selection;
  if (!selection.scenario) {
    if (selection.transform_set)
      sections.selection.fail("transform_set", "needs selection.scenario");
    const bool nine = selection.multichannel || run.data.num_channels.value_or(3) == 9;
    if (selection.media == Media::video) {
      if (selection.multichannel)
        sections.selection.fail("multichannel", "is for images; selection.media is video");
      selection.scenario = selection.mode == Mode::decode ? "video-decode-16f" : "video-16f";
    } else {
      selection.scenario = nine ? "image-9ch" : "image-rgb";
    }
  }
  const MatrixScenario* scenario = find_scenario(*selection.scenario);
  if (sections.selection.has("media") && selection.media != scenario->media) {
    sections.selection.fail("media",
                            fmt::format("{} is not the {} of {}", to_string(selection.media),
                                        to_string(scenario->media), scenario->name));
  }
  selection.media = scenario->media;
  if (selection.multichannel && scenario->channels == 3) {
    sections.selection.fail("multichannel",
                            fmt::format("{} has 3 channels; image-9ch has 9", scenario->name));
  }
  selection.multichannel = scenario->channels != 3;
  return scenario;
}

void resolve_mode(RunConfig& run, const MatrixScenario& scenario, Sections& sections) {
  if (!run.selection.mode) run.selection.mode = scenario.default_mode;
  if (has_mode(scenario, run.mode())) return;
  std::vector<std::string> names;
  for (const Mode mode : scenario.modes)
    names.emplace_back(to_string(mode));
  sections.selection.fail("mode", fmt::format("{} has no {} mode; it has {}", scenario.name,
                                              to_string(run.mode()), join(names)));
  run.selection.mode = scenario.default_mode;
}

void resolve_data(RunConfig& run, const MatrixScenario& scenario, Sections& sections) {
  Data& data = run.data;
  const auto fixed = [&](const char* key, std::optional<std::int64_t>& value, int expected) {
    if (value && *value != expected) {
      sections.data.fail(key,
                         fmt::format("{} is not the {} of {}", *value, expected, scenario.name));
    }
    value = expected;
  };
  if (data.num_channels && *data.num_channels % 3 != 0) {
    sections.data.fail("num_channels",
                       fmt::format("{} is not a multiple of 3", *data.num_channels));
  } else {
    fixed("num_channels", data.num_channels, scenario.channels);
  }
  if (scenario.media == Media::video) {
    fixed("clip_length", data.clip_length, scenario.clip_length);
  } else if (data.clip_length) {
    sections.data.fail("clip_length", fmt::format("{} has no clips", scenario.name));
  }
  if (data.data_dir && data.generated)
    sections.data.fail("generated", "true, but data.data_dir names a folder; give one of both");
  if (!data.data_dir && !data.gcs_uri && !data.remote_data_dir) data.generated = true;
  if (!data.num_items && run.mode() != Mode::pipeline)
    data.num_items = media_policy(scenario.media).num_items;
}

/// Devices and scopes of one library of the matrix.
void check_library(const RunConfig& run, const Support& support, const char* key,
                   Sections& sections) {
  const std::string where = fmt::format("{} {}", support.scenario, to_string(support.mode));
  const std::string& device = run.execution.device;
  if (!runs_on(support, device, run.execution.pipeline_scope)) {
    std::vector<std::string> devices(support.devices.begin(), support.devices.end());
    sections.execution.fail("device", fmt::format("{} is not accepted for {} in {}; accepted: {}",
                                                  device, support.library, where, join(devices)));
  }
  if (run.mode() == Mode::pipeline && !has_scope(support, run.execution.pipeline_scope)) {
    std::vector<std::string> scopes;
    for (const Scope scope : support.scopes)
      scopes.emplace_back(to_string(scope));
    sections.selection.fail(
        key, fmt::format("{} has no {} in {}; it has {}", support.library,
                         to_string(run.execution.pipeline_scope), where, join(scopes)));
  }
}

void check_names(const RunConfig& run, const std::vector<std::string>& names, const char* key,
                 Sections& sections) {
  if (has_duplicates(names, key, sections.selection)) return;
  const auto available = library_names(*run.selection.scenario, run.mode());
  for (const std::string& name : names) {
    const Support* support = find_support(*run.selection.scenario, run.mode(), name);
    if (support != nullptr) {
      check_library(run, *support, key, sections);
    } else {
      sections.selection.fail(
          key, fmt::format("'{}' is not in {} {}; {}", printable(name), *run.selection.scenario,
                           to_string(run.mode()), hint(name, available)));
    }
  }
}

void resolve_libraries(RunConfig& run, Sections& sections) {
  Selection& selection = run.selection;
  const bool decode = run.mode() == Mode::decode;
  if (!decode && selection.decoders) {
    sections.selection.fail(
        "decoders", fmt::format("{} mode has no decoders; use libraries", to_string(run.mode())));
  }
  if (decode && selection.decoders && selection.libraries)
    sections.selection.fail("libraries", "in decode mode they are the decoders; give one of both");
  auto& chosen = decode ? selection.decoders : selection.libraries;
  const char* key = decode && selection.decoders ? "decoders" : "libraries";
  if (decode && !chosen) chosen = selection.libraries;
  if (decode) selection.libraries.reset();
  for (const Peer& peer : selection.peers) {
    if (find_support(*selection.scenario, run.mode(), peer.name) != nullptr)
      sections.selection.fail("peers", fmt::format("'{}' is a library already", peer.name));
    if (chosen) std::erase(*chosen, peer.name);  // naming a peer among them is no error
  }
  if (!chosen) {
    chosen = default_libraries(*selection.scenario, run.mode(), run.execution.device,
                               run.execution.pipeline_scope);
  }
  check_names(run, *chosen, key, sections);
}

/// The transform that `name` stands for; in pipeline mode the name of a recipe is one too.
std::string transform_of(const std::string& name, Mode mode) {
  if (mode != Mode::pipeline) return name;
  return recipe_transform(name).value_or(name);
}

std::vector<std::string> transforms_of(const MatrixScenario& scenario, Mode mode) {
  std::vector<std::string> names = transform_names(*scenario.set);
  if (mode == Mode::pipeline)
    std::erase_if(names,
                  [](const std::string& name) { return !has_recipe(*find_transform(name)); });
  return names;
}

void resolve_transforms(RunConfig& run, const MatrixScenario& scenario, Sections& sections) {
  auto& chosen = run.selection.transforms;
  if (run.mode() == Mode::decode) {
    if (chosen || run.selection.transform_set)
      run.notes.emplace_back("decode mode has no transforms: those named are left out");
    chosen.reset();
    run.selection.transform_set.reset();
    return;
  }
  const std::vector<std::string> available = transforms_of(scenario, run.mode());
  if (!chosen) {
    chosen = available;
    return;
  }
  for (std::string& name : *chosen) {
    name = transform_of(name, run.mode());
    if (std::find(available.begin(), available.end(), name) != available.end()) continue;
    const auto near = nearest(name, available);
    sections.selection.fail("transforms",
                            fmt::format("'{}' is not one of the {} of {} {}{}", printable(name),
                                        available.size(), scenario.name, to_string(run.mode()),
                                        near ? fmt::format("; nearest: '{}'", *near)
                                             : "; `sluice docs transforms` lists them"));
  }
  has_duplicates(*chosen, "transforms", sections.selection);
}

void check_execution(RunConfig& run, Sections& sections) {
  Execution& execution = run.execution;
  const Mode mode = run.mode();
  if (mode != Mode::pipeline && execution.workers != 0) {
    sections.execution.fail(
        "workers", fmt::format("must be 0 in {} mode, is {}", to_string(mode), execution.workers));
  }
  if (mode == Mode::micro && execution.thread_policy.value_or("micro-single") != "micro-single") {
    sections.execution.fail(
        "thread_policy",
        fmt::format("micro mode always runs under micro-single, not {}", *execution.thread_policy));
  }
  if (!execution.thread_policy)
    execution.thread_policy = mode == Mode::pipeline ? "pipeline-default" : "micro-single";
  const bool copies = mode == Mode::pipeline &&
                      execution.pipeline_scope == Scope::decode_dataloader_augment_batch_copy;
  if (execution.copy_to && !copies)
    sections.execution.fail("copy_to",
                            fmt::format("copies batches in the scope {} of pipeline "
                                        "mode only",
                                        to_string(Scope::decode_dataloader_augment_batch_copy)));
  if (copies && !execution.copy_to) execution.copy_to = "cuda";
}

void check_cloud(const RunConfig& run, Sections& sections) {
  if (!run.on_cloud()) return;
  if (!run.cloud.project) sections.cloud.fail("project", "needed with cloud.provider");
  const char* how = run.cloud.attached ? "an attached" : "a detached";
  if (run.cloud.attached && !run.data.remote_data_dir && !run.data.gcs_uri)
    sections.data.fail("remote_data_dir", "needed for an attached cloud run, or data.gcs_uri");
  if (!run.cloud.attached && !run.data.gcs_uri)
    sections.data.fail("gcs_uri", "needed for a detached cloud run");
  if (!run.output.gcs_results_uri)  // what the machine is given, and what it measured, lies there
    sections.output.fail("gcs_results_uri", fmt::format("needed for {} cloud run", how));
}

/// A type of nodes is a part of a script, and a folder beside those of every run.
bool is_node_type(std::string_view name) {
  static const std::set<std::string_view> kTaken = {"done", "inputs", "logs", "results", "tasks"};
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 63 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), plain) && kTaken.count(name) == 0;
}

/// What becomes a line of a script is one line there, too.
bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

}  // namespace

void check_cluster(const RunConfig& run, Sections& sections) {
  for (const std::string& name : run.cluster.node_types) {
    if (!is_node_type(name)) {
      sections.cluster.fail("node_types",
                            fmt::format("'{}' is no name of a node type: letters, digits, '.', '_' "
                                        "and '-' are, but not done, inputs, logs, results, tasks",
                                        printable(name)));
      break;
    }
  }
  has_duplicates(run.cluster.node_types, "node_types", sections.cluster);
  const auto word = [](const char* key, const std::optional<std::string>& value,
                       config::Reader& reader) {
    if (value && (value->empty() || !is_one_line(*value) || value->find(' ') != std::string::npos))
      reader.fail(key, fmt::format("'{}' is no single word", printable(*value)));
  };
  word("partition", run.slurm.partition, sections.slurm);
  word("account", run.slurm.account, sections.slurm);
  word("qos", run.slurm.qos, sections.slurm);
  word("image", run.k8s.image, sections.k8s);
  word("claim", run.k8s.claim, sections.k8s);
  for (const std::string& line : run.slurm.setup)
    if (!is_one_line(line)) sections.slurm.fail("setup", "one shell line each");
  for (const std::string& option : run.slurm.options) {
    if (option.starts_with("--") && is_one_line(option)) continue;
    sections.slurm.fail(
        "options", fmt::format("'{}' is no option of sbatch: --NAME=VALUE", printable(option)));
  }
}

void check_and_resolve(RunConfig& run, Sections& sections) {
  const MatrixScenario& scenario = *resolve_scenario(run, sections);
  resolve_mode(run, scenario, sections);
  resolve_data(run, scenario, sections);
  resolve_libraries(run, sections);
  resolve_transforms(run, scenario, sections);
  check_execution(run, sections);
  check_cloud(run, sections);
  check_cluster(run, sections);
}

}  // namespace sluice::plan
