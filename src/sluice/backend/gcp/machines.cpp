// sluice/backend/gcp/machines.cpp - families and shapes, one line each.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/machines.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <vector>

namespace sluice::backend::gcp {
namespace {

constexpr std::int64_t kC4dPipelineItems = 1000;

/// The machine plan: what each family measures.
struct Family {
  std::string_view name;
  bool gpu;             // brings one: GPU rows only
  bool hyperdisk;       // cannot boot from any other disk
  bool rgb_micro_only;  // and a short DataLoader
};
constexpr std::array kFamilies = {
    Family{"c4", false, true, false},    // all CPU tables
    Family{"c4d", false, true, true},    // AMD: RGB micro, for comparison
    Family{"g2", true, false, false},    // L4: all GPU rows
    Family{"a2", true, false, false},    // A100
    Family{"a3", true, false, false},    // H100
    Family{"a4", true, true, false},     // B200
    Family{"n1", false, false, false},   // with cloud.gpu_type also GPU rows
    Family{"n2", false, false, false},   //
    Family{"n2d", false, false, false},  //
    Family{"c3", false, false, false},   //
    Family{"e2", false, false, false},   //
};

/// Machines whose name does not say what they have.
struct GpuShape {
  std::string_view type;
  int vcpus, gpus;
};
constexpr std::array kGpuShapes = {
    GpuShape{"g2-standard-4", 4, 1},   GpuShape{"g2-standard-8", 8, 1},
    GpuShape{"g2-standard-12", 12, 1}, GpuShape{"g2-standard-16", 16, 1},
    GpuShape{"g2-standard-24", 24, 2}, GpuShape{"g2-standard-32", 32, 1},
    GpuShape{"g2-standard-48", 48, 4}, GpuShape{"g2-standard-96", 96, 8},
    GpuShape{"a2-highgpu-1g", 12, 1},  GpuShape{"a2-highgpu-2g", 24, 2},
    GpuShape{"a2-highgpu-4g", 48, 4},  GpuShape{"a2-highgpu-8g", 96, 8},
    GpuShape{"a2-ultragpu-1g", 12, 1}, GpuShape{"a3-highgpu-1g", 26, 1},
    GpuShape{"a3-highgpu-2g", 52, 2},  GpuShape{"a3-highgpu-4g", 104, 4},
    GpuShape{"a3-highgpu-8g", 208, 8}, GpuShape{"a4-highgpu-8g", 224, 8},
};

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string family_names() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies)
    names.emplace_back(family.name);
  return join(names);
}

const Family* find_family(std::string_view name) {
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [&](const Family& family) { return family.name == name; });
  return found == kFamilies.end() ? nullptr : &*found;
}

Error unknown_machine(const std::string& type, const std::string& accepted) {
  return usage_error(fmt::format("cloud.machine_type '{}': is not known; accepted: {}",
                                 printable(type), accepted));
}

}  // namespace

Result<Quota> parse_quota(std::string_view text) {
  Quota quota;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const auto value = equals == std::string::npos
                           ? std::nullopt
                           : whole_number(std::string_view(part).substr(equals + 1));
    if (value && key == "vcpus") {
      quota.vcpus = *value;
    } else if (value && key == "c4_vcpus") {
      quota.c4_vcpus = *value;
    } else if (value && key == "gpus") {
      quota.gpus = *value;
    } else if (value && key == "disk_gb") {
      quota.disk_gb = *value;
    } else {
      return usage_error(
          fmt::format("--quota '{}': expected vcpus=N, c4_vcpus=N, gpus=N or "
                      "disk_gb=N, separated by commas",
                      printable(part)));
    }
  }
  return quota;
}

std::string to_text(const Quota& quota) {
  return fmt::format("{} vCPU, {} of C4, {} GPU, {} GB Hyperdisk", quota.vcpus, quota.c4_vcpus,
                     quota.gpus, quota.disk_gb);
}

Result<Shape> shape_of(const plan::Cloud& cloud) {
  const std::string& type = cloud.machine_type;
  const std::vector<std::string> parts = split(type, '-');
  const Family* family = parts.empty() ? nullptr : find_family(parts[0]);
  if (family == nullptr) return unknown_machine(type, "machines of " + family_names());
  Shape shape{std::string(family->name), 0, 0, family->hyperdisk};
  if (family->gpu) {
    std::vector<std::string> known;
    for (const GpuShape& one : kGpuShapes) {
      if (one.type == type) {
        shape.vcpus = one.vcpus;
        shape.gpus = one.gpus;
        return shape;
      }
      if (one.type.substr(0, one.type.find('-')) == family->name) known.emplace_back(one.type);
    }
    return unknown_machine(type, join(known));
  }
  const auto vcpus = parts.size() >= 3 ? whole_number(parts[2]) : std::nullopt;
  if (!vcpus || *vcpus == 0)
    return unknown_machine(type, fmt::format("a type such as {}-standard-16", family->name));
  shape.vcpus = *vcpus;
  if (cloud.gpu_type && family->name != "n1") {
    return usage_error(fmt::format("cloud.gpu_type '{}': {} takes no GPU; n1 does, g2 brings one",
                                   printable(*cloud.gpu_type), printable(type)));
  }
  if (cloud.gpu_type) shape.gpus = 1;
  return shape;
}

bool wants_gpu(const plan::RunConfig& config) {
  return config.execution.device == "cuda" || config.execution.copy_to.has_value();
}

Status check_rows(const plan::RunConfig& config, const Shape& shape) {
  const std::string type = printable(config.cloud.machine_type);
  if (wants_gpu(config) && shape.gpus == 0) {
    return usage_error(
        fmt::format("cloud.machine_type {}: has no GPU, and execution.device asks "
                    "for one; g2-standard-16, or device none, is accepted",
                    type));
  }
  const bool host_rows = !wants_gpu(config) && config.execution.device == "none";
  if (host_rows && shape.gpus > 0 && !config.execution.host_rows_on_gpu_machine) {
    return usage_error(
        fmt::format("cloud.machine_type {}: has a GPU, and execution.device is none; rows of the "
                    "CPU belong on c4-standard-16, or set execution.host_rows_on_gpu_machine",
                    type));
  }
  const Family* family = find_family(shape.family);
  if (family == nullptr || !family->rgb_micro_only) return ok;
  const bool rgb = config.scenario().name == "image-rgb";
  const bool micro = config.mode() == plan::Mode::micro;
  const bool short_loader = config.mode() == plan::Mode::pipeline && config.data.num_items &&
                            *config.data.num_items <= kC4dPipelineItems;
  if (rgb && (micro || short_loader)) return ok;
  return usage_error(
      fmt::format("cloud.machine_type {}: C4D measures image-rgb, in micro mode or with a "
                  "DataLoader of at most {} items, not {} {}",
                  type, kC4dPipelineItems, config.scenario().name, plan::to_string(config.mode())));
}

}  // namespace sluice::backend::gcp
