// sluice/results/batch_times.cpp - one line per batch of a mixture: dominants, reading, writing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/batch_times.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/results/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace sluice::results {
namespace {

void read_seconds(const Fields& fields, Problem& problem, const char* key, double& out) {
  fields.read(key, out);
  if (out < 0) problem.report(fields.at(key), fmt::format("must be at least 0, is {}", out));
}

void read_counts(const Fields& fields, Problem& problem, BatchTime& batch) {
  const Json* counts = fields.find("dataset_counts");
  if (counts == nullptr) return;
  const Where at = fields.at("dataset_counts");
  if (!counts->is_object()) return problem.wrong(at, "an object", *counts);
  for (const auto& [name, value] : counts->items()) {
    const Where here{&at, name, -1};
    int count = 0;
    if (name.empty()) return problem.report(at, "has a data set without a name");
    if (!read_value(value, here, problem, count)) return;
    batch.dataset_counts.emplace_back(name, static_cast<std::uint32_t>(count));
  }
}

void read_dominant(const Fields& fields, Problem& problem, BatchTime& batch) {
  const Json* name = fields.find("dominant_dataset");
  if (name == nullptr || name->is_null()) return;
  if (!read_value(*name, fields.at("dominant_dataset"), problem, batch.dominant_dataset)) return;
  const bool counted =
      std::any_of(batch.dataset_counts.begin(), batch.dataset_counts.end(),
                  [&](const auto& one) { return one.first == name->get<std::string>(); });
  if (!counted) {
    problem.report(fields.at("dominant_dataset"),
                   fmt::format("must be one of dataset_counts or null, is \"{}\"",
                               printable(batch.dominant_dataset)));
  }
}

}  // namespace

void DominantMarker::mark(BatchTime& batch) {
  batch.dominant_gap_batches.reset();
  const auto& counts = batch.dataset_counts;
  const auto most = std::max_element(
      counts.begin(), counts.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });  // the first of equals
  batch.dominant_dataset = most == counts.end() ? std::string() : most->first;
  if (batch.is_warmup || batch.dominant_dataset.empty()) return;
  const auto [seen, first] = last_.try_emplace(batch.dominant_dataset, batch.idx);
  if (!first) batch.dominant_gap_batches = batch.idx - seen->second;
  seen->second = batch.idx;
}

void mark_dominants(std::span<BatchTime> batches) {
  DominantMarker marker;
  for (BatchTime& batch : batches)
    marker.mark(batch);
}

Json to_json(const BatchTime& batch) {
  Json counts = Json::object();
  for (const auto& [name, count] : batch.dataset_counts)
    counts[name] = count;
  Json json = {{"idx", batch.idx},
               {"dt_s", batch.dt_s},
               {"fetch_dt_s", batch.fetch_dt_s},
               {"materialize_dt_s", batch.materialize_dt_s},
               {"is_warmup", batch.is_warmup},
               {"dominant_dataset", nullptr},
               {"dataset_counts", std::move(counts)},
               {"dominant_gap_batches", nullptr}};
  if (!batch.dominant_dataset.empty()) json["dominant_dataset"] = batch.dominant_dataset;
  if (batch.dominant_gap_batches) json["dominant_gap_batches"] = *batch.dominant_gap_batches;
  if (batch.rss_bytes) json["rss_bytes"] = *batch.rss_bytes;
  return json;
}

Result<BatchTime> batch_time_from_json(const Json& json, std::string_view name) {
  Problem problem{std::string(name)};
  const Where root;
  const Fields fields(json, root, problem);
  BatchTime batch;
  fields.read("idx", batch.idx);
  read_seconds(fields, problem, "dt_s", batch.dt_s);
  read_seconds(fields, problem, "fetch_dt_s", batch.fetch_dt_s);
  read_seconds(fields, problem, "materialize_dt_s", batch.materialize_dt_s);
  fields.read("is_warmup", batch.is_warmup);
  read_counts(fields, problem, batch);
  read_dominant(fields, problem, batch);
  std::uint64_t number = 0;
  const Json* gap = fields.find("dominant_gap_batches");
  if (gap != nullptr && !gap->is_null()) {
    if (read_value(*gap, fields.at("dominant_gap_batches"), problem, number))
      batch.dominant_gap_batches = number;
    if (number == 0) problem.wrong(fields.at("dominant_gap_batches"), "at least 1 or null", *gap);
  }
  if (json.is_object() && json.contains("rss_bytes") && !json["rss_bytes"].is_null()) {
    if (read_value(json["rss_bytes"], fields.at("rss_bytes"), problem, number))
      batch.rss_bytes = number;
  }
  if (problem.found()) return problem.error();
  return batch;
}

Result<std::vector<BatchTime>> parse_batch_times(std::string_view text, std::string_view name) {
  std::vector<BatchTime> batches;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string here = fmt::format("{}: line {}", name, line);
    SLUICE_TRY(const Json json, parse_json(text.substr(0, end), here));
    SLUICE_TRY(BatchTime batch, batch_time_from_json(json, here));
    if (!batches.empty() && batch.idx <= batches.back().idx) {
      return Error{Errc::invalid_input,
                   fmt::format("{}: idx {} after {}: must rise", printable(here), batch.idx,
                               batches.back().idx)};
    }
    batches.push_back(std::move(batch));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return batches;
}

std::string batch_times_text(std::span<const BatchTime> batches) {
  std::string text;
  for (const BatchTime& batch : batches)
    text += dump_json(to_json(batch), -1) + "\n";
  return text;
}

Result<std::vector<BatchTime>> read_batch_times(const std::filesystem::path& path) {
  SLUICE_TRY(const std::string text, read_text_file(path));
  return parse_batch_times(text, path.string());
}

Result<std::unique_ptr<BatchTimesWriter>> BatchTimesWriter::open(
    const std::filesystem::path& path) {
  if (path.has_parent_path()) SLUICE_CHECK(create_folders(path.parent_path()));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0644);
  if (fd < 0)
    return Error{Errc::io, fmt::format("{}: cannot be written: {}", printable(path.string()),
                                       std::generic_category().message(errno))};
  return std::unique_ptr<BatchTimesWriter>(new BatchTimesWriter(path, fd));
}

BatchTimesWriter::~BatchTimesWriter() {
  ::close(fd_);
}

Status BatchTimesWriter::add(BatchTime batch) {
  marker_.mark(batch);
  const std::string line = batch_times_text({&batch, 1});
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t now = ::write(fd_, line.data() + written, line.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0)
      return Error{Errc::io, fmt::format("{}: cannot be written: {}", printable(path_.string()),
                                         std::generic_category().message(errno))};
    written += static_cast<std::size_t>(now);
  }
  return ok;
}

Status write_batch_times(const std::filesystem::path& path, std::span<const BatchTime> batches) {
  return write_file_atomic(path, batch_times_text(batches));
}

}  // namespace sluice::results
