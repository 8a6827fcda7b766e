// sluice/report/facts.cpp - what a reader must know beside the numbers: machine, noise, method.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/facts.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace sluice::report {
namespace {

/// Of environments that another version wrote, any key may be missing or of another type.
const Json* known_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* value = &json;
  for (const char* key : path) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(key);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value->is_null() ? nullptr : value;
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  if (value.is_number_float()) return fmt::format("{:g}", value.get<double>());
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string text(const Json& json, std::initializer_list<const char*> path) {
  const Json* value = known_at(json, path);
  return value == nullptr || value->is_structured() ? std::string() : scalar_text(*value);
}

std::string size_text(const Json& json, std::initializer_list<const char*> path) {
  const Json* value = known_at(json, path);
  return value != nullptr && value->is_number() ? bytes(value->get<double>()) : std::string();
}

/// The parts that are there, joined.
std::string parts(std::initializer_list<std::string> all, std::string_view separator = ", ") {
  std::vector<std::string> present;
  for (const auto& part : all) {
    if (!part.empty()) present.push_back(part);
  }
  return join(present, separator);
}

std::string with_label(const std::string& label, const std::string& value,
                       const std::string& suffix = "") {
  return value.empty() ? std::string() : label + value + suffix;
}

std::string gpu_text(const Json& environment) {
  const Json* devices = known_at(environment, {"gpu", "devices"});
  if (devices == nullptr || !devices->is_array()) return {};
  std::vector<std::string> names;
  for (const auto& device : *devices) {
    names.push_back(parts({text(device, {"name"}), size_text(device, {"memory_bytes"})}));
  }
  if (names.empty()) return "none";
  return parts(
      {join(names, "; "), with_label("driver ", text(environment, {"gpu", "driver_version"}))});
}

std::string not_none(std::string value) {
  return value == "none" ? std::string() : value;
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

void flatten_into(std::vector<Fact>& out, const Json& json, const std::string& path,
                  std::size_t limit) {
  if (out.size() >= limit) return;
  if (json.is_structured() && !json.empty()) {
    std::size_t index = 0;
    const bool scalars =
        json.is_array() && std::none_of(json.begin(), json.end(),
                                        [](const Json& value) { return value.is_structured(); });
    if (scalars) {
      std::vector<std::string> values;
      for (const auto& value : json)
        values.push_back(scalar_text(value));
      out.push_back(Fact{path, join(values)});
      return;
    }
    for (auto it = json.begin(); it != json.end(); ++it, ++index) {
      const std::string key = json.is_object() ? printable(it.key()) : std::to_string(index);
      flatten_into(out, *it, path.empty() ? key : path + "." + key, limit);
    }
    return;
  }
  out.push_back(Fact{path, json.is_null() ? "not known" : scalar_text(json)});
}

}  // namespace

std::vector<Fact> machine_facts(const results::ResultFile& file) {
  const Json& e = file.environment;
  std::vector<Fact> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(Fact{name, value});
  };
  add("Profile", printable(file.machine_profile));
  add("CPU", parts({text(e, {"cpu", "model_name"}), text(e, {"cpu", "architecture"}),
                    text(e, {"cpu", "isa"}), with_label("L2 ", size_text(e, {"cpu", "l2_bytes"})),
                    with_label("L3 ", size_text(e, {"cpu", "l3_bytes"}))}));
  add("Cores", parts({with_label("", text(e, {"cores", "usable"}), " usable"),
                      with_label("", text(e, {"cores", "visible"}), " visible"),
                      with_label("quota ", text(e, {"cores", "quota"})),
                      with_label("affinity ", text(e, {"cores", "affinity"}))}));
  add("Frequency", with_label("governor ", text(e, {"frequency", "governor"})));
  add("Memory",
      parts({size_text(e, {"memory", "total_bytes"}),
             with_label("", size_text(e, {"memory", "available_bytes"}), " free at the start")}));
  add("System",
      parts({text(e, {"host", "distribution"}), with_label("kernel ", text(e, {"host", "kernel"})),
             with_label("in ", not_none(text(e, {"host", "container"}))),
             with_label("on ", not_none(text(e, {"host", "virtualisation"})))}));
  const std::string filesystem = text(e, {"storage", "filesystem"});
  const std::string kind = text(e, {"storage", "kind"});
  add("Storage", parts({filesystem, kind == filesystem ? std::string() : kind}, " on "));
  add("GPU", gpu_text(e));
  add("Build", parts({tool_text(file), text(e, {"build", "compiler"}), text(e, {"build", "flags"}),
                      text(e, {"build", "build_type"})}));
  if (const auto check = noise_check(file)) add(kNoiseFact, check->text());
  add("Measured", text(e, {"timestamp"}));
  return facts;
}

