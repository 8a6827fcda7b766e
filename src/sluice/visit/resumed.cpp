// sluice/visit/resumed.cpp - rows are the same by case and library.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/resumed.h"

#include <algorithm>

namespace sluice::visit {

std::vector<measure::Row> rows_for(const std::vector<measure::SubjectSpec>& subjects,
                                   const results::ResultFile& file) {
  std::vector<measure::Row> rows(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const auto* list : {&file.canary, &file.rows}) {
      for (const measure::Row& row : *list) {
        if (row.case_name == subjects[i].case_name && row.library == subjects[i].library)
          rows[i] = row;
      }
    }
  }
  return rows;
}

std::vector<measure::Row> later_rows(const std::vector<measure::SubjectSpec>& subjects,
                                     const results::ResultFile& file) {
  std::vector<measure::Row> rows;
  for (const measure::Row& row : file.rows) {
    const auto same = [&](const measure::SubjectSpec& spec) {
      return row.case_name == spec.case_name && row.library == spec.library;
    };
    if (std::none_of(subjects.begin(), subjects.end(), same)) rows.push_back(row);
  }
  return rows;
}

}  // namespace sluice::visit
