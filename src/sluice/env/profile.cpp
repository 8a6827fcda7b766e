// sluice/env/profile.cpp - the machine profile from an Environment.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/profile.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <vector>

namespace sluice::env {
namespace {

constexpr const char* kUnknown = "na";

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128;
}

// File names are made from profiles: anything else becomes '-'.
std::string safe(std::string text) {
  for (char& c : text) {
    if (!is_alnum(c) && c != '.' && c != '_' && c != '-') c = '-';
  }
  return text;
}

template <class T>
std::string or_unknown(const Known<T>& fact) {
  return fact ? fmt::format("{}", *fact) : kUnknown;
}

// "2.4" of "2.4.1+cu124"; "2" of "2".
std::string major_minor(std::string_view version) {
  std::string out;
  bool dot = false;
  for (const char c : version) {
    if (c == '.' && !dot && !out.empty()) {
      dot = true;
    } else if (c < '0' || c > '9') {
      break;
    }
    out += c;
  }
  if (out.ends_with('.')) out.pop_back();
  return out.empty() ? kUnknown : out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result(1);
  for (const char c : text) {
    if (is_alnum(c)) {
      result.back() += c;
    } else if (!result.back().empty()) {
      result.emplace_back();
    }
  }
  if (result.back().empty()) result.pop_back();
  return result;
}

bool is_memory_size(const std::string& word) {
  const auto letters = word.find_first_not_of("0123456789");
  return letters != 0 && letters != std::string::npos &&
         (word.substr(letters) == "GB" || word.substr(letters) == "G");
}

std::string gpu_profile(const std::vector<const Gpu*>& gpus, const Gpus& all,
                        const ProfileOptions& options) {
  std::map<std::string, int> models;  // sorted, so that the order of the slots does not matter
  std::set<std::string> capabilities;
  for (const Gpu* gpu : gpus) {
    std::string name = gpu->name ? short_gpu_name(*gpu->name) : "GPU";
    if (gpu->mig.value_or(false)) name += "MIG";  // a slice is another machine
    ++models[name];
    std::string capability = or_unknown(gpu->compute_capability);
    capability.erase(std::remove(capability.begin(), capability.end(), '.'), capability.end());
    capabilities.insert(capability);
  }
  std::vector<std::string> counted;
  for (const auto& [name, count] : models)
    counted.push_back(fmt::format("{}x{}", name, count));
  const std::string driver = all.driver_version.value_or("");
  const std::string driver_major = driver.substr(0, driver.find('.'));
  return fmt::format("{}_driver{}_cuda{}_{}_sm{}", join(counted, "-"),
                     driver_major.empty() ? kUnknown : driver_major,
                     major_minor(options.cuda_version.value_or(all.cuda_version.value_or(""))),
                     options.framework, join({capabilities.begin(), capabilities.end()}, "-"));
}

std::string cpu_profile(const Environment& environment, const std::string& framework) {
  const Cpu& cpu = environment.cpu;
  std::string identity;
  if (cpu.architecture.value_or("") == "aarch64") {
    identity = fmt::format("{}.{}.r{}p{}", or_unknown(cpu.implementer), or_unknown(cpu.part),
                           or_unknown(cpu.variant), or_unknown(cpu.revision));
  } else {
    identity = fmt::format("{}.{}.{}", or_unknown(cpu.family), or_unknown(cpu.model),
                           or_unknown(cpu.stepping));
  }
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const std::string l3 =
      cpu.l3_bytes ? fmt::format("{}", (*cpu.l3_bytes + kMiB / 2) / kMiB) : kUnknown;
  return fmt::format("cpu-{}-{}-{}-l3{}x{}_{}", cpu.vendor.value_or("other"), identity, cpu.isa, l3,
                     environment.cores.usable, framework);
}

}  // namespace

std::string framework_sluice(int result_schema_version) {
  return fmt::format("sluice{}", result_schema_version);
}

std::string framework_torch(std::string_view version) {
  return "torch" + major_minor(version);
}

std::string short_gpu_name(std::string_view name) {
  constexpr std::size_t kLongest = 20;
  constexpr std::array kBrands = {"NVIDIA", "GeForce",  "Quadro", "Tesla",
                                  "GTX",    "Graphics", "Device"};
  const std::vector<std::string> parts = words(name);
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (std::find(kBrands.begin(), kBrands.end(), part) != kBrands.end()) continue;
    if (part.starts_with("HBM")) continue;
    if (is_memory_size(part)) {
      // Beside HBM it only repeats the model; elsewhere it tells two models apart (A100 40GB,
      // 80GB).
      if (i + 1 < parts.size() && parts[i + 1].starts_with("HBM")) continue;
      out += part.substr(0, part.find('G'));
    } else {
      out += part;
    }
  }
  if (out.size() > kLongest) out.resize(kLongest);
  return out.empty() ? "GPU" : out;
}

std::string machine_profile(const Environment& environment, const ProfileOptions& options) {
  std::vector<const Gpu*> visible;
  for (const Gpu& gpu : environment.gpu.devices) {
    if (gpu.visible) visible.push_back(&gpu);
  }
  if (visible.empty() || options.device == ProfileDevice::cpu) {
    return safe(cpu_profile(environment, options.framework));
  }
  return safe(gpu_profile(visible, environment.gpu, options));
}

}  // namespace sluice::env
