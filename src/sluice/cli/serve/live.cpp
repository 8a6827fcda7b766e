// sluice/cli/serve/live.cpp - looks at sizes and times, reads what changed, makes the page anew.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/serve/live.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/report/format.h"
#include "sluice/report/site/page.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLeastPause{500};
constexpr int kPausePerLook = 20;

void add_look(std::string& look, const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return;
  look += fmt::format("{} {} {}.{}\n", file.filename().string(), about.st_size,
                      about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

/// Changes whenever a file does that a visit is read from.
std::string look_at(const fs::path& folder) {
  std::string look;
  add_look(look, folder / "metrics.json");
  add_look(look, folder / "eval.json");
  std::error_code code;
  fs::recursive_directory_iterator it(folder / "results", code);
  for (const fs::recursive_directory_iterator end; !code && it != end; it.increment(code))
    if (it->path().extension() == ".json") add_look(look, it->path());
  return look;
}

std::string look_at_baselines(const fs::path& folder) {
  std::string look;
  std::error_code code;
  fs::directory_iterator it(folder, code);
  for (const fs::directory_iterator end; !code && it != end; it.increment(code))
    add_look(look, it->path());
  return look;
}

/// Inodes of files that some process holds a lock on, of which flock itself tells nothing.
std::set<std::uint64_t> locked_inodes() {
  std::set<std::uint64_t> inodes;
  const auto text = read_text_file("/proc/locks");
  if (!text) return inodes;
  for (const std::string& line :
       split(*text, '\n')) {  // "1: FLOCK ADVISORY WRITE 71 fe:00:42 0 EOF"
    if (line.find(" FLOCK ") == std::string::npos) continue;
    const std::size_t colon = line.rfind(':');
    inodes.insert(std::strtoull(line.c_str() + colon + 1, nullptr, 10));
  }
  return inodes;
}

bool is_written(const fs::path& folder, const std::set<std::uint64_t>& locked) {
  struct stat about {};
  return ::stat((folder / kLockInFolder).c_str(), &about) == 0 && locked.contains(about.st_ino);
}

/// "/name/..." below one of the two folders.
std::string address_below(const char* name, const fs::path& folder, const fs::path& file) {
  const std::string relative = file.lexically_relative(folder).generic_string();
  if (relative.empty() || relative.starts_with("..")) return {};
  return fmt::format("{}/{}", name, storage::uri_encode(relative, true));
}

}  // namespace

Result<std::unique_ptr<LiveSite>> LiveSite::start(const Options& options) {
  std::unique_ptr<LiveSite> site(new LiveSite(options));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error{Errc::io, "a pipe: " + why(errno)};
  site->wake_read_.reset(ends[0]);
  site->wake_write_.reset(ends[1]);
  SLUICE_CHECK(site->look());
  for (const auto& [path, folder] : site->folders_)
    site->first_problems_.insert(site->first_problems_.end(), folder.problems.begin(),
                                 folder.problems.end());
  site->thread_ = std::thread([raw = site.get()] { raw->keep_looking(); });
  return site;
}

LiveSite::~LiveSite() {
  {
    const std::scoped_lock lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

LiveView LiveSite::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

std::string LiveSite::address_of(const fs::path& file) const {
  const std::string run = address_below("runs", options_.runs, file);
  return run.empty() ? address_below("baselines", options_.baselines, file) : run;
}

std::string LiveSite::running() const {
  const std::set<std::uint64_t> locked = locked_inodes();
  Json runs = Json::array();
  for (const auto& [path, folder] : folders_) {
    if (!is_written(path, locked)) continue;
    Json one{
        {"name", printable(path.filename().string())}, {"rows", 0}, {"last", ""}, {"file", ""}};
    if (folder.visit) {
      const gate::StoredFigure& last = folder.visit->figures.back();
      const gate::StoredMetric& metric = table_.metrics[last.metric];
      one["rows"] = folder.visit->figures.size();
      one["last"] = printable(
          fmt::format("{} {} {}", metric.name, report::significant(last.value, 5), metric.unit));
      one["file"] = address_of(folder.visit->file);
    }
    runs.push_back(std::move(one));
  }
  return dump_json(runs, -1);
}

Status LiveSite::build() {
  gate::StoredVisits all;
  all = table_;
  for (const auto& [path, folder] : folders_) {
    if (folder.visit) all.visits.push_back(*folder.visit);
    all.problems.insert(all.problems.end(), folder.problems.begin(), folder.problems.end());
  }
  SLUICE_CHECK(gate::add_promoted(options_.baselines, all));
  gate::put_in_order(all);
  SLUICE_TRY(const gate::Site site, gate::site_of(std::move(all), options_.changes, 1));
  report::SiteOptions how;
  how.made = utc_now();
  how.live = true;
  how.address = [this](const fs::path& file) { return address_of(file); };
  LiveView next;
  next.page = std::make_shared<const std::string>(report::site_page(site, how));
  next.data = std::make_shared<const std::string>(dump_json(report::site_json(site, how), -1));
  const std::scoped_lock lock(mutex_);
  next.runs = view_.runs;
  next.number = view_.number + 1;
  view_ = std::move(next);
  return ok;
}

Status LiveSite::look() {
  SLUICE_TRY(const std::vector<fs::path> found, gate::run_folders(options_.runs));
  const std::set<fs::path> there(found.begin(), found.end());
  bool changed =
      std::erase_if(folders_, [&](const auto& one) { return !there.contains(one.first); }) > 0;
  for (const fs::path& path : found) {
    std::string looks = look_at(path);
    Folder& folder = folders_[path];
    if (!folder.looks.empty() && folder.looks == looks) continue;
    if (looks.empty() && folder.looks.empty()) continue;
    folder.looks = std::move(looks);
    table_.problems.clear();
    folder.visit = gate::stored_run(path, table_);
    folder.problems = std::exchange(table_.problems, {});
    changed = true;
  }
  std::string baselines = look_at_baselines(options_.baselines);
  changed = changed || baselines != baselines_look_ || view_.number == 0;
  baselines_look_ = std::move(baselines);
  std::string runs = running();
  if (changed) SLUICE_CHECK(build());
  {
    const std::scoped_lock lock(mutex_);
    changed = changed || runs != view_.runs;
    view_.runs = std::move(runs);
  }
  if (changed) {
    const ssize_t written = ::write(wake_write_.get(), "!", 1);
    (void)written;  // a full pipe wakes as well
  }
  return ok;
}

void LiveSite::keep_looking() {
  for (std::unique_lock lock(mutex_); !end_;) {
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    if (const Status looked = look(); !looked) log::warn("{}", looked.error().message);
    const auto took = std::chrono::steady_clock::now() - start;
    lock.lock();
    ended_.wait_for(lock, std::max<std::chrono::nanoseconds>(kLeastPause, kPausePerLook * took),
                    [this] { return end_; });
  }
}

}  // namespace sluice::cli
