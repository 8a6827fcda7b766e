// sluice/loader/data/labels.cpp - which class a sample is of: by its folder, or by a CSV file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/labels.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace sluice::loader {
namespace {

std::string_view without(std::string_view prefix, std::string_view name) {
  return name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size()) : name;
}

/// "train/" of "train/n0": classes are folders below a folder, never parts of a name.
std::optional<std::int32_t> label_number(std::string_view text) {
  std::int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct Row {
  std::string name;
  std::string label;
  std::uint64_t line;
};

/// One field off the front of `rest`, and the comma behind it.
Result<std::string> field(std::string_view& rest) {
  std::string value;
  if (rest.empty() || rest.front() != '"') {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    value = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    return value;
  }
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] != '"') {
      value += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == '"') {
      value += rest[i++];
    } else {
      rest.remove_prefix(i + 1);
      if (!rest.empty() && rest.front() != ',')
        return Error{Errc::invalid_input, "a comma or the end of the line follows a closing quote"};
      rest.remove_prefix(rest.empty() ? 0 : 1);
      return value;
    }
  }
  return Error{Errc::invalid_input, "a quote that is not closed on its line"};
}

Result<Row> parse_line(std::string_view line, std::uint64_t number_of_line) {
  std::string_view rest = line;
  if (rest.find(',') == rest.npos)
    return Error{Errc::invalid_input, fmt::format("'{}': a line 'name,label' is accepted",
                                                  printable(line.substr(0, 80)))};
  SLUICE_TRY(std::string name, field(rest));
  SLUICE_TRY(std::string label, field(rest));
  if (!rest.empty())
    return Error{Errc::invalid_input, "more than two columns: 'name,label' is accepted"};
  if (name.empty()) return Error{Errc::invalid_input, "the name is empty"};
  if (label.empty())
    return Error{Errc::invalid_input, fmt::format("'{}' has no label", printable(name))};
  return Row{.name = std::move(name), .label = std::move(label), .line = number_of_line};
}

/// Sorted by name.
Result<std::vector<Row>> read_rows(const std::filesystem::path& csv) {
  SLUICE_TRY(const std::string text, read_text_file(csv));
  const std::string file = printable(csv.string());
  std::vector<Row> rows;
  std::uint64_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    begin = end + 1;
    if (++line_number == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);
    if (line.empty() || (line_number == 1 && line == "name,label")) continue;
    auto row = parse_line(line, line_number);
    if (!row)
      return Error{row.error().code,
                   fmt::format("{}:{}: {}", file, line_number, row.error().message)};
    rows.push_back(std::move(*row));
  }
  if (rows.empty())
    return Error{Errc::invalid_input,
                 fmt::format("{}: no labels; lines 'name,label' are accepted", file)};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].name == rows[i - 1].name)
      return Error{Errc::invalid_input,
                   fmt::format("{}:{}: '{}' has a label already, in line {}", file, rows[i].line,
                               printable(rows[i].name), rows[i - 1].line)};
  return rows;
}

/// Class names, or none when all labels are numbers.
std::vector<std::string> classes_of(const std::vector<Row>& rows) {
  if (std::all_of(rows.begin(), rows.end(), [](const Row& row) { return label_number(row.label); }))
    return {};
  std::set<std::string_view> names;
  for (const Row& row : rows)
    names.insert(row.label);
  return {names.begin(), names.end()};
}

}  // namespace

std::string_view folder_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash + 1);
}

std::vector<std::string> label_by_folder(const Labelled& samples, std::string_view prefix) {
  const std::string_view above = folder_of(prefix);
  const auto class_of = [above](const std::string& name) {
    const std::string_view rest = without(above, name);
    const std::size_t slash = rest.find('/');
    return std::string(slash == rest.npos ? std::string_view() : rest.substr(0, slash));
  };
  std::map<std::string, std::int32_t> classes;
  for (std::uint64_t i = 0; i < samples.size; ++i)
    if (std::string name = class_of(samples.name(i)); !name.empty())
      classes.emplace(std::move(name), 0);
  std::vector<std::string> names;
  for (auto& [name, label] : classes) {
    label = static_cast<std::int32_t>(names.size());
    names.push_back(name);
  }
  for (std::uint64_t i = 0; i < samples.size; ++i)
    if (const auto found = classes.find(class_of(samples.name(i))); found != classes.end())
      samples.set(i, found->second);
  return names;
}

Result<std::vector<std::string>> label_by_csv(const Labelled& samples, std::string_view prefix,
                                              const std::filesystem::path& csv) {
  SLUICE_TRY(const std::vector<Row> rows, read_rows(csv));
  const std::vector<std::string> classes = classes_of(rows);
  const std::string file = printable(csv.string());
  const auto find = [&](std::string_view name) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), name,
                                      [](const Row& a, std::string_view b) { return a.name < b; });
    return row != rows.end() && row->name == name ? &*row : nullptr;
  };
  std::vector<bool> used(rows.size());
  for (std::uint64_t i = 0; i < samples.size; ++i) {
    const std::string name = samples.name(i);
    const Row* row = find(name);
    if (row == nullptr) row = find(without(folder_of(prefix), name));
    if (row == nullptr)
      return Error{Errc::invalid_input,
                   fmt::format("{}: no label for '{}'; every sample needs a line 'name,label'",
                               file, printable(name))};
    used[static_cast<std::size_t>(row - rows.data())] = true;
    const auto place = std::lower_bound(classes.begin(), classes.end(), row->label);
    samples.set(i, classes.empty() ? label_number(row->label).value_or(-1)
                                   : static_cast<std::int32_t>(place - classes.begin()));
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end()) {
    const Row& row = rows[static_cast<std::size_t>(unused - used.begin())];
    return Error{Errc::invalid_input, fmt::format("{}:{}: there is no sample '{}'", file, row.line,
                                                  printable(row.name))};
  }
  return classes;
}

}  // namespace sluice::loader
