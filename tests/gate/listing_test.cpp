// tests/gate/listing_test.cpp - rows that are not judged, warnings, canary, pooling, outcome and
// JSON.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gate/make_results.h"

namespace sluice::gate::listing_test {
namespace {

using measure::RowStatus;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<double> kSteady{100, 101, 99, 100.5, 99.5};
const std::vector<double> kSlow{80, 81, 79, 80.5, 79.5};
const std::vector<double> kFast{120, 121, 119, 120.5, 119.5};

Comparison must_compare(const results::ResultFile& base, const results::ResultFile& candidate) {
  auto comparison = compare(base, candidate);
  if (!comparison) {
    ADD_FAILURE() << comparison.error().message;
    return {};
  }
  return *comparison;
}

TEST(Listing, EveryStatusThatIsNotOkIsListedWithItsReason) {
  for (const RowStatus status :
       {RowStatus::early_stopped, RowStatus::unsupported, RowStatus::failed, RowStatus::skipped}) {
    for (const bool in_base : {true, false}) {
      measure::Row odd = row_with("case", status, "because of \x1b[31mreasons");
      odd.runs = row_of("case", kSlow).runs;  // even with runs
      const measure::Row fine = row_of("case", kSteady);
      const auto row = in_base ? compare_row(odd, fine) : compare_row(fine, odd);
      const bool measured = status == RowStatus::failed || status == RowStatus::early_stopped;
      EXPECT_EQ(row.verdict, in_base    ? GateStatus::skip
                             : measured ? GateStatus::invalid
                                        : GateStatus::fail);
      EXPECT_EQ(row.missing, !in_base && !measured);
      EXPECT_THAT(row.reason, AllOf(HasSubstr(measure::to_string(status)),
                                    HasSubstr(in_base ? "in base" : "in candidate"),
                                    HasSubstr("reasons"), Not(HasSubstr("\x1b"))));
      EXPECT_FALSE(row.p.has_value());
    }
  }
}

TEST(Listing, RowsOfOneSideAreListedInOrder) {
  const auto comparison = must_compare(file_of({row_of("a", kSteady), row_of("gone", kSteady)}),
                                       file_of({row_of("new", kSteady), row_of("a", kSteady)}));
  ASSERT_EQ(comparison.rows.size(), 3u);
  EXPECT_EQ(comparison.rows[0].case_name, "gone");
  EXPECT_EQ(comparison.rows[0].reason, "only in base; --allow-missing accepts that");
  EXPECT_FALSE(comparison.rows[0].candidate.has_value());
  EXPECT_EQ(comparison.rows[1].case_name, "a");
  EXPECT_EQ(comparison.rows[2].case_name, "new");
  EXPECT_EQ(comparison.rows[2].reason, "only in candidate");
  EXPECT_EQ(comparison.counts.skip, 1);
  EXPECT_EQ(comparison.counts.pass, 1);
}

// Two of three rows left out: what remains is as it was, and that is no proof of anything.
TEST(Listing, RowsThatVanishFailUnlessThatIsAllowed) {
  const auto base = file_of({row_of("a", kSteady), row_of("b", kSteady), row_of("c", kSteady),
                             row_with("d", RowStatus::unsupported, "never had it")});
  const auto candidate =
      file_of({row_of("a", kSteady), row_with("c", RowStatus::skipped, "not installed")});
  const auto comparison = must_compare(base, candidate);
  EXPECT_EQ(comparison.outcome, GateStatus::fail);
  EXPECT_EQ(comparison.counts.fail, 2);
  EXPECT_EQ(comparison.counts.missing, 2);
  EXPECT_EQ(comparison.counts.skip, 1) << "d was not measured in base either";
  EXPECT_THAT(comparison.summary,
              AllOf(HasSubstr("FAIL: 2 missing in candidate"), Not(HasSubstr("slower"))));
  const auto allowed = compare(base, candidate, {.allow_missing = true});
  ASSERT_TRUE(allowed.has_value());
  EXPECT_EQ(allowed->outcome, GateStatus::pass);
  EXPECT_EQ(allowed->counts.skip, 3);
}

TEST(Listing, ACanaryThatIsGoneFailsNothing) {
  auto base = file_of({row_of("a", kSteady)});
  const auto candidate = base;
  base.canary = {row_of("canary/gemm", kSteady)};
  const auto comparison = must_compare(base, candidate);
  EXPECT_EQ(comparison.outcome, GateStatus::pass);
  EXPECT_THAT(comparison.warnings, IsEmpty());
}

TEST(Listing, CaseLibraryAndParametersIdentifyARow) {
  measure::Row one = row_of("resize", kSteady);
  one.params = {{"threads", "1"}};
  measure::Row two = row_of("resize", kSlow);
  two.params = {{"threads", "2"}};
  measure::Row other = row_of("resize", kFast);
  other.library = "opencv";
  const auto comparison = must_compare(file_of({one, two, other}), file_of({other, two, one}));
  ASSERT_EQ(comparison.rows.size(), 3u);
  for (const RowComparison& row : comparison.rows)
    EXPECT_EQ(*row.p, 1.0) << label(row);
  EXPECT_EQ(label(comparison.rows[1]), "resize (threads=2)");
  EXPECT_EQ(label(comparison.rows[2]), "resize");
}

TEST(Listing, RowsWithoutSamplesOrInOtherUnitsAreNotJudged) {
  measure::Row empty = row_of("case", kSteady);
  for (measure::Run& run : empty.runs)
    run.samples_ns.clear();
  EXPECT_THAT(compare_row(row_of("case", kSteady), empty).reason,
              HasSubstr("no timed samples in candidate"));
  measure::Row nothing = row_of("case", kSteady);
  nothing.items_per_sample = 0;
  EXPECT_THAT(compare_row(nothing, row_of("case", kSteady)).reason,
              HasSubstr("no timed samples in base"));
  measure::Row bytes = row_of("case", kSteady);
  bytes.unit = "MB/s";
  EXPECT_THAT(compare_row(row_of("case", kSteady), bytes).reason, HasSubstr("MB/s"));
  measure::Row sense = row_of("case", kSteady);
  sense.better = measure::Better::lower;
  EXPECT_EQ(compare_row(row_of("case", kSteady), sense).verdict, GateStatus::invalid);
  EXPECT_EQ(compare_row(nothing, row_of("case", kSteady)).verdict, GateStatus::skip);
}

TEST(Listing, OutcomeIsTheWorstThatHappened) {
  const auto ok_row = row_of("x", kSteady);
  const auto failed = row_with("x", RowStatus::failed, "killed by signal 9");
  const auto a = row_of("a", kSteady);
  struct Case {
    results::ResultFile base, candidate;
    GateStatus outcome;
  };
  const std::vector<Case> table{
      {file_of({a, ok_row}), file_of({row_of("a", kSlow), failed}), GateStatus::fail},
      {file_of({a, ok_row}), file_of({row_of("a", kFast), failed}), GateStatus::invalid},
      {file_of({a, ok_row}), file_of({row_of("a", kFast), ok_row}), GateStatus::improved},
      {file_of({a, failed}), file_of({a, ok_row}), GateStatus::pass},
      {file_of({a, failed}), file_of({a, failed}), GateStatus::pass},
      {file_of({row_of("a", {1, 2})}), file_of({row_of("a", {1, 2})}), GateStatus::inconclusive},
      {file_of({a}), file_of({ok_row}), GateStatus::fail},
      {file_of({failed}), file_of({a}), GateStatus::skip},
      {file_of({}), file_of({}), GateStatus::skip},
  };
  for (const Case& c : table) {
    const auto comparison = must_compare(c.base, c.candidate);
    EXPECT_EQ(comparison.outcome, c.outcome) << comparison.summary;
  }
  const auto broken = must_compare(file_of({a, ok_row}), file_of({a, failed}));
  EXPECT_EQ(broken.counts.invalid, 1);
  EXPECT_THAT(broken.summary, AllOf(HasSubstr("INVALID"), HasSubstr("1 failed in candidate")));
}

TEST(Listing, WarningsSayWhyTheSetsMayNotBeComparable) {
  const auto base = file_of({row_of("a", kSteady)});
  EXPECT_THAT(must_compare(base, base).warnings, IsEmpty());
  auto other = base;
  other.machine_profile = "cpu-other";
  EXPECT_THAT(must_compare(base, other).warnings,
              Contains(AllOf(HasSubstr("machine profile"), HasSubstr("cpu-other"))));
  EXPECT_EQ(must_compare(base, other).rows[0].verdict, GateStatus::pass);  // still compared
  other = base;
  other.dataset.hash = "";
  EXPECT_THAT(must_compare(base, other).warnings,
              Contains(AllOf(HasSubstr("dataset hash"), HasSubstr("none"))));
  other = base;
  other.schema_version = 0;
  EXPECT_THAT(must_compare(base, other).warnings, Contains(HasSubstr("schema version")));
  other = base;
  other.timing.includes_decode = true;
  EXPECT_THAT(must_compare(base, other).warnings, Contains(HasSubstr("timing scope")));
  auto step = base;
  step.run_config = Json{{"command", "bench-training"}, {"device", "cpu"}, {"compile", "graph"}};
  step.training.emplace().mfu.estimator = "6ND";
  EXPECT_THAT(must_compare(step, step).warnings, IsEmpty());
  other = step;
  other.run_config["last_block"] = "class-token";
  EXPECT_THAT(must_compare(step, other).warnings,
              Contains(HasSubstr("last block: base full, candidate class-token")));
  other = step;
  other.training->mfu.estimator = "shapes";
  EXPECT_THAT(must_compare(step, other).warnings,
              Contains(HasSubstr("MFU estimator: base 6ND, candidate shapes")));
  other = base;
  other.rows[0].runs[2].throttled = true;
  EXPECT_THAT(must_compare(base, other).warnings, Contains(HasSubstr("throttled")));
  auto with_digest = base;
  with_digest.rows[0].output_digest = "1";
  other = base;
  other.rows[0].output_digest = "2";
  EXPECT_THAT(must_compare(with_digest, other).warnings, Contains(HasSubstr("different output")));
  EXPECT_THAT(must_compare(base, other).warnings, IsEmpty());  // one side has none to compare
  other = base;
  other.rows[0].runs[0].run_id = "s/a/sluice/0";
  EXPECT_THAT(must_compare(other, other).warnings, Contains(HasSubstr("share 1 runs")));
}

TEST(Listing, AnotherVersionOfAPeerIsNamed) {
  measure::Row peer = row_of("a", kSteady);
  peer.library = "torch-compile";
  peer.library_version = "2.14.0";
  const auto base = file_of({row_of("a", kSteady), peer});
  auto candidate = base;
  candidate.rows[0].library_version = "0.2.0";  // ours is what is compared
  EXPECT_THAT(must_compare(base, candidate).warnings, IsEmpty());
  candidate.rows[1].library_version = "2.15.0";
  EXPECT_THAT(must_compare(base, candidate).warnings,
              Contains(HasSubstr("torch-compile (base 2.14.0, candidate 2.15.0)")));
  candidate.rows[1].library_version = "";  // a failed row does not know it
  EXPECT_THAT(must_compare(base, candidate).warnings, IsEmpty());
}

TEST(Listing, CanaryIsReportedButNeverJudged) {
  auto base = file_of({row_of("a", kSteady)});
  base.canary = {row_of("canary/gemm", kSteady), row_of("canary/read", {5, 6})};
  auto candidate = base;
  candidate.canary[0] = row_of("canary/gemm", kSlow);
  const auto comparison = must_compare(base, candidate);
  EXPECT_EQ(comparison.outcome, GateStatus::pass);
  ASSERT_EQ(comparison.machine.size(), 2u);
  EXPECT_EQ(comparison.machine[0].verdict, GateStatus::skip);
  EXPECT_NEAR(*comparison.machine[0].ratio_point, 0.8, 1e-4);
  EXPECT_THAT(comparison.machine[0].reason, HasSubstr("slower"));
  EXPECT_THAT(comparison.machine[1].reason, HasSubstr("at least 3"));
  EXPECT_THAT(comparison.warnings,
              Contains(HasSubstr("the machine itself changed: canary canary/gemm")));
  EXPECT_EQ(*comparison.rows[0].p_holm, 1.0);  // the canary is no part of the family
}

TEST(Pooling, FilesOfOneSideAreOneSet) {
  auto first = file_of({row_of("a", {100, 101}), row_of("b", kSteady)});
  auto second = file_of({row_of("a", {99, 100})});
  for (auto* file : {&first, &second})
    file->canary = {row_of("canary", {7})};
  first.canary[0].runs[0].run_id = second.canary[0].runs[0].run_id = "session/canary/0";
  const analysis::ResultSet base{"base", {first, second}};
  const auto comparison = compare(
      base,
      analysis::ResultSet{"candidate", {file_of({row_of("a", kSlow), row_of("b", kSteady)})}});
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->rows.size(), 2u);
  EXPECT_EQ(comparison->rows[0].base->runs, 4);
  EXPECT_EQ(comparison->rows[0].verdict, GateStatus::fail);
  EXPECT_THAT(comparison->warnings,
              Contains(HasSubstr("base: runs of several files are pooled for a;")));
  ASSERT_EQ(comparison->machine.size(), 1u);
  EXPECT_EQ(comparison->machine[0].base->runs, 1);  // the same run in both files
}

TEST(Pooling, OneBadFileMakesTheRowBad) {
  const analysis::ResultSet base{
      "base",
      {file_of({row_of("a", kSteady)}), file_of({row_with("a", RowStatus::failed, "hung")})}};
  const auto comparison =
      compare(base, analysis::ResultSet{"candidate", {file_of({row_of("a", kSteady)})}});
  EXPECT_EQ(comparison->rows[0].verdict, GateStatus::skip);
  EXPECT_THAT(comparison->rows[0].reason, HasSubstr("hung"));
  auto odd = row_of("a", kSteady);
  odd.unit = "s";
  const analysis::ResultSet mixed{"base", {file_of({row_of("a", kSteady)}), file_of({odd})}};
  const auto conflict =
      compare(mixed, analysis::ResultSet{"candidate", {file_of({row_of("a", kSteady)})}});
  EXPECT_THAT(conflict->rows[0].reason, HasSubstr("disagree"));
}

TEST(ComparisonJson, SaysEverythingAndNullForWhatIsNotKnown) {
  auto base = file_of(
      {row_of("a", kSteady), row_of("b", {1, 2}), row_of("one", {1}), row_of("gone", kSteady)});
  base.canary = {row_of("canary", kSteady)};
  auto candidate = file_of({row_of("a", kSlow), row_of("b", {1, 2}), row_of("one", {1})});
  candidate.canary = base.canary;
  const Json json = to_json(must_compare(base, candidate));
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["counts"]["FAIL"], 2);
  EXPECT_EQ(json["counts"]["missing"], 1);
  EXPECT_EQ(json["options"]["threshold"], 0.05);
  EXPECT_EQ(json["rows"].size(), 4u);
  EXPECT_EQ(json["rows"][0]["verdict"], "FAIL");
  EXPECT_EQ(json["rows"][0]["base"]["runs"], 5);
  EXPECT_NEAR(json["rows"][0]["ratio"]["point"].get<double>(), 0.8, 1e-4);
  EXPECT_TRUE(json["rows"][1]["candidate"].is_null());
  EXPECT_TRUE(json["rows"][2]["p_holm"].is_null());
  EXPECT_TRUE(json["rows"][3]["ratio"]["low"].is_null());
  EXPECT_EQ(json["machine"].size(), 1u);
  // NaN and infinity would be written as null where a number is promised.
  for (const char* key : {"p", "p_holm", "mde"})
    EXPECT_TRUE(json["rows"][0][key].is_number()) << key;
  EXPECT_TRUE(parse_json(json.dump(), "comparison").has_value());
}

