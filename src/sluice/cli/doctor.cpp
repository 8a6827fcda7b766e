// sluice/cli/doctor.cpp - `sluice doctor`: is this machine fit to measure, what is there, what is
// missing and how to get it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/env/collect.h"
#include "sluice/env/noise.h"
#include "sluice/image/video.h"
#include "sluice/peers/environment.h"
#include "sluice/peers/launch.h"
#include "sluice/peers/library.h"
#include "sluice/peers/places.h"
#include "sluice/peers/python.h"
#include "sluice/train/cuda/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kLeastMemory = 2 * kGiB;  // a few workers with torch loaded
constexpr std::int64_t kLeastDisk = 8 * kGiB;    // the torch group is 5.7 GB

enum class Mark { ok, missing, warning };  // missing: optional, so never a warning

const char* to_string(Mark mark) {
  return mark == Mark::ok ? "ok" : mark == Mark::missing ? "missing" : "warning";
}

struct Diagnosis {
  std::string check;
  Mark mark;
  std::string value;
  std::string fix;  // a command or one sentence; empty when there is nothing to do
};
using Diagnoses = std::vector<Diagnosis>;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

void look_at_noise(Diagnoses& found) {
  const env::NoiseReport noise = env::noise_check();
  const bool noisy = noise.verdict == env::NoiseVerdict::noisy;
  found.push_back({"noise", noisy ? Mark::warning : Mark::ok,
                   fmt::format("{} of 100, {}", noise.score, env::to_string(noise.verdict)),
                   noisy ? "numbers from now would not be believed: see the findings" : ""});
  for (const env::Finding& finding : noise.findings) {
    if (finding.severity == env::Severity::info) continue;
    found.push_back({"noise: " + finding.check, Mark::warning, finding.value, finding.advice});
  }
}

void look_at_disk(Diagnoses& found, const char* name, fs::path folder) {
  std::error_code problem;
  while (!fs::exists(folder, problem) && folder.has_relative_path())
    folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, problem);
  if (problem) {
    found.push_back({name, Mark::warning, problem.message(), ""});
    return;
  }
  const auto left = static_cast<std::int64_t>(space.available);
  const bool low = left < kLeastDisk;
  found.push_back({name, low ? Mark::warning : Mark::ok, gib(left) + " free",
                   low ? fmt::format("free some: {} are advisable", gib(kLeastDisk)) : ""});
}

void look_at_machine(Diagnoses& found, const env::Environment& environment) {
  const auto cores = environment.cores.usable;
  found.push_back({"cores", cores < 2 ? Mark::warning : Mark::ok, fmt::format("{} usable", cores),
                   cores < 2 ? "the supervisor and a worker share one core: give it two" : ""});
  if (const auto& memory = environment.memory.available_bytes; memory) {
    const bool low = *memory < kLeastMemory;
    found.push_back(
        {"memory", low ? Mark::warning : Mark::ok, gib(*memory) + " available",
         low ? fmt::format("end other programs: {} are advisable", gib(kLeastMemory)) : ""});
  } else {
    found.push_back({"memory", Mark::warning, "unknown: " + memory.reason, ""});
  }
  if (environment.gpu.devices.empty()) {
    found.push_back({"cuda device", Mark::missing, "none",
                     "rows on a GPU will say so; a driver and a device are needed for them"});
  }
  for (const env::Gpu& gpu : environment.gpu.devices)
    found.push_back({"cuda device", Mark::ok, gpu.name.value_or("unknown name"), ""});
  const auto forms = train::cuda::forms_on(0);
  found.push_back({"cuda kernels", forms ? Mark::ok : Mark::missing, train::cuda::to_text(forms),
                   forms ? "" : "training runs on the CPU"});
}

void look_at_python(Diagnoses& found, const peers::Places& places) {
  const auto python = peers::find_python(places);
  if (python) {
    found.push_back({"python", Mark::ok,
                     fmt::format("{} ({})", python->version, printable(python->program.string())),
                     ""});
    return;
  }
  const std::string& message = python.error().message;
  const std::size_t command = message.find("run: ");
  found.push_back({"python", Mark::warning, message,
                   command == std::string::npos ? "name another with SLUICE_PYTHON"
                                                : message.substr(command + 5)});
}

