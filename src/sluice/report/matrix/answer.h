// sluice/report/matrix/answer.h - which library to take: what the lines of a matrix table come to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/report/matrix/matrix.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sluice::report {

/// Counted are lines that compare two libraries or more which compute the same. A library is
/// fastest in one where the 95 % interval of its lead lies above 1; else the line is too close to
/// call. The memory copy is no library.
struct MatrixAnswer {
  std::size_t rows = 0;              // lines that compare libraries
  std::size_t close = 0;             // of them: too close to call
  std::size_t without_interval = 0;  // of them: a single run on one side
  std::vector<std::size_t> fastest;  // lines, by column
  std::optional<std::size_t> take;   // fastest in over half of the lines, or the only one ever
  std::optional<std::size_t> next;   // nearest to it over the lines that both have
  double slower_low = 1, slower_high = 1;  // times that `next` takes as long, over those lines
};

MatrixAnswer answer_of(const MatrixTable& table);

/// "Take sluice: fastest in 5 of 5 rows; next is opencv, 1.80 to 2.40 × slower."
std::string answer_text(const MatrixTable& table);

/// The sentence, the library to take (null for none), and every line: who is fastest, over whom,
/// ratio and interval, share of memory copy speed, who is apart.
Json answer_json(const MatrixTable& table);

}  // namespace sluice::report
