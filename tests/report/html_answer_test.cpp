// tests/report/html_answer_test.cpp - the page of every kind opens with its answer, and its numbers
// are those of the file and of the terminal.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/report/diagnose_text.h"
#include "sluice/report/loader_text.h"
#include "sluice/report/report.h"
#include "sluice/report/storage_text.h"
#include "sluice/report/training_text.h"
#include "sluice/report/tune_text.h"
#include "sluice/results/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.h"
#include "tests/results/fixtures.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

namespace sluice::report::html_answer_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKinds[] = {
    "diagnose", "loader",  "loader-peers", "training", "matrix", "training-amp", "transforms",
    "mixture",  "storage", "tune",         "watch",    "tour",   "pairs"};

Json document_of(const std::string& kind) {
  const fs::path path = testing_support::source_dir() / "tests/results/kinds" / (kind + ".json");
  return *parse_json(*read_text_file(path), path.string());
}

results::ResultFile file_of(const Json& document) {
  auto file = results::from_json(document, "document");
  EXPECT_TRUE(file) << file.error().message;
  return file ? *file : results::ResultFile{};
}

/// The first capture of `form` in `text`, as a number; thousands are grouped on the page.
double number_in(const std::string& text, const std::string& form) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(form))) {
    ADD_FAILURE() << "no " << form;
    return NAN;
  }
  std::string digits = found[1].str();
  std::erase(digits, ',');
  return std::strtod(digits.c_str(), nullptr);
}

/// Whether `shown` is `value` as far as a reader sees: three significant digits, or `digit`, the
/// last that is shown.
void expect_shown(double shown, double value, const std::string& what, double digit = 0.001) {
  EXPECT_NEAR(shown, value, std::max(std::fabs(value) * 5e-3, digit / 2)) << what;
}

std::string answer_of(const std::string& page) {
  const std::size_t from = page.find("<div class=\"answer\">");
  if (from == std::string::npos) return "";
  const std::string answer = page.substr(from, page.find("<nav", from) - from);
  return std::regex_replace(answer, std::regex("\u00a0"), " ");
}

struct Number {
  const char* kind;
  const char* form;     // one capture
  const char* pointer;  // into the result file
  double scale = 1;
};

TEST(HtmlAnswerTest, NumbersOfTheAnswerAreThoseOfTheFile) {
  const Number numbers[] = {
      {"diagnose", "loader alone ([\\d.,]+) ms", "/summary/attribution/loader_ms_per_batch"},
      {"diagnose", "loader alone [\\d.,]+ ms .([\\d.,]+) to",
       "/summary/attribution/loader_ms_per_batch_ci95/low"},
      {"diagnose", "step alone ([\\d.,]+) ms", "/summary/attribution/step_ms_per_batch"},
      {"diagnose", "together ([\\d.,]+) ms", "/summary/attribution/together_ms_per_batch"},
      {"diagnose", "ideal ([\\d.,]+) ms", "/summary/attribution/ideal_ms_per_batch"},
      {"diagnose", "waiting for data ([\\d.,]+) %", "/summary/attribution/wait_share", 100},
      {"loader-peers", "delivers ([\\d.,]+) samples/s", "/metrics/throughput_samples_per_sec"},
      {"loader-peers", "([\\d.,]+)× as fast as dali-cpu", "/summary/peer_ratios/2/ratio"},
      {"loader-peers", "decode takes ([\\d.,]+) %", "/summary/stages/1/share_of_worker_time", 100},
      {"loader-peers", "would allow ([\\d.,]+) samples/s",
       "/summary/stages/1/ceiling_samples_per_sec"},
      {"loader", "delivers ([\\d.,]+) samples/s", "/metrics/throughput_samples_per_sec"},
      {"training", "headline\">([\\d.,]+) samples/s", "/metrics/throughput/samples_per_sec_p50"},
      {"training", "takes ([\\d.,]+) ms", "/metrics/timing/step_time_p50_s", 1e3},
      {"training", "p90 ([\\d.,]+) ms", "/metrics/timing/step_time_p90_s", 1e3},
      {"training", "([\\d.,]+)× as fast as torch-compile", "/summary/peer_ratios/1/ratio"},
      {"training", "backward takes ([\\d.,]+) ms", "/metrics/phases/per_step/backward_s", 1e3},
      {"watch", "takes ([\\d.,]+) ms", "/metrics/timing/step_time_p50_s", 1e3},
      {"mixture", "delivers ([\\d.,]+) samples/s", "/metrics/samples_per_s"},
      {"tune", "Use (\\d+) workers", "/summary/tune/recommended/workers"},
      {"tune", "prefetch \\d: ([\\d.,]+) samples/s", "/summary/tune/rates/0/rate"},
      {"storage", "memory: ([\\d.,]+) MB/s in sequence", "/summary/storage/0/mb_per_s/point"},
      {"transforms", "in ([\\d]+) of 57 transforms", "/summary/wins"},
      {"transforms", "([\\d.,]+)× in the geometric mean", "/summary/geomean_ratio"},
  };
  for (const Number& one : numbers) {
    const Json document = document_of(one.kind);
    const std::string answer = answer_of(html({file_of(document)}));
    const Json& value = document.at(Json::json_pointer(one.pointer));
    expect_shown(number_in(answer, one.form), value.get<double>() * one.scale,
                 std::string(one.kind) + " " + one.pointer + "\n" + answer);
  }
}