void look_at_groups(Diagnoses& found, const peers::Places& places, bool gpu) {
  for (const std::string_view group : peers::groups()) {
    const auto members = peers::libraries_of_group(group);
    const bool for_gpu = std::all_of(members.begin(), members.end(),
                                     [](const peers::Library* one) { return one->needs_gpu; });
    const std::string name = fmt::format("peers: {}", group);
    const auto environment = peers::find_environment(places, group);
    if (environment) {
      std::vector<std::string> versions;
      for (const peers::Library* library : members) {
        const std::string version = environment->version_of(library->package);
        if (!version.empty()) versions.push_back(fmt::format("{} {}", library->package, version));
      }
      std::sort(versions.begin(), versions.end());
      versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
      found.push_back({name, Mark::ok, join(versions), ""});
      continue;
    }
    // The light group is what a first run and our own tests use; the others are a choice.
    const bool needed = group == "light";
    found.push_back({name, needed ? Mark::warning : Mark::missing, environment.error().message,
                     for_gpu && !gpu ? "useful on machines with a CUDA device only"
                                     : fmt::format("sluice peers install {}", group)});
  }
}

void look_at_programs(Diagnoses& found, const peers::Places& places) {
  const fs::path opencv = peers::find_native_worker(places, "opencv_worker");
  found.push_back({"opencv worker", opencv.empty() ? Mark::missing : Mark::ok,
                   opencv.empty() ? "not built" : printable(opencv.string()),
                   opencv.empty() ? "tools/setup --with bench && make build" : ""});
  const auto video = image::video_versions();
  found.push_back(
      {"video module", video ? Mark::ok : Mark::missing, video ? *video : video.error().message,
       video ? "" : "make build, or unpack the archive of the video module over this program"});
}

Result<ExitCode> run_doctor(bool fail_on_warning, const Context& context) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_TRY(const env::Environment environment, env::collect());
  Diagnoses found;
  look_at_noise(found);
  look_at_machine(found, environment);
  look_at_disk(found, "disk here", fs::current_path());
  look_at_disk(found, "disk of environments", places.cache);
  look_at_python(found, places);
  look_at_groups(found, places, !environment.gpu.devices.empty());
  look_at_programs(found, places);
  const auto count = [&](Mark mark) {
    return std::count_if(found.begin(), found.end(),
                         [&](const Diagnosis& one) { return one.mark == mark; });
  };
  const auto warnings = count(Mark::warning);
  if (context.globals.json) {
    Json checks = Json::array();
    for (const Diagnosis& one : found)
      checks.push_back({{"check", one.check},
                        {"status", to_string(one.mark)},
                        {"value", one.value},
                        {"fix", one.fix.empty() ? Json() : Json(one.fix)}});
    print("{}\n", dump_json({{"warnings", warnings},
                             {"missing", count(Mark::missing)},
                             {"checks", std::move(checks)}}));
  } else {
    for (const Diagnosis& one : found) {
      print("{:<8} {:<22} {}\n", to_string(one.mark), one.check, one.value);
      if (!one.fix.empty()) print("{:<8} {:<22} -> {}\n", "", "", one.fix);
    }
    print("{} warnings, {} optional parts missing\n", warnings, count(Mark::missing));
  }
  return fail_on_warning && warnings > 0 ? ExitCode::regression : ExitCode::done;
}

}  // namespace

void add_doctor(CLI::App& root, Context& context) {
  auto fail_on_warning = std::make_shared<bool>(false);
  CLI::App* doctor = add_command(
      root, context, "doctor",
      "Check whether this machine is fit to measure, and say how to get what is missing",
      [fail_on_warning, &context] { return run_doctor(*fail_on_warning, context); });
  doctor->add_flag("--fail-on-warning", *fail_on_warning, "exit 1 when there is a warning");
  add_examples(*doctor, {"sluice doctor", "sluice doctor --json --fail-on-warning"});
}

}  // namespace sluice::cli
