// sluice/report/site/data.cpp - the document behind the page of stored visits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/report/site/page.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace sluice::report {
namespace {

void put_word(std::string& bytes, std::uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(word >> shift & 0xff);
}

void put_float(std::string& bytes, double value) {
  put_word(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

/// Texts of a column that repeat: each once, and an index per visit.
class TextColumn {
 public:
  void add(const std::string& text) {
    const auto [at, fresh] = index_.emplace(text, texts_.size());
    if (fresh) texts_.push_back(printable(text));
    indices_.push_back(at->second);
  }
  [[nodiscard]] Json json() const { return Json{{"of", texts_}, {"at", indices_}}; }

 private:
  std::map<std::string, std::size_t> index_;
  Json texts_ = Json::array(), indices_ = Json::array();
};

Json series_json(const gate::SiteSeries& series, std::size_t visits) {
  std::string values, whiskers, at;
  bool any_whisker = false;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < series.at.size(); ++i) {
    put_word(at, series.at[i]);
    put_float(values, series.values[i]);
    const auto& whisker = series.whiskers[i];
    any_whisker = any_whisker || whisker;
    put_float(whiskers, whisker ? whisker->low : kNone);
    put_float(whiskers, whisker ? whisker->high : kNone);
  }
  Json changes = Json::array();
  for (const gate::TrendChange& one : series.changes)
    changes.push_back(Json::array(
        {one.index, one.before, one.after, one.change_pct, one.p, one.went_away ? 1 : 0}));
  // Count and newest value apart: a card is written before its series is opened.
  Json json{{"m", series.metric},
            {"n", series.values.size()},
            {"l", static_cast<float>(series.values.back())},
            {"y", base64(values)}};
  if (any_whisker) json["e"] = base64(whiskers);
  if (series.at.size() < visits) json["i"] = base64(at);
  if (!changes.empty()) json["c"] = std::move(changes);
  return json;
}

Json group_json(const gate::Site& site, const gate::SiteGroup& group, const SiteOptions& options) {
  const gate::StoredVisit& newest = site.stored.visits[group.first + group.count - 1];
  Json times = Json::array(), flags = Json::array(), files = Json::array();
  TextColumn commits, versions;
  std::string work;
  for (std::size_t i = 0; i < group.count; ++i) {
    const gate::StoredVisit& visit = site.stored.visits[group.first + i];
    times.push_back(printable(visit.timestamp));
    commits.add(visit.commit);
    versions.add(visit.version);
    flags.push_back((visit.base ? 1 : 0) | (visit.dirty ? 2 : 0));
    files.push_back(options.address && !visit.file.empty() ? options.address(visit.file) : "");
    if (!visit.work.empty()) work = visit.work;
  }
  Json all = Json::array();
  for (const gate::SiteSeries& one : group.series)
    all.push_back(series_json(one, group.count));
  return Json{{"profile", printable(newest.machine_profile)},
              {"workload", printable(newest.workload)},
              {"work", printable(work)},
              {"times", std::move(times)},
              {"commits", commits.json()},
              {"versions", versions.json()},
              {"flags", std::move(flags)},
              {"files", std::move(files)},
              {"series", std::move(all)}};
}

int sign_of(gate::Wish wish) {
  return wish == gate::Wish::higher ? 1 : wish == gate::Wish::lower ? -1 : 0;
}

}  // namespace

Json site_json(const gate::Site& site, const SiteOptions& options) {
  Json metrics = Json::array(), groups = Json::array(), problems = Json::array();
  for (const gate::StoredMetric& one : site.stored.metrics)
    metrics.push_back(Json::array({printable(one.name), printable(one.unit), sign_of(one.wish),
                                   one.whisker == gate::Whisker::ci95 ? 1 : 0}));
  for (const gate::SiteGroup& group : site.groups)
    groups.push_back(group_json(site, group, options));
  for (const std::string& one : site.stored.problems)
    problems.push_back(printable(one));
  return Json{{"made", options.made},          {"version", version::kProgram},
              {"live", options.live},          {"problems", std::move(problems)},
              {"metrics", std::move(metrics)}, {"groups", std::move(groups)}};
}

std::string inert_json(const Json& json) {
  std::string out;
  const std::string text = dump_json(json, -1);
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

}  // namespace sluice::report
