// sluice/plan/matrix.cpp - the table of scenarios and the support matrix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/matrix.h"

#include <algorithm>

namespace sluice::plan {
namespace {

using Devices = std::vector<std::string_view>;
using Scopes = std::vector<Scope>;

const Devices& host() {
  static const Devices devices = {"none"};
  return devices;
}
const Devices& any_device() {
  static const Devices devices = {"none", "cuda", "auto"};
  return devices;
}
const Devices& nvidia() {
  static const Devices devices = {"cuda", "auto"};
  return devices;
}
const Scopes& all_scopes() {
  static const Scopes scopes = {Scope::memory_dataloader_augment, Scope::decode_dataloader_augment,
                                Scope::decode_dataloader_augment_batch_copy};
  return scopes;
}
const Scopes& decode_scope() {
  static const Scopes scopes = {Scope::decode_dataloader_augment};
  return scopes;
}

void add_micro(std::vector<Support>& table, const MatrixScenario& scenario) {
  const auto row = [&](std::string_view library, const Devices& devices, std::string_view group,
                       Backend backend) -> Support& {
    return table.emplace_back(
        Support{scenario.name, Mode::micro, library, devices, {}, group, backend});
  };
  const bool video = scenario.media == Media::video;
  row("sluice", host(), "", Backend::native).host_fallback = video;
  row("albumentationsx", host(), "albumentationsx", Backend::python).host_fallback = video;
  Support& latest = row("albumentationsx-latest", host(), "latest", Backend::python);
  latest.named_only = true;
  latest.host_fallback = video;
  row("torchvision", any_device(), "torch", Backend::python);
  row("kornia", any_device(), "torch", Backend::python);
  if (scenario.name == "image-rgb") row("pillow", host(), "light", Backend::python);
  if (!video) row("opencv", host(), "", Backend::native);
  if (scenario.name != "image-rgb") return;
  row("pillow-array", host(), "light", Backend::python).named_only = true;
  for (const std::string_view rival : {"kornia-rs", "pyvips", "cykooz-resizer"})
    row(rival, host(), "rivals", Backend::python).named_only = true;
  row("pillow-simd", host(), "pillow-simd", Backend::python).named_only = true;
}

void add_pipeline(std::vector<Support>& table, const MatrixScenario& scenario) {
  const bool video = scenario.media == Media::video;
  const auto row = [&](std::string_view library, const Devices& devices, const Scopes& scopes,
                       std::string_view group, Backend backend) -> Support& {
    return table.emplace_back(
        Support{scenario.name, Mode::pipeline, library, devices, scopes, group, backend});
  };
  row("sluice", host(), all_scopes(), "", Backend::native).host_fallback = video;
  row("albumentationsx", host(), all_scopes(), "torch", Backend::dataloader).host_fallback = video;
  row("torchvision", any_device(), all_scopes(), "torch", Backend::dataloader);
  row("kornia", any_device(), all_scopes(), "torch", Backend::dataloader);
  if (scenario.name == "image-rgb")
    row("pillow", host(), all_scopes(), "torch", Backend::dataloader);
  if (scenario.channels == 3)
    row("dali", nvidia(), decode_scope(), "dali", Backend::dali).optional = true;
}

void add_decode(std::vector<Support>& table, const MatrixScenario& scenario) {
  table.push_back({scenario.name, Mode::decode, "sluice", host(), {}, "", Backend::native});
  for (const std::string_view decoder : {"opencv", "pyav", "torchvision", "torchcodec"}) {
    table.push_back({scenario.name, Mode::decode, decoder, host(), {}, "torch", Backend::decoder});
  }
}

std::vector<Support> make_matrix() {
  std::vector<Support> table;
  for (const MatrixScenario& scenario : scenarios()) {
    if (has_mode(scenario, Mode::micro)) add_micro(table, scenario);
    if (has_mode(scenario, Mode::pipeline)) add_pipeline(table, scenario);
    if (has_mode(scenario, Mode::decode)) add_decode(table, scenario);
  }
  return table;
}

}  // namespace

const std::vector<MatrixScenario>& scenarios() {
  static const std::vector<Mode> both = {Mode::micro, Mode::pipeline};
  static const std::vector<MatrixScenario> table = {
      {"image-rgb", Media::image, 3, 1, both, Mode::micro, TransformSet::rgb},
      {"image-9ch", Media::image, 9, 1, both, Mode::micro, TransformSet::nine_channel},
      {"video-16f", Media::video, 3, 16, both, Mode::micro, TransformSet::video},
      {"video-decode-16f", Media::video, 3, 16, {Mode::decode}, Mode::decode, std::nullopt},
  };
  return table;
}

const MatrixScenario* find_scenario(std::string_view name) {
  for (const MatrixScenario& scenario : scenarios()) {
    if (scenario.name == name) return &scenario;
  }
  return nullptr;
}

const std::vector<Support>& matrix() {
  static const std::vector<Support> table = make_matrix();
  return table;
}

const Support* find_support(std::string_view scenario, Mode mode, std::string_view library) {
  for (const Support& support : matrix()) {
    if (support.scenario == scenario && support.mode == mode && support.library == library)
      return &support;
  }
  return nullptr;
}

std::vector<std::string> library_names(std::string_view scenario, Mode mode) {
  std::vector<std::string> names;
  for (const Support& support : matrix()) {
    if (support.scenario == scenario && support.mode == mode) names.emplace_back(support.library);
  }
  return names;
}

bool runs_on(const Support& support, std::string_view device, Scope scope) {
  if (has_device(support, device) || support.host_fallback) return true;
  return support.mode == Mode::pipeline && has_device(support, "none") &&
         scope == Scope::decode_dataloader_augment_batch_copy;
}

std::vector<std::string> default_libraries(std::string_view scenario, Mode mode,
                                           std::string_view device, Scope scope) {
  std::vector<std::string> names;
  for (const Support& support : matrix()) {
    if (support.scenario != scenario || support.mode != mode || support.named_only) continue;
    if (!runs_on(support, device, scope)) continue;
    if (mode == Mode::pipeline && !has_scope(support, scope)) continue;
    names.emplace_back(support.library);
  }
  return names;
}

std::vector<std::string> row_libraries(const Support& support) {
  if (support.library == "opencv" && support.mode == Mode::micro) return {"opencv", "opencv-wheel"};
  return {std::string(support.library)};
}

bool has_mode(const MatrixScenario& scenario, Mode mode) {
  return std::find(scenario.modes.begin(), scenario.modes.end(), mode) != scenario.modes.end();
}
bool has_scope(const Support& support, Scope scope) {
  return std::find(support.scopes.begin(), support.scopes.end(), scope) != support.scopes.end();
}
bool has_device(const Support& support, std::string_view device) {
  return std::find(support.devices.begin(), support.devices.end(), device) != support.devices.end();
}

const char* to_string(Mode mode) {
  return mode == Mode::micro ? "micro" : mode == Mode::pipeline ? "pipeline" : "decode";
}
const char* to_string(Media media) {
  return media == Media::image ? "image" : "video";
}
const char* to_string(Scope scope) {
  switch (scope) {
    case Scope::memory_dataloader_augment:
      return "memory_dataloader_augment";
    case Scope::decode_dataloader_augment:
      return "decode_dataloader_augment";
    case Scope::decode_dataloader_augment_batch_copy:
      return "decode_dataloader_augment_batch_copy";
  }
  return "?";
}
const char* to_string(Backend backend) {
  switch (backend) {
    case Backend::native:
      return "native";
    case Backend::python:
      return "python";
    case Backend::dataloader:
      return "dataloader";
    case Backend::dali:
      return "dali";
    case Backend::decoder:
      return "decoder";
  }
  return "?";
}

Json matrix_json() {
  Json list = Json::array();
  for (const Support& support : matrix()) {
    Json scopes = Json::array();
    for (const Scope scope : support.scopes)
      scopes.push_back(to_string(scope));
    list.push_back({{"scenario", support.scenario},
                    {"mode", to_string(support.mode)},
                    {"library", support.library},
                    {"rows", row_libraries(support)},
                    {"devices", support.devices},
                    {"scopes", std::move(scopes)},
                    {"group", support.group},
                    {"backend", to_string(support.backend)},
                    {"optional", support.optional},
                    {"named_only", support.named_only}});
  }
  return list;
}

}  // namespace sluice::plan