TEST(HtmlAnswerTest, PageAndTerminalShowTheSameNumbers) {
  const auto both = [](const std::string& with_fixed_spaces, const std::string& page_form,
                       const std::string& text, const std::string& text_form) {
    const std::string page = std::regex_replace(with_fixed_spaces, std::regex("\u00a0"), " ");
    expect_shown(number_in(page, page_form), number_in(text, text_form), page_form);
  };
  const results::ResultFile loader = file_of(document_of("loader-peers"));
  both(html({loader}), "delivers ([\\d.,]+)", loader_text(loader), "Throughput: ([\\d.]+)");
  const results::ResultFile training = file_of(document_of("training"));
  const std::string trained = html({training});
  both(trained, "takes ([\\d.,]+) ms", training_text(training), "Total: ([\\d.]+) ms");
  both(trained, "<span>forward</span><span class=\"value\">([\\d.,]+) ms", training_text(training),
       "forward +([\\d.]+)");
  const results::ResultFile found = file_of(document_of("diagnose"));
  both(html({found}), "loader alone ([\\d.,]+) ms", diagnose_text(found),
       "loader alone +([\\d.]+) ms");
  both(html({found}), "waiting for data ([\\d.,]+) %", diagnose_text(found),
       "waiting for data +([\\d.]+) %");
  const results::ResultFile tune = file_of(document_of("tune"));
  both(html({tune}), "prefetch \\d: ([\\d.,]+) samples/s", tune_text(tune), "2 / 2 +([\\d.]+)");
}

TEST(HtmlAnswerTest, LanesHoldEveryStageOfTheFile) {
  const Json document = document_of("diagnose");
  const std::string page = html({file_of(document)});
  for (const Json& stage : document.at(Json::json_pointer("/summary/stages"))) {
    if (!stage.contains("ceiling_samples_per_sec")) continue;
    const std::string lane = "<span>" + stage.at("stage").get<std::string>() + "</span><svg[^\n]*";
    expect_shown(number_in(page, lane + "value\">([\\d.]+) %"),
                 stage.at("share_of_worker_time").get<double>() * 100, lane, 0.1);
    expect_shown(number_in(page, lane + "max ([\\d,]+) samples/s"),
                 stage.at("ceiling_samples_per_sec").get<double>(), lane);
  }
}

TEST(HtmlAnswerTest, AnswerThenPicturesThenTablesThenText) {
  for (const char* kind : kKinds) {
    const std::string page = html({file_of(document_of(kind))});
    const std::size_t answer = page.find("<div class=\"answer\">");
    const std::size_t pictures = page.find("<div class=\"pictures\">");
    const std::size_t table = page.find("<table");
    ASSERT_NE(answer, std::string::npos) << kind;
    EXPECT_LT(answer, table) << kind;
    if (pictures != std::string::npos) {
      EXPECT_LT(answer, pictures) << kind;
      EXPECT_LT(pictures, table) << kind;
    }
    const std::size_t text = page.find("<pre class=\"terminal\">");
    if (page.find("id=\"Text") != std::string::npos) {
      EXPECT_GT(text, page.rfind("<table")) << kind;
      EXPECT_GT(text, page.rfind("<svg")) << kind;
    }
    EXPECT_THAT(page, HasSubstr("What to do next")) << kind;
  }
}

TEST(HtmlAnswerTest, SeveralSessionsAreListedWithTheirAnswers) {
  results::ResultFile other = file_of(document_of("tune"));
  other.session_id = "another";
  const std::string page = html({file_of(document_of("diagnose")), other});
  const std::string index = page.substr(0, page.find("<section"));
  EXPECT_THAT(index, HasSubstr("<a href=\"#Session\">sluice diagnose</a> INPUT: it is the loader"));
  EXPECT_THAT(index, HasSubstr("<a href=\"#Session-2\">sluice tune</a> Use 2 workers"));
  EXPECT_THAT(page, HasSubstr("id=\"Session-2\""));
}

