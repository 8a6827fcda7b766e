// sluice/gate/bisect/record.cpp - JSON of a search, there and back; its sentence.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/bisect/record.h"

#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_report.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace sluice::gate {
namespace {

constexpr const char* kBisectRule = "bisect";
constexpr std::size_t kShortSha = 12;

Json change_json(double point, double low, double high) {
  return {{"point", speed_change(point)}, {"low", speed_change(low)}, {"high", speed_change(high)}};
}

std::string change_words(double point, double low, double high) {
  return fmt::format("{} ({:+.1f} to {:+.1f} %)", change_in_words(point), 100 * speed_change(low),
                     100 * speed_change(high));
}

/// Undecided ones, among those that are left, could be decided by more pairs.
const char* advice_for(const BisectState& state) {
  for (const BisectProbe& probe : state.probes)
    if (probe.verdict == ProbeVerdict::undecided && probe.revision > state.good &&
        probe.revision < state.bad)
      return "; --max-pairs, --metric cpu or a longer run help";
  return "";
}

std::vector<double> ratios_of(const BisectRecord& record, std::size_t revision) {
  for (std::size_t i = 0; i < record.state.probes.size(); ++i)
    if (record.state.probes[i].revision == revision && i < record.pairs.size())
      return log_ratios(record.pairs[i].a, record.pairs[i].b, record.better);
  return {};
}

Json probe_json(const BisectRecord& record, std::size_t i) {
  const BisectProbe& probe = record.state.probes[i];
  Json out{{"revision", probe.revision},
           {"sha", record.commits[probe.revision].sha},
           {"subject", record.commits[probe.revision].subject},
           {"verdict", to_string(probe.verdict)},
           {"reason", probe.reason.empty() ? Json() : Json(probe.reason)},
           {"level", probe.level},
           {"judged_pairs", probe.pairs},
           {"speed_change", nullptr},
           {"sd_log_ratio", nullptr},
           {"mde", nullptr},
           {"pairs", nullptr},
           {"order", nullptr}};
  if (probe.pairs > 0) {
    out["speed_change"] = change_json(probe.estimate, probe.low, probe.high);
    out["sd_log_ratio"] = probe.sd;
    out["mde"] = probe.mde;
  }
  if (i < record.pairs.size()) {
    out["pairs"] = {{"a", record.pairs[i].a}, {"b", record.pairs[i].b}};
    out["order"] = record.pairs[i].order;
  }
  return out;
}

Json commit_json(const BisectCommit& commit) {
  return {{"sha", commit.sha}, {"subject", commit.subject}};
}

Json result_json(const BisectRecord& record) {
  const BisectState& state = record.state;
  if (state.end == BisectEnd::searching) return nullptr;
  const bool named = state.end == BisectEnd::found;
  Json suspects = Json::array();
  if (named || state.end == BisectEnd::range)
    for (std::size_t i = state.good + 1; i <= state.bad; ++i)
      suspects.push_back(commit_json(record.commits[i]));
  Json out{{"end", to_string(state.end)},
           {"commit", named ? commit_json(record.commits[state.bad]) : Json()},
           {"suspects", std::move(suspects)},
           {"speed_change", nullptr},
           {"confidence", named || state.end == BisectEnd::range ? Json(1 - state.spent) : Json()},
           {"probes", record.state.probes.size()},
           {"reproduce", nullptr}};
  if (const auto change = change_of_guilty(record);
      change && state.end != BisectEnd::not_slower && state.end != BisectEnd::not_shown)
    out["speed_change"] = change_json(change->point, change->low, change->high);
  if (const std::string again = reproduce(record); !again.empty()) out["reproduce"] = again;
  return out;
}

/// For a shell; in quotes where that is needed.
std::string quoted_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Error damaged(const std::string& name, const std::string& what) {
  return {Errc::invalid_input,
          fmt::format("{}: {}; expected a search that sluice bisect wrote", printable(name), what)};
}

Result<std::vector<double>> values_at(const Json& json, const char* key, const std::string& name) {
  std::vector<double> values;
  const Json& list = at(json, key);
  if (!list.is_array()) return damaged(name, "a probe without its pairs");
  for (const Json& one : list) {
    const double value = one.is_number() ? one.get<double>() : 0;
    if (!std::isfinite(value) || value <= 0) return damaged(name, "a value that is not above 0");
    values.push_back(value);
  }
  return values;
}

Result<StoredProbe> stored_probe(const Json& json, const BisectQuestion& question,
                                 const std::string& name) {
  StoredProbe probe;
  const Json& revision = at(json, "revision");
  if (!revision.is_number_unsigned() || revision.get<std::size_t>() == 0 ||
      revision.get<std::size_t>() > question.commits)
    return damaged(name, "a probe without its revision");
  probe.revision = revision.get<std::size_t>();
  if (string_at(json, "verdict") == to_string(ProbeVerdict::skipped))
    probe.skipped = string_at(json, "reason", "no reason is stored");
  const Json& pairs = at(json, "pairs");
  if (pairs.is_null()) return probe;
  SLUICE_TRY(probe.pairs.a, values_at(pairs, "a", name));
  SLUICE_TRY(probe.pairs.b, values_at(pairs, "b", name));
  if (probe.pairs.a.size() != probe.pairs.b.size())
    return damaged(name, "a pair with one side only");
  const Json& order = at(json, "order");
  if (order.is_array())
    for (const Json& one : order)
      if (one.is_string()) probe.pairs.order.push_back(one.get<std::string>());
  return probe;
}

}  // namespace