TEST(Listing, RegressionsComeFirstTheWorstOnTop) {
  const std::vector<double> slower{60, 61, 59, 60.5, 59.5};
  const auto comparison = must_compare(
      file_of({row_of("a", kSteady), row_of("b", kSteady), row_of("c", kSteady),
               row_of("d", kSteady), row_of("e", kSteady)}),
      file_of({row_of("a", kFast), row_of("b", kSlow), row_with("c", RowStatus::failed, "hung"),
               row_of("d", slower), row_of("e", kSteady)}));
  std::string order;
  for (const RowComparison& row : comparison.rows)
    order += row.case_name;
  EXPECT_EQ(order, "dbcae");
}

/// A folder as `sluice run` leaves it: a file per library, on the CPU and on a device.
analysis::ResultSet matrix_set(
    const std::vector<std::pair<std::string, std::vector<double>>>& files) {
  analysis::ResultSet set;
  for (const auto& [name, rates] : files) {
    measure::Row row = row_of("image-rgb/micro/Resize", rates);
    row.library = name.substr(0, name.find('@'));
    row.params = {{"transform", "Resize"}};
    results::ResultFile file = file_of({row});
    const std::string device = name.find('@') == std::string::npos ? "none" : "cuda";
    file.run_config = Json{{"selection", {{"scenario", "image-rgb"}, {"mode", "micro"}}},
                           {"execution", {{"device", device}}}};
    set.files.push_back(file);
  }
  return set;
}

TEST(Listing, MatrixFoldersPairByCaseLibraryAndDevice) {
  const auto base = matrix_set({{"kornia", kSteady}, {"kornia@cuda", kFast}, {"pillow", kSteady}});
  const auto candidate =
      matrix_set({{"pillow", kSlow}, {"kornia", kSteady}, {"kornia@cuda", kFast}});
  const auto comparison = compare(base, candidate);
  ASSERT_TRUE(comparison) << comparison.error().message;
  ASSERT_EQ(comparison->rows.size(), 3u);
  EXPECT_EQ(comparison->rows[0].library, "pillow");
  EXPECT_EQ(comparison->rows[0].verdict, GateStatus::fail);
  EXPECT_EQ(label(comparison->rows[1]), "image-rgb/micro/Resize");
  EXPECT_EQ(label(comparison->rows[2]), "image-rgb/micro/Resize (device=cuda)");
  EXPECT_EQ(comparison->rows[2].base->runs, 5) << "not pooled with the rows of the CPU";
  EXPECT_EQ(*comparison->rows[2].p, 1.0);
  EXPECT_THAT(comparison->warnings, IsEmpty());
}

}  // namespace
}  // namespace sluice::gate::listing_test
