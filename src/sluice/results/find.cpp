// sluice/results/find.cpp - which files of a folder are result files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace sluice::results {
namespace fs = std::filesystem;
namespace {

/// The other JSON files of a run folder: met when a folder of run folders is given.
bool other_document(const fs::path& path) {
  static constexpr const char* kNames[] = {"env.json",      "verdict.json",    "trace.json",
                                           "eval.json",     "metrics.json",    "run_summary.json",
                                           "manifest.json", "validation.json", "coverage.json"};
  const std::string name = path.filename().string();
  return name.front() == '.' ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// Looks for a key of ours in the outermost object, and stops there: our files have it first, so
/// that they are not parsed twice.
class KeySearch : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] bool found() const { return found_; }

  bool key(string_t& name) override {
    found_ = depth_ == 1 && in_object_ && (name == "schema_version" || name == "rows");
    return !found_;
  }
  bool start_object(std::size_t) override {
    if (depth_++ == 0) in_object_ = true;
    return true;
  }
  bool end_object() override { return left(); }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override { return left(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool left() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool in_object_ = false;
  bool found_ = false;
};

/// Sound JSON of somebody else: named and passed over. What does not parse may be a result that was
/// cut off, and is left to whoever reads it.
bool foreign(const fs::path& path) {
  const auto text = read_text_file(path);
  if (!text) return false;
  KeySearch search;
  const bool whole = Json::sax_parse(*text, &search);
  if (search.found() || !whole) return false;
  log::warn("{}: is no result file, passed over", printable(path.string()));
  return true;
}

Error io_error(const fs::path& path, const std::error_code& code) {
  return Error{Errc::io,
               fmt::format("{}: cannot be listed: {}", printable(path.string()), code.message())};
}

}  // namespace

Result<std::vector<fs::path>> find(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) {
    return Error{Errc::not_found,
                 fmt::format("{}: does not exist; give a result file or a run folder",
                             printable(path.string()))};
  }
  if (code) return io_error(path, code);
  if (!fs::is_directory(status)) return std::vector<fs::path>{path};

  const fs::path folder = fs::is_directory(path / "results", code) ? path / "results" : path;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator it(folder, code);
  if (code) return io_error(folder, code);
  for (const fs::recursive_directory_iterator end; it != end;) {
    const fs::path& entry = it->path();
    if (entry.extension() == ".json" && !other_document(entry) && it->is_regular_file(code) &&
        !foreign(entry))
      files.push_back(entry);
    it.increment(code);
    if (code) return io_error(folder, code);
  }
  if (files.empty()) {
    return Error{
        Errc::not_found,
        fmt::format("{}: holds no result file (*.json); give a result file or a run folder",
                    printable(folder.string()))};
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace sluice::results
