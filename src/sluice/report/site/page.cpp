// sluice/report/site/page.cpp - the page of stored visits: what is said without a script, and the
// frame in which the script draws.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/site/page.h"

#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/site/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice::report {
namespace {

constexpr std::size_t kMostProblems = 50;

std::string counted(std::size_t n, const char* word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string digest_of(std::string_view script) {
  Sha256 sum;
  sum.update(script);
  const auto digest = sum.digest();
  return base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string problems_html(const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  std::string out = fmt::format(
      "<div class=\"callout\" id=\"problems\"><strong>{} could not be read and {} left out; all "
      "else is shown.</strong>\n<ul>\n",
      counted(problems.size(), "stored file or line"), problems.size() == 1 ? "is" : "are");
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i)
    out += "<li>" + escape_html(printable(problems[i])) + "</li>\n";
  if (problems.size() > kMostProblems)
    out += fmt::format("<li>… and {} more</li>\n", problems.size() - kMostProblems);
  return out + "</ul></div>\n";
}

std::string head_html(const gate::Site& site, const SiteOptions& options) {
  std::set<std::string> profiles, names;
  for (const gate::StoredVisit& visit : site.stored.visits)
    profiles.insert(visit.machine_profile);
  std::size_t changes = 0;
  for (const gate::SiteGroup& group : site.groups)
    for (const gate::SiteSeries& series : group.series) {
      names.insert(site.stored.metrics[series.metric].name);
      changes += series.changes.size();
    }
  return fmt::format(
      "<header><h1>History</h1>\n<p class=\"profile\" id=\"about\">{} of {} on {}: {} of level "
      "found. Made {} by sluice {}.</p></header>\n",
      counted(site.stored.visits.size(), "visit"), counted(names.size(), "metric"),
      counted(profiles.size(), "machine profile"), counted(changes, "change"),
      escape_html(options.made), version::kProgram);
}

// The controls are filled and heard by the script.
constexpr const char* kFrame = R"html(
<noscript><p class="callout">The charts are drawn by a script inside this page; nothing is loaded. Without it the numbers stand in the document at its end.</p></noscript>
<section class="callout live" id="live" hidden aria-live="polite"><strong>Running now</strong><ul id="runs"></ul></section>
<form class="bar-of-tools" id="tools" role="search">
<div class="field grow"><label for="group">Machine profile and work</label><select id="group"></select></div>
<div class="field grow"><label for="filter">Filter metrics</label><input id="filter" type="search" placeholder="words, all of which a name has" autocomplete="off"></div>
<label class="check"><input type="checkbox" id="changed"> with changes only</label>
<label class="check"><input type="checkbox" id="log"> log axis</label>
<label class="check"><input type="checkbox" id="time"> by date</label>
<label class="check"><input type="checkbox" id="whiskers" checked> intervals</label>
<button type="button" id="reset" disabled>Reset zoom</button>
</form>
<p class="note" id="count" aria-live="polite"></p>
<div class="multiples" id="charts"></div>
<ul class="key">
<li><svg><circle cx="11" cy="5" r="3" class="dot"/></svg>a visit</li>
<li><svg><rect x="9" y="0" width="4" height="10" class="band"/></svg>95 % interval of rows; of gate figures the range of the runs</li>
<li><svg><path d="M11 0 L15 5 L11 10 L7 5 Z" class="diamond"/></svg>promoted to base</li>
<li><svg><line x1="0" x2="22" y1="5" y2="5" class="base-line"/></svg>the base in force</li>
<li><svg><line x1="0" x2="22" y1="5" y2="5" class="level-line"/></svg>level between changes</li>
<li>Drag over a chart to zoom all; a click or <kbd>Enter</kbd> on its name opens it large.</li>
</ul>
<section id="changes-of-level" hidden><h2>Changes of level</h2>
<p class="note">Newest first. The cause lies after the first commit, up to the second.</p>
<div class="scroll snug" tabindex="0" role="region" aria-label="Changes of level"><table class="plain changes"><thead><tr><th scope="col">First seen</th><th scope="col">Metric</th><th scope="col" class="number">Change</th><th scope="col" class="number">Level before</th><th scope="col" class="number">After</th><th scope="col">Commits</th><th scope="col" class="number">p</th><th scope="col"></th></tr></thead><tbody id="change-rows"></tbody></table></div></section>
<dialog id="large" aria-labelledby="large-name"><header><div><h2 id="large-name"></h2><p class="note" id="large-about"></p></div><button type="button" id="close">Close</button></header>
<div class="tools"><button type="button" id="zoom-in">Zoom in</button><button type="button" id="zoom-out">Zoom out</button><button type="button" id="zoom-all">Whole history</button><label class="check"><input type="checkbox" id="large-log"> log axis</label><label class="check"><input type="checkbox" id="large-time"> by date</label></div>
<canvas id="large-chart" tabindex="0" role="img" aria-describedby="readout"></canvas>
<p class="readout" id="readout" aria-live="polite"></p>
<p class="note"><a id="raw" hidden>Raw file of this visit</a></p>
<p class="note"><kbd>←</kbd> <kbd>→</kbd> visit · <kbd>Shift</kbd> ten · <kbd>Home</kbd> <kbd>End</kbd> · <kbd>+</kbd> <kbd>−</kbd> zoom · <kbd>0</kbd> whole · <kbd>l</kbd> log axis · <kbd>Enter</kbd> raw file · <kbd>Esc</kbd> closes</p>
<details id="values"><summary>Values as a table</summary><div class="scroll"><table class="plain"><thead><tr><th scope="col">Visit</th><th scope="col">Commit</th><th scope="col" class="number">Value</th><th scope="col" class="number">Low</th><th scope="col" class="number">High</th><th scope="col"></th></tr></thead><tbody id="value-rows"></tbody></table></div></details></dialog>
<div id="tip" hidden aria-hidden="true"></div>
)html";

}  // namespace

std::string site_page(const gate::Site& site, const SiteOptions& options) {
  const std::string script =
      fmt::format("'use strict';\n(() => {{{}{}}})();", site_chart_script(), site_page_script());
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; form-action "
      "'none'{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"sluice\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>History · sluice</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n",
      digest_of(script), options.live ? "; connect-src 'self'" : "", page_style(), site_style());
  out += head_html(site, options) + problems_html(site.stored.problems);
  if (site.stored.visits.empty()) out += "<p>No visit is stored yet.</p>\n";
  out += kFrame;
  out +=
      "<footer>Made by sluice from stored files alone. Numbers are shown to seven digits; the "
      "raw files have them all.</footer>\n</main>\n";
  // The document comes last: the page is painted before it is read.
  out += "<script type=\"application/json\" id=\"data\">" + inert_json(site_json(site, options)) +
         "</script>\n<script>" + script + "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace sluice::report
