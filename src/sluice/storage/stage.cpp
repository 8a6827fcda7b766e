// sluice/storage/stage.cpp - the order of staging: lock, sentinel, checksum, plan, files, sentinel.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/stage.h"

#include "sluice/core/json.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/storage/bucket_source.h"
#include "sluice/storage/destination.h"
#include "sluice/storage/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kStageVersion = 1;

Json options_json(const StageOptions& options) {
  return {{"suffixes", options.filter.suffixes}, {"limit", options.filter.limit}};
}

std::string source_name(const fs::path& from) {
  if (is_bucket(from)) {  // whole: many prefixes end alike
    std::string address = to_utf8(from.string());
    while (address.ends_with('/'))
      address.pop_back();
    return address;
  }
  const fs::path plain = from.has_filename() ? from : from.parent_path();  // "photos/"
  return to_utf8(plain.filename().string());
}

/// What sentinel and journal begin with; where it differs, they belong to another staging.
Json identity(const StageOptions& options, std::uint64_t size) {
  const Json chosen = options_json(options);
  return {{"made_by", "sluice data stage"},
          {"version", kStageVersion},
          {"source",
           {{"name", source_name(options.from)},
            {"size", size},
            {"sha256", options.sha256.empty() ? Json() : Json(options.sha256)}}},
          {"options", chosen},
          {"options_hash", sha256_hex(dump_json(chosen, -1))}};
}

Json to_json(const StageSkipped& skipped) {
  return {{"hidden", skipped.hidden},
          {"suffix", skipped.suffix},
          {"links", skipped.links},
          {"over_limit", skipped.over_limit}};
}

std::uint64_t number(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

StageReport report_of(const Json& sentinel) {
  StageReport report;
  report.already = true;
  report.source = sentinel["source"].value("name", "");
  report.count = number(sentinel, "count");
  report.bytes = number(sentinel, "bytes");
  const Json skipped = sentinel.value("skipped", Json::object());
  report.skipped = {number(skipped, "hidden"), number(skipped, "suffix"), number(skipped, "links"),
                    number(skipped, "over_limit")};
  report.listing = sentinel.value("listing", "");
  return report;
}

Status check(const StageOptions& options) {
  if (options.from.empty() || options.to.empty())
    return Error{Errc::usage, "staging needs a source and a folder: --from TAR|DIR|URI --to DIR"};
  if (options.filter.suffixes.empty())
    return Error{Errc::usage, "no suffix to stage is given; 'jpg,png' is accepted"};
  const bool digits = options.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!options.sha256.empty() && (options.sha256.size() != 64 || !digits))
    return Error{Errc::usage, fmt::format("--sha256 '{}': 64 hexadecimal digits are accepted",
                                          printable(options.sha256))};
  if (is_bucket(options.from)) {
    if (options.sha256.empty()) return ok;
    return Error{Errc::usage, fmt::format("{}: a bucket has no checksum; --sha256 is for archives",
                                          printable(options.from.string()))};
  }
  if (!options.endpoint.empty() || !options.region.empty() || options.anonymous)
    return Error{Errc::usage,
                 "--endpoint, --region and --anonymous: need --from s3://... or gs://..."};
  std::error_code code;
  const fs::path from = fs::weakly_canonical(options.from, code);
  const fs::path to = fs::weakly_canonical(options.to, code);
  if (!fs::is_directory(from, code)) return ok;
  if (!options.sha256.empty())
    return Error{Errc::usage, fmt::format("{}: a folder has no checksum; --sha256 is for archives",
                                          printable(options.from.string()))};
  const auto inside = [](const fs::path& inner, const fs::path& outer) {
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first ==
           outer.end();
  };
  if (inside(to, from) || inside(from, to))
    return Error{Errc::usage,
                 fmt::format("{} and {}: one lies in the other", printable(options.from.string()),
                             printable(options.to.string()))};
  return ok;
}

/// What the identity in the folder says against this staging; empty when it is the same.
/// `size` is not compared when the source is gone.
std::string difference(const Json& there, const Json& mine, bool source_is_here) {
  const Json source = there.value("source", Json::object());
  if (there.value("version", 0) != kStageVersion || !source.is_object())
    return "by another version";
  if (source.value("name", "") != mine["source"]["name"].get<std::string>())
    return fmt::format("from '{}'", printable(source.value("name", "")));
  if (there.value("options_hash", "") != mine["options_hash"].get<std::string>())
    return fmt::format("with other options: {}",
                       printable(dump_json(there.value("options", Json()), -1)));
  if (source.value("sha256", Json()) != mine["source"]["sha256"])
    return "with another checksum, or none";
  if (source_is_here && source.value("size", Json()) != mine["source"]["size"])
    return "from a source of another size";
  return "";
}

Error other_staging(const StageOptions& options, const std::string& how) {
  return {Errc::invalid_input, fmt::format("{}: was staged {}; name another folder",
                                           printable(options.to.string()), how)};
}

/// Files that are there but not in the plan would be measured with the rest.
Status refuse_strangers(const StageOptions& options, const std::vector<StageFile>& there,
                        const StagePlan* plan) {
  for (const StageFile& file : there)
    if (plan == nullptr || plan->find(file.name) == nullptr)
      return Error{Errc::invalid_input,
                   fmt::format("{}: is not part of what is staged; remove it, or name another "
                               "folder",
                               printable((options.to / file.name).string()))};
  return ok;
}