Json to_json(const BisectQuestion& question) {
  return {{"good", question.good},       {"bad", question.bad},
          {"commits", question.commits}, {"build", question.build},
          {"run", question.command},     {"folder", question.folder},
          {"metric", question.metric},   {"better", measure::to_string(question.better)},
          {"alpha", question.alpha},     {"tau", question.tau},
          {"floor", question.floor},     {"max_pairs", question.most_pairs}};
}

std::optional<stats::Estimate> change_of_guilty(const BisectRecord& record) {
  const BisectState& state = record.state;
  return change_between(state, ratios_of(record, state.good), ratios_of(record, state.bad));
}

std::string summary_of(const BisectRecord& record) {
  const BisectState& state = record.state;
  const BisectProbe& last = state.probes.front();  // BAD
  const std::string of_bad = change_words(last.estimate, last.low, last.high);
  const auto change = change_of_guilty(record);
  const std::string loss =
      change ? change_words(change->point, change->low, change->high) : std::string("slower");
  const std::string sure = fmt::format("confidence at least {:.1f} %", 100 * (1 - state.spent));
  switch (state.end) {
    case BisectEnd::found: {
      const BisectCommit& commit = record.commits[state.bad];
      return fmt::format("{} {}: {} than the commit before; {}", commit.sha.substr(0, kShortSha),
                         printable(commit.subject), loss, sure);
    }
    case BisectEnd::range:
      return fmt::format(
          "one of {} commits, {} to {}: {} than the commit before them; {}{}",
          state.bad - state.good, record.commits[state.good + 1].sha.substr(0, kShortSha),
          record.commits[state.bad].sha.substr(0, kShortSha), loss, sure, advice_for(state));
    case BisectEnd::not_slower:
      return fmt::format("nothing to find: BAD is {}, a loss of {:g} % is ruled out", of_bad,
                         100 * state.options.tau);
    case BisectEnd::not_shown:
      return fmt::format("not decided: BAD is {} after {} pairs; --max-pairs or a longer run help",
                         of_bad, last.pairs);
    case BisectEnd::searching:
      break;
  }
  return fmt::format("searching: {} of {} commits are left", state.bad - state.good, state.commits);
}

