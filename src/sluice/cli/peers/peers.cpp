// sluice/cli/peers/peers.cpp - `peers list` and `peers install`: which libraries there are, and
// their environments.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/peers/peers.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/env/collect.h"
#include "sluice/measure/interrupt.h"
#include "sluice/peers/environment.h"
#include "sluice/peers/launch.h"
#include "sluice/peers/library.h"
#include "sluice/peers/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

constexpr const char* kDefaultGroup = "light";

/// Of one library in one mode, without starting anything.
struct Presence {
  bool there = false;
  std::string reason;   // why not
  std::string version;  // empty: only its worker knows
};

Presence presence_of(const peers::Places& places, const peers::Library& library,
                     const peers::Way& way) {
  if (way.program == "sluice") return {true, "", version::kProgram};
  if (way.group.empty()) {
    const bool built = !peers::find_native_worker(places, way.program).empty();
    return {built, built ? "" : "not built", ""};
  }
  if (std::string missing = peers::no_package(library, peers::this_machine()); !missing.empty())
    return {false, std::move(missing), ""};
  const auto environment = peers::find_environment(places, way.group);
  if (!environment) return {false, environment.error().message, ""};
  return {true, "", environment->version_of(library.package)};
}

Json list_json(const peers::Places& places) {
  Json list = Json::array();
  for (const peers::Library& library : peers::libraries()) {
    Json ways = Json::array();
    for (const peers::Way& way : library.ways) {
      const Presence presence = presence_of(places, library, way);
      ways.push_back({{"mode", way.mode},
                      {"group", way.group.empty() ? Json() : Json(way.group)},
                      {"installed", presence.there},
                      {"reason", presence.reason.empty() ? Json() : Json(presence.reason)},
                      {"version", presence.version.empty() ? Json() : Json(presence.version)}});
    }
    list.push_back({{"name", library.name},
                    {"title", library.title},
                    {"licence", library.licence},
                    {"homepage", library.homepage.empty() ? Json() : Json(library.homepage)},
                    {"needs_gpu", library.needs_gpu},
                    {"ways", std::move(ways)}});
  }
  return {{"cache", places.cache.string()},
          {"adapters", places.adapters.empty() ? Json() : Json(places.adapters.string())},
          {"libraries", std::move(list)}};
}

Result<ExitCode> run_list(const Context& context) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  if (context.globals.json) {
    print("{}\n", dump_json(list_json(places)));
    return ExitCode::done;
  }
  constexpr const char* kRow = "{:<23} {:<9} {:<15} {:<9} {:<12} {}\n";
  print(kRow, "library", "mode", "group", "installed", "version", "licence");
  for (const peers::Library& library : peers::libraries()) {
    for (const peers::Way& way : library.ways) {
      const Presence presence = presence_of(places, library, way);
      const bool first = &way == &library.ways.front();
      const bool foreign = !peers::no_package(library, peers::this_machine()).empty();
      print(kRow, first ? library.name : "", way.mode, way.group.empty() ? "-" : way.group,
            presence.there      ? "yes"
            : foreign           ? "not here"
            : way.group.empty() ? "not built"
                                : "no",
            presence.version.empty() ? "-" : presence.version, first ? library.licence : "");
    }
  }
  print("environments: {}\n", printable(places.cache.string()));
  return ExitCode::done;
}

bool has_gpu() {
  const auto environment = env::collect();
  return environment && !environment->gpu.devices.empty();
}