class Staging {
 public:
  Staging(const StageOptions& options, Destination& destination, Progress& progress)
      : options_(options), destination_(destination), progress_(progress) {}

  Result<StageReport> run() {
    auto source = open_source(options_);
    const bool here = source.has_value();
    if (!here && source.error().code != Errc::not_found) return source.error();
    const Json mine = identity(options_, here ? (*source)->size() : 0);
    SLUICE_TRY(const auto there, destination_.list());
    SLUICE_TRY(const auto sentinel, destination_.read_sentinel());
    SLUICE_TRY(const auto journal, destination_.read_journal());
    for (const auto& found : {sentinel, journal}) {
      if (!found) continue;
      if (const std::string how = difference(*found, mine, here); !how.empty())
        return other_staging(options_, how);
    }
    std::error_code code;
    // A folder costs little to list: files that came since are seen.
    const bool folder = fs::is_directory(options_.from, code);
    if (sentinel && !folder && sentinel->value("listing", "") == listing_hash(there))
      return report_of(*sentinel);
    if (!here) return source.error();
    if (!sentinel && !journal) SLUICE_CHECK(refuse_strangers(options_, there, nullptr));

    SLUICE_CHECK(check_sum());
    SLUICE_TRY(const StagePlan plan, (*source)->list(progress_));
    const std::string listing = listing_hash(plan.files);
    if (sentinel && sentinel->value("listing", "") == listing && listing == listing_hash(there))
      return report_of(*sentinel);
    if (plan.files.empty())
      return Error{Errc::invalid_input, fmt::format("{}: holds no file with the suffix {}",
                                                    printable(options_.from.string()),
                                                    printable(join(options_.filter.suffixes)))};
    SLUICE_CHECK(refuse_strangers(options_, there, &plan));
    SLUICE_CHECK(check_space(plan));
    if (!journal) SLUICE_CHECK(destination_.write_journal(mine));
    SLUICE_CHECK(copy(**source, plan));
    return finish(plan, mine, listing);
  }

 private:
  Status check_sum() {
    if (options_.sha256.empty()) return ok;
    SLUICE_TRY(const std::string sum, checksum(options_, progress_));
    if (sum == options_.sha256) return ok;
    return Error{Errc::invalid_input,
                 fmt::format("{}: has SHA-256 {}, not {}; nothing was unpacked",
                             printable(options_.from.string()), sum, options_.sha256)};
  }

  Status check_space(const StagePlan& plan) {
    std::uint64_t needed = 0;
    for (const StageFile& file : plan.files)
      if (!destination_.has(file)) needed += file.size;
    const std::uint64_t free = destination_.free_bytes();
    if (needed <= free) return ok;
    return Error{Errc::io, fmt::format("{}: {} bytes are needed, {} are free",
                                       printable(options_.to.string()), needed, free)};
  }

  Status copy(Source& source, const StagePlan& plan) {
    std::uint64_t left = 0;
    for (const StageFile& file : plan.files)
      left += destination_.has(file) ? 0 : 1;
    if (left == 0) return ok;
    Progress::Bar bar = progress_.bar("stage", plan.files.size(), "files");
    bar.set(plan.files.size() - left);
    Status status = source.unpack(
        plan, left, [&](const StageFile& file) { return !destination_.has(file); },
        [&](const StageFile& file, const ReadBlock& read) -> Status {
          SLUICE_CHECK(destination_.put(file, read));
          ++written_;
          --left;
          bar.add();
          return ok;
        });
    if (status && left > 0)
      status = Error{Errc::invalid_input, fmt::format("{}: changed while it was read",
                                                      printable(options_.from.string()))};
    if (status) return ok;
    return Error{status.error().code,
                 fmt::format("{}; {} of {} files are staged, the same command continues",
                             status.error().message, plan.files.size() - left, plan.files.size())};
  }

  Result<StageReport> finish(const StagePlan& plan, const Json& mine, const std::string& listing) {
    Json sentinel = mine;
    sentinel["count"] = plan.files.size();
    sentinel["bytes"] = plan.bytes;
    sentinel["skipped"] = to_json(plan.skipped);
    sentinel["listing"] = listing;
    SLUICE_CHECK(destination_.seal(sentinel));
    StageReport report = report_of(sentinel);
    report.already = false;
    report.written = written_;
    return report;
  }

  const StageOptions& options_;
  Destination& destination_;
  Progress& progress_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<StageReport> stage(const StageOptions& options, Progress& progress) {
  SLUICE_CHECK(check(options));
  std::error_code code;
  if (!fs::exists(options.to / kSentinel, code)) {  // before the folder is made
    if (const auto source = open_source(options); !source) return source.error();
  }
  SLUICE_TRY(Destination destination, Destination::open(options.to, options.stop, options.waiting));
  try {
    return Staging(options, destination, progress).run();
  } catch (const Json::exception&) {  // a sentinel whose fields have other types
    return Error{Errc::invalid_input,
                 fmt::format("{}: is damaged; remove the folder and stage again",
                             printable((options.to / kSentinel).string()))};
  }
}

}  // namespace sluice::storage
