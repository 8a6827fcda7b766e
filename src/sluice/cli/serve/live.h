// sluice/cli/serve/live.h - stored visits of a folder, looked at again and again by a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/descriptor.h"
#include "sluice/gate/site/site.h"

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sluice::cli {

/// What is served of one look; never changed once it is shown.
struct LiveView {
  std::shared_ptr<const std::string> page, data;
  std::string runs = "[]";   // JSON: the runs in progress
  std::uint64_t number = 0;  // of page and data
};

class LiveSite {
 public:
  struct Options {
    std::filesystem::path runs, baselines;
    stats::ChangePointOptions changes;
  };
  /// Looks once, then from time to time: after as long as twenty looks take, at least half a
  /// second, so that what is measured beside it is left alone.
  static Result<std::unique_ptr<LiveSite>> start(const Options& options);
  ~LiveSite();
  LiveSite(const LiveSite&) = delete;
  LiveSite& operator=(const LiveSite&) = delete;

  [[nodiscard]] LiveView view() const;
  /// Readable when there is something new.
  [[nodiscard]] int wake_fd() const { return wake_read_.get(); }
  /// Damaged files of the first look.
  [[nodiscard]] std::vector<std::string> problems() const { return first_problems_; }
  /// Where a page finds `file`; empty: it lies in neither folder.
  [[nodiscard]] std::string address_of(const std::filesystem::path& file) const;

 private:
  struct Folder {
    std::string looks;  // names, sizes and times of its files
    std::optional<gate::StoredVisit> visit;
    std::vector<std::string> problems;
  };

  explicit LiveSite(Options options) : options_(std::move(options)) {}
  Status look();
  Status build();
  void keep_looking();
  [[nodiscard]] std::string running() const;

  Options options_;
  gate::StoredVisits table_;  // the metrics; visits are kept by folder
  std::map<std::filesystem::path, Folder> folders_;
  std::string baselines_look_;
  std::vector<std::string> first_problems_;
  Descriptor wake_read_, wake_write_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  LiveView view_;
  std::thread thread_;
};

}  // namespace sluice::cli
