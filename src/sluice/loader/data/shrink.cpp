// sluice/loader/data/shrink.cpp - reads, shrinks and writes on all cores.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/shrink.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::loader {
namespace {

namespace fs = std::filesystem;

/// A name that stays below the folder it is written to.
Status check_name(const std::string& name) {
  if (name.find(':') != std::string::npos)
    return Error{Errc::unsupported,
                 fmt::format("{}: lies in a shard or bundle; only folders and buckets of image "
                             "files can be made smaller, so unpack it first (`sluice data stage`)",
                             printable(name))};
  const fs::path path(name);
  bool inside = !name.empty() && path.is_relative();
  for (const fs::path& part : path)
    inside = inside && part != "..";
  if (!inside)
    return Error{Errc::invalid_input,
                 fmt::format("{}: is no name below a folder", printable(name))};
  return ok;
}

struct Worker {
  storage::ReadBuffer buffer;
  image::Shrinker shrinker;
  std::vector<std::uint8_t> bytes;
};

class Shrinking {
 public:
  Shrinking(const Dataset& dataset, const ShrinkPlan& plan, fs::path folder, Progress& progress)
      : dataset_(dataset),
        plan_(plan),
        folder_(std::move(folder)),
        bar_(progress.bar("shrink", dataset.size(), "images")) {}

  Result<ShrinkReport> run() {
    ThreadPool pool(std::max(plan_.threads, 1U));
    std::vector<Worker> workers(pool.size());
    pool.parallel_for(dataset_.size(), [&](std::size_t index, unsigned worker) {
      if (failed_.load(std::memory_order_relaxed)) return;
      if (const Status done = one(index, workers[worker]); !done) fail(done.error());
    });
    if (error_) return *error_;
    return ShrinkReport{dataset_.size(), shrunk_, before_, after_};
  }

 private:
  Status one(std::uint64_t index, Worker& worker) {
    if (plan_.stop && plan_.stop())
      return Error{Errc::interrupted, "interrupted; nothing was written"};
    const std::string name = dataset_.name(index);
    SLUICE_CHECK(check_name(name));
    SLUICE_TRY(const auto encoded, dataset_.read(index, worker.buffer));
    const image::Bytes bytes(reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size());
    const auto smaller = worker.shrinker.run(worker.bytes, bytes, plan_.image);
    if (!smaller)
      return Error{smaller.error().code,
                   fmt::format("{}: {}", printable(name), smaller.error().message)};
    const fs::path file = folder_ / name;
    std::error_code problem;
    fs::create_directories(file.parent_path(), problem);
    if (problem)
      return Error{Errc::io, fmt::format("{}: {}", file.parent_path().string(), problem.message())};
    SLUICE_CHECK(write_file_atomic(
        file,
        std::string_view(reinterpret_cast<const char*>(worker.bytes.data()), worker.bytes.size()),
        Flush::later));
    shrunk_ += *smaller ? 1 : 0;
    before_ += encoded.size();
    after_ += worker.bytes.size();
    bar_.add();
    return ok;
  }

  void fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = error;
    failed_ = true;
  }

  const Dataset& dataset_;
  const ShrinkPlan& plan_;
  fs::path folder_;
  Progress::Bar bar_;
  std::atomic<bool> failed_ = false;
  std::atomic<std::uint64_t> shrunk_ = 0, before_ = 0, after_ = 0;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<ShrinkReport> shrink_images(const Dataset& dataset, const ShrinkPlan& plan,
                                   Progress& progress) {
  std::error_code problem;
  if (fs::exists(plan.out, problem) && !fs::is_empty(plan.out, problem))
    return Error{Errc::usage, fmt::format("{}: is not empty; expected a new folder",
                                          printable(plan.out.string()))};
  SLUICE_CHECK(check_name(dataset.name(0)));
  const FolderGuard half_done(plan.out.string() + ".sluice-part");
  fs::remove_all(half_done.path(), problem);
  SLUICE_TRY(const ShrinkReport report, Shrinking(dataset, plan, half_done.path(), progress).run());
  fs::remove(plan.out, problem);  // the empty one
  fs::rename(half_done.path(), plan.out, problem);
  if (problem)
    return Error{Errc::io, fmt::format("{}: {}", printable(plan.out.string()), problem.message())};
  return report;
}

}  // namespace sluice::loader