std::string reproduce(const BisectRecord& record) {
  if (record.state.end != BisectEnd::found) return {};
  const BisectQuestion& asked = record.question;
  const BisectOptions usual;
  std::string line;
  if (!asked.folder.empty())
    line = "cd \"$(git rev-parse --show-toplevel)\"/" + quoted_word(asked.folder) + " && ";
  line += fmt::format("sluice bisect {} {} --build {} --run {}",
                      record.commits[record.state.bad - 1].sha.substr(0, kShortSha),
                      record.commits[record.state.bad].sha.substr(0, kShortSha),
                      quoted_word(asked.build), quoted_word(asked.command));
  if (asked.metric != "wall") line += " --metric " + quoted_word(asked.metric);
  if (asked.better == measure::Better::higher) line += " --better higher";
  if (asked.tau != usual.tau) line += fmt::format(" --tau {}", asked.tau);
  if (asked.floor != usual.floor) line += fmt::format(" --floor {}", asked.floor);
  if (asked.alpha != usual.alpha) line += fmt::format(" --alpha {}", asked.alpha);
  if (asked.most_pairs != kBisectMostPairs)
    line += fmt::format(" --max-pairs {}", asked.most_pairs);
  return line;
}

Json to_json(const BisectRecord& record) {
  const BisectState& state = record.state;
  Json looks = Json::array();
  for (const PairedLook& look : state.options.looks)
    looks.push_back({{"pairs", look.pairs}, {"alpha_share", look.alpha_share}});
  Json probes = Json::array();
  for (std::size_t i = 0; i < state.probes.size(); ++i)
    probes.push_back(probe_json(record, i));
  return {{"schema_version", results::kSchemaVersion},
          {"tool", {{"version", version::kProgram}, {"git", version::git()}}},
          {"machine_profile", record.machine_profile},
          {"timestamp", record.timestamp},
          {"rule", kBisectRule},
          {"question", to_json(record.question)},
          {"looks", std::move(looks)},
          {"order_seed", record.order_seed},
          {"unit", record.unit},
          {"better", measure::to_string(record.better)},
          {"good", commit_json(record.commits.front())},
          {"bad", commit_json(record.commits.back())},
          {"border", state.border == 0 ? Json() : Json(speed_change(state.border))},
          {"probes", std::move(probes)},
          {"elapsed_s", record.elapsed_s},
          {"summary", summary_of(record)},
          {"result", result_json(record)}};
}

Result<StoredBisect> stored_bisect(const Json& json, const BisectQuestion& question,
                                   const std::string& name) {
  if (!json.is_object() || string_at(json, "rule") != kBisectRule ||
      !at(json, "question").is_object() || !at(json, "probes").is_array())
    return damaged(name, "no search");
  const Json now = to_json(question);
  std::vector<std::string> differing;
  for (const auto& [key, value] : now.items())
    if (at(at(json, "question"), key.c_str()) != value) differing.push_back(key);
  if (!differing.empty())
    return Error{Errc::usage, fmt::format("--resume: {} holds another search (its {} {}); give the "
                                          "same arguments, or another --out",
                                          printable(name), join(differing),
                                          differing.size() == 1 ? "differs" : "differ")};
  StoredBisect stored;
  if (!at(json, "order_seed").is_number_unsigned()) return damaged(name, "no order_seed");
  stored.order_seed = at(json, "order_seed").get<std::uint64_t>();
  stored.unit = string_at(json, "unit");
  stored.better = string_at(json, "better") == measure::to_string(measure::Better::higher)
                      ? measure::Better::higher
                      : measure::Better::lower;
  if (at(json, "elapsed_s").is_number()) stored.elapsed_s = at(json, "elapsed_s").get<double>();
  stored.ended = !at(json, "result").is_null();
  for (const Json& probe : at(json, "probes")) {
    SLUICE_TRY(StoredProbe one, stored_probe(probe, question, name));
    stored.probes.push_back(std::move(one));
  }
  return stored;
}

}  // namespace sluice::gate
