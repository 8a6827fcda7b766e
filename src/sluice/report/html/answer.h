// sluice/report/html/answer.h - what a run comes to: the answer, why, and what to do next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/report/matrix/matrix.h"
#include "sluice/report/sections.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

/// Plain text, not yet escaped; strings of the file went through printable(). Text between
/// backquotes is a command.
struct Answer {
  std::string headline;              // one sentence
  std::vector<std::string> reasons;  // numbers with their intervals
  std::vector<std::string> next;     // what to do, first things first
};

/// One for every file of a kind that has an answer of its own, else one for all rows.
std::vector<Answer> answers(const Section& section);
/// Of the first table that compares libraries; the others are named in the reasons.
Answer matrix_answer(const std::vector<MatrixTable>& tables);

// By kind: nothing where the file is not of it.
std::optional<Answer> diagnosis_answer(const results::ResultFile& file);
std::optional<Answer> loader_answer(const results::ResultFile& file);
std::optional<Answer> training_answer(const results::ResultFile& file);
std::optional<Answer> tune_answer(const results::ResultFile& file);
std::optional<Answer> storage_answer(const results::ResultFile& file);
std::optional<Answer> allreduce_answer(const results::ResultFile& file);
std::optional<Answer> mixture_answer(const results::ResultFile& file);
std::optional<Answer> tour_answer(const results::ResultFile& file);
Answer rows_answer(const Section& section);

// What they share.

/// Four significant digits, as in the tables.
std::string figure(double value);
/// "2,150": no digits after the point.
std::string whole(double value);
/// The peer that comes closest to us, or is ahead: the smallest ratio of rows that may be compared.
std::optional<results::PeerRatio> best_peer(const results::ResultFile& file);
/// "1.96× (1.93 to 1.99) as fast as dali-cpu, the fastest of 5 beside it".
std::string peer_words(const results::ResultFile& file, const results::PeerRatio& peer);
/// First advice of the findings, first finding first; at most three.
std::vector<std::string> first_advice(const std::vector<results::Finding>& findings);
/// The one row of ours with a summary; null where there are several or none.
const measure::Row* only_row(const results::ResultFile& file, const std::string& case_name = "");
/// "faster than the fastest other library in 56 of 57 cases, level in 1 and slower in 0".
std::string standings_words(const results::VersusSummary& sum, const char* what);

/// A library of a table beside the fastest of the others, the yardstick aside.
struct Leader {
  std::string library;
  results::VersusSummary sum;  // of rows that have a ratio
};
/// The library that is fastest most often; nothing where no two libraries share a row. What a
/// result file says of it goes before what its rows here say.
std::optional<Leader> leader_of(const MatrixTable& table);

}  // namespace sluice::report
