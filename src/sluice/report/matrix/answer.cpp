// sluice/report/matrix/answer.cpp - counts the lines that a library leads, and finds the next one.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/matrix/answer.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::report {
namespace {

bool ranks(const MatrixTable& table, const MatrixCell& cell) {
  return has_number(cell) && cell.note == 0 && cell.row->unit == table.unit;
}

/// How many times as fast `a` is as `b`.
double times_as_fast(const MatrixCell& a, const MatrixCell& b) {
  const bool same_session = a.file->session_id == b.file->session_id;
  if (const auto ratio = analysis::row_ratio(*a.row, *b.row, same_session)) return ratio->point;
  const double ratio = a.row->summary->median / b.row->summary->median;
  return a.row->better == measure::Better::higher ? ratio : 1 / ratio;
}

/// One other library beside the one to take.
struct Rival {
  std::size_t lines = 0;  // that both have
  double log_sum = 0, low = 0, high = 0;
};

Rival rival_of(const MatrixTable& table, std::size_t take, std::size_t other) {
  Rival rival;
  for (const MatrixLine& line : table.lines) {
    if (!ranks(table, line.cells[take]) || !ranks(table, line.cells[other])) continue;
    const double ratio = times_as_fast(line.cells[take], line.cells[other]);
    rival.low = rival.lines == 0 ? ratio : std::min(rival.low, ratio);
    rival.high = rival.lines == 0 ? ratio : std::max(rival.high, ratio);
    rival.log_sum += std::log(ratio);
    ++rival.lines;
  }
  return rival;
}

/// The nearest among those that have half of the lines; without any, among all.
void find_next(MatrixAnswer& answer, const MatrixTable& table) {
  for (const bool half : {true, false}) {
    double nearest = 0;
    for (std::size_t c = 0; c < table.columns.size() && !(half == false && answer.next); ++c) {
      if (c == *answer.take) continue;
      const Rival rival = rival_of(table, *answer.take, c);
      if (rival.lines == 0 || (half && 2 * rival.lines < answer.rows)) continue;
      const double mean = rival.log_sum / static_cast<double>(rival.lines);
      if (answer.next && mean >= nearest) continue;
      nearest = mean;
      answer.next = c;
      answer.slower_low = rival.low;
      answer.slower_high = rival.high;
    }
    if (answer.next) return;
  }
}

std::string times_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.2f}", ratio) : significant(ratio, 3);
}

std::string next_text(const MatrixTable& table, const MatrixAnswer& answer) {
  if (!answer.next) return "";
  const std::string low = times_text(answer.slower_low), high = times_text(answer.slower_high);
  const std::string range = low == high ? low : low + " to " + high;
  const std::string name = printable(table.columns[*answer.next].library);
  if (answer.slower_low < 1) return fmt::format("; next is {}, {} × its time", name, range);
  return fmt::format("; next is {}, {} × slower", name, range);
}

/// "sluice in 2, opencv in 1", without the column `but`.
std::string fastest_list(const MatrixTable& table, const MatrixAnswer& answer,
                         std::optional<std::size_t> but) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < answer.fastest.size(); ++c)
    if (answer.fastest[c] > 0 && c != but) order.push_back(c);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return answer.fastest[a] > answer.fastest[b];
  });
  std::vector<std::string> parts;
  for (const std::size_t c : order)
    parts.push_back(
        fmt::format("{} in {}", printable(table.columns[c].library), answer.fastest[c]));
  return join(parts);
}

std::string close_text(const MatrixAnswer& answer) {
  return answer.close == 0 ? "" : fmt::format("{} too close to call", answer.close);
}

}  // namespace

MatrixAnswer answer_of(const MatrixTable& table) {
  MatrixAnswer answer;
  answer.fastest.resize(table.columns.size());
  for (const MatrixLine& line : table.lines) {
    if (!line.lead) continue;
    ++answer.rows;
    if (!line.lead->low) ++answer.without_interval;
    if (line.lead->low && *line.lead->low > 1) ++answer.fastest[line.lead->first];
    if (line.lead->low && *line.lead->low <= 1) ++answer.close;
  }
  const auto most = std::max_element(answer.fastest.begin(), answer.fastest.end());
  if (most == answer.fastest.end() || *most == 0) return answer;
  const auto others = std::count_if(answer.fastest.begin(), answer.fastest.end(),
                                    [](std::size_t lines) { return lines > 0; });
  if (2 * *most <= answer.rows && others > 1) return answer;
  answer.take = static_cast<std::size_t>(most - answer.fastest.begin());
  find_next(answer, table);
  return answer;
}

std::string answer_text(const MatrixTable& table) {
  const MatrixAnswer answer = answer_of(table);
  if (answer.rows == 0) return wins_text(table);
  if (answer.without_interval == answer.rows)
    return wins_text(table) + " Single runs: no interval says how sure that is.";
  if (answer.close == answer.rows)
    return fmt::format("Too close to call in all {} rows; more runs may separate the libraries.",
                       answer.rows);
  if (!answer.take) {
    const std::string close = close_text(answer);
    return fmt::format(
        "No one library to take: of {} rows {} fastest{}; choose by the rows that "
        "you use.",
        answer.rows, fastest_list(table, answer, std::nullopt), close.empty() ? "" : ", " + close);
  }
  std::vector<std::string> besides;
  if (const std::string list = fastest_list(table, answer, answer.take); !list.empty())
    besides.push_back(list);
  if (answer.close > 0) besides.push_back(close_text(answer));
  return fmt::format("Take {}: fastest in {} of {} row{}{}{}.",
                     printable(table.columns[*answer.take].library), answer.fastest[*answer.take],
                     answer.rows, answer.rows == 1 ? "" : "s",
                     besides.empty() ? "" : " (" + join(besides) + ")", next_text(table, answer));
}

Json answer_json(const MatrixTable& table) {
  const MatrixAnswer answer = answer_of(table);
  Json lines = Json::array();
  for (const MatrixLine& line : table.lines) {
    Json one{{"case", line.case_name}, {"fastest", nullptr}, {"next", nullptr}, {"ratio", nullptr}};
    if (line.lead) {
      one["fastest"] = table.columns[line.lead->first].library;
      one["next"] = table.columns[line.lead->second].library;
      one["ratio"] = Json{{"point", line.lead->ratio}, {"low", nullptr}, {"high", nullptr}};
      if (line.lead->low) one["ratio"]["low"] = *line.lead->low;
      if (line.lead->high) one["ratio"]["high"] = *line.lead->high;
    }
    one["share_of_memory_copy_speed"] = line.of_copy ? Json(*line.of_copy) : Json();
    one["not_comparable"] = Json::array();
    for (std::size_t c = 0; c < line.cells.size(); ++c)
      if (line.cells[c].note != 0) one["not_comparable"].push_back(table.columns[c].library);
    lines.push_back(std::move(one));
  }
  return Json{{"sentence", answer_text(table)},
              {"take", answer.take ? Json(table.columns[*answer.take].library) : Json()},
              {"rows", std::move(lines)}};
}

}  // namespace sluice::report