std::string NoiseCheck::text() const {
  return parts({verdict.empty() ? "not quiet" : verdict, with_label("score ", score, " of 100"),
                "checked " + when});
}

std::optional<NoiseCheck> noise_check(const results::ResultFile& file) {
  const Json* noise = known_at(file.environment, {"noise"});
  if (noise == nullptr || !noise->is_object()) return std::nullopt;
  NoiseCheck check;
  check.verdict = text(*noise, {"verdict"});
  check.score = text(*noise, {"score"});
  // A training run, and a program that is watched, start at once and are checked at their end.
  check.when = file.training ? "after the rows" : "before the rows";
  if (const Json* findings = known_at(*noise, {"findings"});
      findings != nullptr && findings->is_array()) {
    for (const auto& finding : *findings) {
      if (text(finding, {"severity"}) == "info") continue;
      const std::string line = parts({text(finding, {"value"}), text(finding, {"advice"})}, ". ");
      if (!line.empty()) check.findings.push_back(line);
    }
  }
  check.quiet = check.verdict == "quiet" || (check.verdict.empty() && check.findings.empty());
  if (check.verdict.empty() && check.score.empty() && check.findings.empty()) return std::nullopt;
  return check;
}

std::vector<std::string> noise_warnings(const results::ResultFile& file) {
  const auto check = noise_check(file);
  return check && !check->quiet ? check->findings : std::vector<std::string>();
}

std::vector<Fact> method_facts(const Section& section, Method method) {
  const results::ResultFile& file = section.head();
  std::vector<Fact> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(Fact{name, value});
  };
  add("Clock", printable(file.timing.clock));
  const bool whole = method == Method::whole;
  if (whole) {
    add("Timed region",
        printable(parts({file.timing.scope, with_label("data from ", file.timing.data_source)})));
    add("Includes",
        fmt::format("decode: {}, collate: {}, transfer: {}", yes_no(file.timing.includes_decode),
                    yes_no(file.timing.includes_collate), yes_no(file.timing.includes_transfer)));
  }
  add("Dataset", file.dataset.hash.empty()
                     ? "none"
                     : fmt::format("{} items, {}, {}", file.dataset.count,
                                   bytes(static_cast<double>(file.dataset.bytes)),
                                   printable(file.dataset.hash)));
  std::vector<std::string> methods;
  for (const auto& line : section.rows) {
    if (!has_summary(*line.row) || !line.row->summary->ci95) continue;
    const auto& interval = *line.row->summary->ci95;
    std::string text_of = printable(fmt::format("{}, over {}s", interval.method, interval.over));
    if (std::find(methods.begin(), methods.end(), text_of) == methods.end())
      methods.push_back(std::move(text_of));
  }
  add("95 % interval", join(methods, "; "));
  add("Order", fmt::format("random within blocks, seed {}", file.block_order_seed));
  add(kSessionFact, printable(file.session_id));
  if (whole) {
    for (const auto& fact : flatten(file.run_config, 60))
      facts.push_back(fact);
  }
  return facts;
}

std::vector<Fact> flatten(const Json& json, std::size_t limit) {
  std::vector<Fact> facts;
  if (!json.empty()) flatten_into(facts, json, "", limit);
  return facts;
}

std::vector<std::string> commands(const Section& section) {
  std::vector<std::string> all;
  for (const auto* file : section.files) {
    std::string command = shell_command(file->argv);
    if (!command.empty() && std::find(all.begin(), all.end(), command) == all.end()) {
      all.push_back(std::move(command));
    }
  }
  return all;
}

std::string title(const Section& section) {
  const auto& argv = section.head().argv;
  std::string text = "sluice";
  for (std::size_t i = 1; i < argv.size() && !argv[i].empty() && argv[i].front() != '-'; ++i) {
    // Words before the first flag name the command; a path among them would be an argument.
    if (i > 2 || argv[i].find_first_of("/.\\ <") != std::string::npos) break;
    text += " " + argv[i];
  }
  return printable(text);
}

std::string tool_text(const results::ResultFile& file) {
  std::string text = "sluice " + file.tool.version;
  if (!file.tool.git.empty()) text += " (" + file.tool.git + ")";
  return printable(text);
}

std::string status_counts(const Section& section) {
  static constexpr const char* kOrder[] = {"ok",          "unstable", "early stopped",
                                           "unsupported", "failed",   "skipped"};
  std::vector<std::string> counts;
  for (const char* status : kOrder) {
    const auto n = std::count_if(section.rows.begin(), section.rows.end(), [&](const Line& line) {
      return status_cell(*line.row) == status;
    });
    if (n > 0) counts.push_back(fmt::format("{} {}", n, status));
  }
  return counts.empty() ? "no rows" : join(counts);
}

}  // namespace sluice::report