/// The groups that the words of the command line mean, each once, in the order of groups().
Result<std::vector<std::string>> groups_of(const std::vector<std::string>& names) {
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (const peers::Library* library = peers::find_library(name)) {
      std::string missing = peers::no_package(*library, peers::this_machine());
      if (!missing.empty()) return Error{Errc::unsupported, std::move(missing)};
    }
    if (peers::is_group(name)) {
      wanted.push_back(name);
    } else if (name == "all") {
      for (const std::string_view group : peers::groups()) {
        const auto members = peers::libraries_of_group(group);
        const auto of_all = [&](const auto& holds) {
          return std::all_of(members.begin(), members.end(), holds);
        };
        const bool for_gpu =
            of_all([](const peers::Library* library) { return library->needs_gpu; });
        const bool foreign = of_all([](const peers::Library* library) {
          return !peers::no_package(*library, peers::this_machine()).empty();
        });
        if (!foreign && (!for_gpu || has_gpu())) wanted.emplace_back(group);
      }
    } else {
      SLUICE_CHECK(peers::require_library(name));
      for (const std::string& row : peers::rows_of_library(name))
        wanted.emplace_back(peers::find_library(row)->home_group());
    }
  }
  std::vector<std::string> sorted;
  for (const std::string_view group : peers::groups()) {
    if (std::find(wanted.begin(), wanted.end(), group) != wanted.end()) sorted.emplace_back(group);
  }
  for (const std::string_view group : peers::test_groups()) {
    if (std::find(wanted.begin(), wanted.end(), group) != wanted.end()) sorted.emplace_back(group);
  }
  return sorted;
}

Json to_json(const peers::InstallReport& report) {
  const peers::Venv& made = report.environment;
  Json packages = Json::object();
  for (const auto& [name, version] : made.packages)
    packages[name] = version;
  return {{"group", made.group},           {"fresh", report.fresh},
          {"seconds", report.seconds},     {"folder", made.folder.string()},
          {"python", made.python_version}, {"hash", made.hash},
          {"lock_hash", made.lock_hash},   {"packages", std::move(packages)}};
}

Result<ExitCode> run_install(const std::vector<std::string>& names, const Context& context) {
  SLUICE_TRY(const auto groups,
             groups_of(names.empty() ? std::vector<std::string>{kDefaultGroup} : names));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const measure::Interrupt interrupt;
  peers::InstallOptions options;
  options.progress = context.globals.progress;
  options.cancel_fd = interrupt.fd();
  Json reports = Json::array();
  for (const std::string& group : groups) {
    SLUICE_TRY(const auto report, peers::install_environment(places, group, options));
    reports.push_back(to_json(report));
    if (context.globals.json) continue;
    print("{}: {} ({} packages, Python {}) in {}\n", group,
          report.fresh ? fmt::format("installed in {:.0f} s", report.seconds)
                       : std::string("already installed"),
          report.environment.packages.size(), report.environment.python_version,
          printable(report.environment.folder.string()));
  }
  if (context.globals.json)
    print("{}\n", dump_json({{"environments", std::move(reports)}}));
  else if (groups.empty())
    print("nothing to install: {} needs no environment\n", join(names));
  return ExitCode::done;
}

}  // namespace

std::vector<std::string> groups_and_libraries() {
  std::vector<std::string> names(peers::groups().begin(), peers::groups().end());
  for (const peers::Library& library : peers::libraries()) {
    if (!peers::is_group(library.name)) names.emplace_back(library.name);
  }
  return names;
}

void add_peers(CLI::App& root, Context& context) {
  CLI::App* peers_app = add_family(
      root, "peers", "List, install and check the libraries that are measured beside ours");
  CLI::App* list =
      add_command(*peers_app, context, "list",
                  "List every library with its group, its licence and whether it is installed",
                  [&context] { return run_list(context); });
  add_examples(*list, {"sluice peers list", "sluice peers list --json"});

  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* install =
      add_command(*peers_app, context, "install",
                  "Make the Python environments of libraries where they are missing",
                  [names, &context] { return run_install(*names, context); });
  add_value(*install, "names", *names, "{all," + join(groups_and_libraries(), ",") + "}",
            "libraries or groups; all: everything that runs on this machine; default: light");
  add_examples(*install,
               {"sluice peers install   # the light group: pillow and OpenCV's wheel, 100 MB",
                "sluice peers install torchvision kornia", "sluice peers install all"});
  add_peers_check(*peers_app, context);
  add_peers_audit(*peers_app, context);
}

}  // namespace sluice::cli
