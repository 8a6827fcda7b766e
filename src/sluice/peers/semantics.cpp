// sluice/peers/semantics.cpp - groups of libraries that agree, and the audit as a document.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/semantics.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace sluice::peers {
namespace {

std::string note_of(const Outputs& library) {
  const Picture& first = library.outputs.front().front();
  bool fixed = true;
  for (const auto& draws : library.outputs) {
    for (const Picture& picture : draws)
      fixed = fixed && picture.values == draws.front().values;
  }
  return fmt::format("{}, {}x{}x{}", fixed ? "fixed" : "drawn", first.height, first.width,
                     first.channels);
}

/// For each library the lowest one that it is connected with by likeness.
std::vector<std::size_t> groups_by(const std::vector<std::vector<Likeness>>& likeness) {
  const std::size_t n = likeness.size();
  std::vector<std::size_t> group(n);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t round = 0; round < n; ++round) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if (a != b && likeness[a][b].same) group[a] = group[b] = std::min(group[a], group[b]);
      }
    }
  }
  return group;
}

/// First the libraries that have a say, then all. Two builds of one library are one.
struct Weight {
  std::size_t voters = 0;
  std::size_t families = 0;
  bool operator<(const Weight& other) const {
    return std::tie(voters, families) < std::tie(other.voters, other.families);
  }
};

Weight weigh(const std::vector<Outputs>& libraries, const std::vector<std::size_t>& group,
             std::size_t wanted) {
  std::set<std::string> voters;
  std::set<std::string> families;
  for (std::size_t a = 0; a < libraries.size(); ++a) {
    if (group[a] != wanted) continue;
    const std::string& name = libraries[a].library;
    const std::string family = name.substr(0, name.find('-'));
    families.insert(family);
    if (libraries[a].votes) voters.insert(family);
  }
  return {voters.size(), families.size()};
}

Error malformed(const std::string& name, const std::string& what) {
  return Error{Errc::invalid_input, fmt::format("{}: {}", name, what)};
}

Result<std::map<std::string, std::string>> texts(const Json& json, const char* key,
                                                 const std::string& name) {
  std::map<std::string, std::string> result;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object())
    return malformed(name, fmt::format("{} must be an object of texts", key));
  for (const auto& [library, text] : found->items()) {
    if (!text.is_string()) return malformed(name, fmt::format("{}.{} must be text", key, library));
    result[library] = text.get<std::string>();
  }
  return result;
}

}  // namespace

Agreement agreement(const std::vector<Picture>& inputs, const std::vector<Outputs>& libraries) {
  const std::size_t n = libraries.size();
  std::vector<std::vector<Likeness>> likeness(n, std::vector<Likeness>(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (a != b) likeness[a][b] = compare_outputs(inputs, libraries[a], libraries[b]);
    }
  }
  const std::vector<std::size_t> group = groups_by(likeness);
  std::size_t best = 0;
  Weight heaviest;
  for (std::size_t g = 0; g < n; ++g) {
    const Weight weight = weigh(libraries, group, g);
    if (heaviest < weight) {
      best = g;
      heaviest = weight;
    }
  }
  Agreement result;
  for (std::size_t a = 0; a < n; ++a) {
    result.notes[libraries[a].library] = note_of(libraries[a]);
    if (group[a] == best && (heaviest.families >= 2 || n == 1)) {
      result.agree.push_back(libraries[a].library);
    } else {
      const std::size_t other = a == best ? (best + 1) % n : best;
      result.different[libraries[a].library] = likeness[a][other].reason;
    }
  }
  return result;
}

Json to_json(const Agreement& agreement) {
  return Json{{"agree", agreement.agree},
              {"different", Json(agreement.different)},
              {"notes", Json(agreement.notes)}};
}

Result<Agreement> agreement_from_json(const Json& json, const std::string& name) {
  if (!json.is_object()) return malformed(name, "must be an object");
  Agreement result;
  const auto agree = json.find("agree");
  if (agree == json.end() || !agree->is_array()) return malformed(name, "agree must be a list");
  for (const Json& library : *agree) {
    if (!library.is_string()) return malformed(name, "agree must be a list of names");
    result.agree.push_back(library.get<std::string>());
  }
  SLUICE_TRY(result.different, texts(json, "different", name));
  SLUICE_TRY(result.notes, texts(json, "notes", name));
  return result;
}

Result<Audit> Audit::read(const std::string& text, const std::string& name) {
  SLUICE_TRY(const Json json, parse_json(text, name));
  const auto scenarios = json.find("scenarios");
  if (scenarios == json.end() || !scenarios->is_object())
    return malformed(name, "scenarios must be an object");
  Audit audit;
  audit.pictures_ = json.value("pictures", std::string("pictures"));
  audit.draws_ = json.value("draws", std::int64_t{0});
  for (const auto& [scenario, transforms] : scenarios->items()) {
    audit.names_.push_back(scenario);
    if (!transforms.is_object()) return malformed(name, scenario + " must be an object");
    for (const auto& [transform, found] : transforms.items()) {
      SLUICE_TRY(audit.scenarios_[scenario][transform],
                 agreement_from_json(found, fmt::format("{}: {}.{}", name, scenario, transform)));
    }
  }
  return audit;
}

std::string Audit::not_comparable(const std::string& scenario, const std::string& transform,
                                  const std::string& library, const std::string& mode) const {
  for (const std::string& name : {scenario + "/" + mode, scenario}) {
    const auto found = scenarios_.find(name);
    if (found == scenarios_.end()) continue;
    const auto agreement = found->second.find(transform);
    if (agreement == found->second.end()) continue;
    const auto reason = agreement->second.different.find(library);
    return reason == agreement->second.different.end() ? "" : reason->second;
  }
  return "";
}

Result<std::optional<Audit>> read_audit(const std::filesystem::path& path) {
  if (path.empty() || !std::filesystem::exists(path)) return std::optional<Audit>();
  SLUICE_TRY(const std::string text, read_text_file(path));
  SLUICE_TRY(Audit audit, Audit::read(text, path.string()));
  return std::optional<Audit>(std::move(audit));
}

}  // namespace sluice::peers
