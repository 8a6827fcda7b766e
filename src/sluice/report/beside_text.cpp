// sluice/report/beside_text.cpp - the rows that other libraries have too, for a terminal: one line
// per case, ours over each of them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/paint.h"
#include "sluice/report/text_parts.h"

#include <algorithm>

namespace sluice::report {
namespace {

constexpr std::size_t kBesideGap = 2;

/// "Resize" of "image-rgb/micro/Resize": within one table the rest says nothing.
std::string short_case(const std::string& name) {
  constexpr std::string_view kMicro = "/micro/";
  const std::size_t at = name.find(kMicro);
  return clip(at == std::string::npos ? name : name.substr(at + kMicro.size()), 40);
}

std::string over_title(const std::string& peer) {
  return "over " + clip(printable(peer), 24);
}

std::string our_rate(const Line& line) {
  if (!has_summary(*line.row)) return status_cell(*line.row);
  const Scale scale = scale_of(*line.row);
  return scale.number(line.row->summary->median) + " " + scale.unit();
}

/// A cell and its colour.
struct PaintedCell {
  std::string text;
  const char* colour = "";
};

PaintedCell over(const Line& line) {
  if (!line.behind) return {status_cell(*line.row), kDim};
  const bool other_work = !line.row->not_comparable.empty();
  return {ratio_text(*line.behind) + (other_work ? "*" : ""), line.behind->low > 1    ? kGreen
                                                              : line.behind->high < 1 ? kRed
                                                                                      : ""};
}

/// One case: ours, then the others in the order of `peers`.
struct BesideCase {
  const Line* ours = nullptr;
  std::vector<const Line*> others;
};

std::vector<BesideCase> cases_of(const std::vector<Line>& lines,
                                 const std::vector<std::string>& peers) {
  std::vector<BesideCase> cases;
  for (const Line& line : lines) {
    if (line.row->library != kOurs) continue;
    BesideCase one{&line, std::vector<const Line*>(peers.size())};
    for (const Line& other : lines) {
      const auto peer = std::find(peers.begin(), peers.end(), other.row->library);
      if (peer != peers.end() && other.row->case_name == line.row->case_name)
        one.others[static_cast<std::size_t>(peer - peers.begin())] = &other;
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<std::string> other_libraries(const std::vector<Line>& lines) {
  std::vector<std::string> peers;
  for (const Line& line : lines) {
    const std::string& name = line.row->library;
    if (name != kOurs && std::find(peers.begin(), peers.end(), name) == peers.end())
      peers.push_back(name);
  }
  return peers;
}

/// Columns of text: the first to the left, the second to the right, the others to the left.
std::string aligned_cells(const std::vector<std::vector<PaintedCell>>& rows, const Paint& paint) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c].text));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool last = c + 1 == row.size();
      const std::string text = last ? row[c].text : padded(row[c].text, widths[c], c == 1);
      line += (c > 0 ? std::string(kBesideGap, ' ') : "") +
              (*row[c].colour != '\0' ? paint(row[c].colour, text) : text);
    }
    out += without_trailing_space(line) + "\n";
  }
  return out;
}

std::size_t width_of(const std::vector<BesideCase>& cases, std::size_t peer,
                     const std::string& title) {
  std::size_t width = display_width(title);
  for (const BesideCase& one : cases)
    if (one.others[peer] != nullptr)
      width = std::max(width, display_width(over(*one.others[peer]).text));
  return width;
}

/// The peers from `first` on that fit beside the names and our rates; at least one.
std::size_t fitting(const std::vector<BesideCase>& cases, const std::vector<std::string>& peers,
                    std::size_t first, std::size_t limit) {
  std::size_t names = 0, rates = 0;
  for (const BesideCase& one : cases) {
    names = std::max(names, display_width(short_case(case_cell(*one.ours->row))));
    rates = std::max(rates, display_width(our_rate(*one.ours)));
  }
  std::size_t used = names + kBesideGap + rates, end = first;
  for (; end < peers.size(); ++end) {
    used += kBesideGap + width_of(cases, end, over_title(peers[end]));
    if (end > first && used > limit) break;
  }
  return end;
}

std::vector<std::vector<PaintedCell>> beside_block(const std::vector<BesideCase>& cases,
                                                   const std::vector<std::string>& peers,
                                                   std::size_t first, std::size_t end) {
  std::vector<std::vector<PaintedCell>> rows{{{"case", kDim}, {kOurs, kDim}}};
  for (std::size_t p = first; p < end; ++p)
    rows[0].push_back({over_title(peers[p]), kDim});
  for (const BesideCase& one : cases) {
    std::vector<PaintedCell> row{{short_case(case_cell(*one.ours->row))}, {our_rate(*one.ours)}};
    for (std::size_t p = first; p < end; ++p)
      row.push_back(one.others[p] != nullptr ? over(*one.others[p])
                                             : PaintedCell{std::string(kNone), kDim});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string beside_reasons(const std::vector<Line>& lines, const TextOptions& options) {
  std::string out;
  for (const Line& line : lines)
    if (line.row->status != measure::RowStatus::ok && !line.row->reason.empty())
      out += Paint(options.colour)(
          kDim, wrapped(short_case(case_cell(*line.row)) + " in " + library_cell(*line.row) + ": " +
                            status_cell(*line.row) + ": " + reason_cell(*line.row),
                        options.width, 2));
  return out;
}

}  // namespace

std::string beside_text(const std::vector<Line>& lines, const TextOptions& options) {
  const std::vector<std::string> peers = other_libraries(lines);
  if (peers.empty()) return "";
  const std::vector<BesideCase> cases = cases_of(lines, peers);
  if (cases.empty()) return "";
  const Paint paint(options.colour);
  std::string out =
      wrapped("How many times as fast ours is (95 % intervals, runs in pairs):", options.width, 0);
  for (std::size_t first = 0; first < peers.size();) {
    const std::size_t end = fitting(cases, peers, first, options.width);
    out += aligned_cells(beside_block(cases, peers, first, end), paint);
    first = end;
  }
  const bool starred = std::any_of(lines.begin(), lines.end(), [](const Line& line) {
    return line.behind && !line.row->not_comparable.empty();
  });
  if (starred) out += "* computes something else, see docs/semantics.md\n";
  return out + beside_reasons(lines, options);
}

}  // namespace sluice::report