TEST(HtmlAnswerTest, MemoryIsDrawnWhereTheFileHasIt) {
  EXPECT_THAT(html({file_of(document_of("loader-peers"))}), HasSubstr("class=\"memory-line\""));
  EXPECT_THAT(html({file_of(document_of("diagnose"))}), Not(HasSubstr("class=\"memory-line\"")));
}

TEST(HtmlAnswerTest, StringsOfConclusionsStayText) {
  const std::string markup = "<b onclick=\"x\">`&'";
  for (const char* kind : kKinds) {
    Json document = document_of(kind);
    std::size_t replaced = 0;
    for (const char* section : {"metrics", "verdict", "summary"}) {
      if (!document.contains(section)) continue;
      const Json flat = document[section].flatten();
      for (const auto& [pointer, value] : flat.items()) {
        if (!value.is_string()) continue;
        Json changed = document;
        changed[section][Json::json_pointer(pointer)] = markup;
        if (!results::from_json(changed, kind)) continue;  // one of a set of words
        document = std::move(changed);
        ++replaced;
      }
    }
    const std::string page = html({file_of(document)});
    EXPECT_THAT(page, Not(HasSubstr("<b on"))) << kind;
    EXPECT_THAT(page, Not(HasSubstr("onclick=\"x\""))) << kind;
    EXPECT_TRUE(replaced > 10 || std::string(kind) != "diagnose") << replaced;
  }
}

TEST(HtmlAnswerTest, APageWithoutAPartStillReads) {
  for (const char* kind : kKinds) {
    const Json document = document_of(kind);
    for (const char* section : {"metrics", "verdict", "summary"}) {
      if (!document.contains(section)) continue;
      for (const auto& [key, value] : document[section].items()) {
        Json changed = document;
        changed[section].erase(key);
        const auto file = results::from_json(changed, kind);
        if (!file) continue;
        const std::string page = html({*file});
        const std::string what = std::string(kind) + " without " + key;
        EXPECT_THAT(page, HasSubstr("<div class=\"answer\">")) << what;
        EXPECT_THAT(page, Not(HasSubstr("headline\"></p>"))) << what;
        EXPECT_FALSE(std::regex_search(answer_of(page), std::regex("\\bnan\\b|\\binf\\b"))) << what;
      }
    }
  }
}

TEST(HtmlAnswerTest, RowsThatWereBrokenOffAreNotMeasured) {
  results::ResultFile file = file_of(document_of("training"));
  file.training.reset();
  file.training_summary.reset();
  file.peer_ratios.clear();
  ASSERT_FALSE(file.rows.empty());
  for (measure::Row& row : file.rows) {
    ASSERT_FALSE(row.runs.empty());
    row.status = measure::RowStatus::skipped;
    row.reason = "interrupted after 1 of 3 runs; continue with --resume";
  }
  const std::string answer = answer_of(html({file}));
  EXPECT_THAT(answer,
              HasSubstr("0 of " + std::to_string(file.rows.size()) + " rows were measured"));
  EXPECT_THAT(answer, HasSubstr("--resume goes on where rows were broken off"));
}

TEST(HtmlAnswerTest, NoiseIsSaidOnceAndDoesNotContradictItself) {
  results::ResultFile file = fixtures::quick();
  const auto count = [](const std::string& page, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = page.find(part); at != std::string::npos; at = page.find(part, at + 1))
      ++n;
    return n;
  };
  std::string page = html({file});
  EXPECT_THAT(page, HasSubstr("<strong>Noise:</strong> usable, score 62 of 100, checked before the "
                              "rows"));
  EXPECT_EQ(count(page, "Noise"), 1U);
  EXPECT_THAT(page, HasSubstr("Give the run whole cores."));

  file.environment["noise"]["verdict"] = "quiet";
  file.environment["noise"]["score"] = 98;
  page = html({file});
  EXPECT_THAT(page, HasSubstr("<strong>Noise:</strong> quiet, score 98 of 100"));
  EXPECT_THAT(page, Not(HasSubstr("not quiet")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"callout\"")));
  EXPECT_THAT(markdown({file}), Not(HasSubstr("> **Noise:**")));
  EXPECT_THAT(text_table({file}), Not(HasSubstr("noise:")));

  file.training = results::TrainingMetrics{};
  EXPECT_THAT(html({file}), HasSubstr("score 98 of 100, checked after the rows"));
}

}  // namespace
}  // namespace sluice::report::html_answer_test
