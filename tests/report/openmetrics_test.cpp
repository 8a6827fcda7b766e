// tests/report/openmetrics_test.cpp - metrics.prom read back by the grammar of OpenMetrics.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/openmetrics.h"

#include "sluice/core/text.h"

#include <gtest/gtest.h>

#include "tests/report/gate_fixtures.h"
#include "tests/results/fixtures.h"
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace sluice::report::openmetrics_test {
namespace {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

bool is_name(const std::string& text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == text.npos;
}

/// `name{a="x",b="y"} value`; the three escapes of label values undone. False: not so.
bool parse_sample(const std::string& line, Sample& sample) {
  std::size_t at = line.find('{');
  if (at == line.npos) return false;
  sample.name = line.substr(0, at++);
  while (at < line.size() && line[at] != '}') {
    const std::size_t equals = line.find("=\"", at);
    if (equals == line.npos) return false;
    const std::string key = line.substr(at, equals - at);
    std::string value;
    for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
      const bool escaped = line[at] == '\\';
      if (escaped && ++at >= line.size()) return false;
      value += escaped && line[at] == 'n' ? '\n' : line[at];
    }
    if (at >= line.size() || !is_name(key) || !sample.labels.emplace(key, value).second)
      return false;
    ++at;
    if (line[at] == ',') ++at;
  }
  if (line.compare(at, 2, "} ") != 0) return false;
  const std::string number = line.substr(at + 2);
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  return !number.empty() && *end == '\0' && is_name(sample.name);
}

/// Every rule that we rely on: families in one piece, TYPE first, unit as suffix, no sample twice,
/// EOF last and nowhere else.
void parse(const std::string& text, std::vector<Sample>& samples) {
  ASSERT_TRUE(is_utf8(text));
  ASSERT_TRUE(text.ends_with("# EOF\n"));
  std::istringstream lines(text.substr(0, text.size() - 6));
  std::set<std::string> families;
  std::set<std::string> seen;
  std::string current;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_FALSE(line.empty());
    if (line.starts_with("# ")) {
      const auto words = split(line, ' ');
      ASSERT_GE(words.size(), 4U) << line;
      if (words[1] == "TYPE") {
        ASSERT_EQ(words[3], "gauge");
        ASSERT_TRUE(families.insert(words[2]).second) << "in two pieces: " << line;
        current = words[2];
      } else if (words[1] == "UNIT") {
        ASSERT_TRUE(words[2].ends_with("_" + words[3])) << line;
      } else {
        ASSERT_EQ(words[1], "HELP") << line;
      }
      ASSERT_EQ(words[2], current) << line;
      continue;
    }
    Sample sample;
    ASSERT_TRUE(parse_sample(line, sample)) << line;
    ASSERT_EQ(sample.name, current) << line;
    ASSERT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
    samples.push_back(sample);
  }
}

const Sample* find(const std::vector<Sample>& samples, const std::string& name,
                   const std::string& key, const std::string& value) {
  for (const Sample& sample : samples) {
    const auto label = sample.labels.find(key);
    if (sample.name == name && label != sample.labels.end() && label->second == value)
      return &sample;
  }
  return nullptr;
}

TEST(OpenMetrics, AGateReadsBack) {
  std::vector<Sample> samples;
  parse(openmetrics({testing::every_status()}, {}), samples);
  double verdicts = 0;
  for (const Sample& sample : samples)
    if (sample.name == "sluice_gate_verdict") verdicts += sample.value;
  EXPECT_EQ(verdicts, 1);
  ASSERT_NE(find(samples, "sluice_gate_verdict", "verdict", "FAIL"), nullptr);
  EXPECT_EQ(find(samples, "sluice_gate_verdict", "verdict", "FAIL")->value, 1);
  ASSERT_NE(find(samples, "sluice_gate_current", "metric", "f_fail"), nullptr);
  EXPECT_EQ(find(samples, "sluice_gate_current", "metric", "f_fail")->value, 900);
  EXPECT_EQ(find(samples, "sluice_gate_baseline", "metric", "e_skip"), nullptr);
  EXPECT_TRUE(std::isnan(find(samples, "sluice_gate_current", "metric", "g_invalid")->value));
  EXPECT_TRUE(std::isinf(find(samples, "sluice_gate_delta", "metric", "g_invalid")->value));
}

TEST(OpenMetrics, HostileLabelsStayLabels) {
  std::vector<Sample> samples;
  parse(openmetrics({testing::hostile_report()}, {}), samples);
  ASSERT_FALSE(samples.empty());
  EXPECT_NE(samples.front().labels.at("machine").find("\"}\\n# EOF\\n"), std::string::npos);
}

TEST(OpenMetrics, RowsOfEveryFixture) {
  for (const auto& [name, file] : fixtures::all()) {
    std::vector<Sample> samples;
    parse(openmetrics({}, {file}), samples);
    for (const measure::Row& row : file.rows) {
      if (!row.summary || name == "hostile") continue;
      const bool there = std::ranges::any_of(samples, [&row = row](const Sample& sample) {
        return sample.name == "sluice_case_rate" && sample.labels.at("case") == row.case_name &&
               sample.labels.at("library") == row.library && sample.value == row.summary->median;
      });
      EXPECT_TRUE(there) << name << ": " << row.case_name;
    }
  }
}

TEST(OpenMetrics, NothingIsOnlyTheEnd) {
  EXPECT_EQ(openmetrics({}, {}), "# EOF\n");
}

}  // namespace
}  // namespace sluice::report::openmetrics_test
