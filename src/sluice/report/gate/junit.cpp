// sluice/report/gate/junit.cpp - suites, cases and what became of each.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/junit.h"

#include "sluice/core/text.h"
#include "sluice/report/gate/line_text.h"
#include "sluice/report/html/parts.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::report {
namespace {

enum class Kind { passed, failure, error, skipped };

struct Case {
  std::string family;
  std::string name;
  double seconds = 0;
  Kind kind = Kind::passed;
  std::string type;     // of a failure or an error
  std::string message;  // one sentence; may be empty where it passed
};

struct Suite {
  std::string name;
  std::string timestamp;  // UTC; empty: unknown
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<Case> cases;
};

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
};

Counts& operator+=(Counts& counts, const Case& one) {
  ++counts.tests;
  counts.failures += one.kind == Kind::failure ? 1 : 0;
  counts.errors += one.kind == Kind::error ? 1 : 0;
  counts.skipped += one.kind == Kind::skipped ? 1 : 0;
  counts.seconds += one.seconds;
  return counts;
}

std::string count_attributes(const Counts& counts) {
  return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.6f}")",
                     counts.tests, counts.failures, counts.errors, counts.skipped, counts.seconds);
}

std::string case_text(const Case& one) {
  std::string out = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.6f}")",
                                escape_xml(one.family), escape_xml(one.name), one.seconds);
  const std::string message = escape_xml(one.message);
  switch (one.kind) {
    case Kind::passed:
      if (message.empty()) return out + "/>\n";
      return out + ">\n      <system-out>" + message + "</system-out>\n    </testcase>\n";
    case Kind::skipped:
      return out + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", message);
    case Kind::failure:
    case Kind::error:
      break;
  }
  return out + fmt::format(
                   ">\n      <{0} type=\"{1}\" message=\"{2}\">{2}</{0}>\n    </testcase>\n",
                   one.kind == Kind::failure ? "failure" : "error", escape_xml(one.type), message);
}

std::string suite_text(const Suite& suite) {
  Counts counts;
  for (const Case& one : suite.cases)
    counts += one;
  std::string out =
      fmt::format(R"(  <testsuite name="{}" {})", escape_xml(suite.name), count_attributes(counts));
  if (!suite.timestamp.empty())
    out += fmt::format(R"( timestamp="{}")", escape_xml(suite.timestamp));
  out += ">\n    <properties>\n";
  for (const auto& [name, value] : suite.properties) {
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", escape_xml(name),
                       escape_xml(value));
  }
  out += "    </properties>\n";
  for (const Case& one : suite.cases)
    out += case_text(one);
  return out + "  </testsuite>\n";
}

std::string document(const std::vector<Suite>& suites) {
  Counts counts;
  for (const Suite& suite : suites)
    for (const Case& one : suite.cases)
      counts += one;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"sluice\" {}>\n", count_attributes(counts));
  for (const Suite& suite : suites)
    out += suite_text(suite);
  return out + "</testsuites>\n";
}

Kind kind_of(gate::GateStatus status) {
  switch (status) {
    case gate::GateStatus::fail:
      return Kind::failure;
    case gate::GateStatus::invalid:
      return Kind::error;
    case gate::GateStatus::skip:
    case gate::GateStatus::inconclusive:
      return Kind::skipped;
    case gate::GateStatus::pass:
    case gate::GateStatus::improved:
    case gate::GateStatus::warn:
      break;
  }
  return Kind::passed;
}

Kind kind_of(measure::RowStatus status) {
  switch (status) {
    case measure::RowStatus::failed:
      return Kind::error;
    case measure::RowStatus::unsupported:
    case measure::RowStatus::skipped:
      return Kind::skipped;
    case measure::RowStatus::ok:
    case measure::RowStatus::early_stopped:
      break;
  }
  return Kind::passed;
}

Suite suite_of(const gate::GateReport& report) {
  Suite suite{"gate: " + report.rule,
              report.timestamp,
              {{"machine_profile", report.machine_profile},
               {"base", report.base_name},
               {"candidate", report.candidate_name},
               {"verdict", report.summary}},
              {}};
  for (const gate::GateLine& line : report.lines) {
    suite.cases.push_back({"sluice.gate", line.metric, 0, kind_of(line.status),
                           line.status == gate::GateStatus::fail ? "regression" : "invalid",
                           line_sentence(line)});
  }
  if (report.lines.empty())  // a suite without cases is shown as nothing at all
    suite.cases.push_back(
        {"sluice.gate", "gate", 0, kind_of(report.status), "regression", report.summary});
  return suite;
}

double sample_seconds(const measure::Row& row) {
  double ns = 0;
  for (const measure::Run& run : row.runs)
    ns = std::accumulate(run.samples_ns.begin(), run.samples_ns.end(), ns);
  return ns * 1e-9;
}

std::string row_message(const measure::Row& row) {
  if (row.status != measure::RowStatus::ok)
    return fmt::format("{}: {}", to_string(row.status), row.reason);
  if (!row.summary) return {};
  return fmt::format("median {:.6g} {} over {} runs", row.summary->median, row.unit,
                     row.summary->n_runs);
}

Suite suite_of(const results::ResultFile& file) {
  Suite suite{"session " + file.session_id,
              "",
              {{"machine_profile", file.machine_profile},
               {"sluice_version", file.tool.version},
               {"sluice_git", file.tool.git}},
              {}};
  for (const measure::Row& row : file.rows) {
    suite.cases.push_back({"sluice." + row.library, row.case_name, sample_seconds(row),
                           kind_of(row.status), to_string(row.status), row_message(row)});
  }
  return suite;
}

template <class Things>
std::string document_of(const Things& things) {
  std::vector<Suite> suites;
  for (const auto& one : things)
    suites.push_back(suite_of(one));
  return document(suites);
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out = escape_html(printable(text));
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {  // U+FFFE, U+FFFF
    for (std::size_t at = out.find(none); at != std::string::npos; at = out.find(none, at))
      out.replace(at, none.size(), "\xEF\xBF\xBD");
  }
  return out;
}

std::string junit(const std::vector<gate::GateReport>& reports) {
  return document_of(reports);
}

std::string junit(const std::vector<results::ResultFile>& files) {
  return document_of(files);
}

}  // namespace sluice::report
