// sluice/scenario/storage/read.cpp - reads of one pattern, cold or warm, each of them timed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/scenario/scenario.h"
#include "sluice/scenario/storage/input.h"
#include "sluice/storage/local/page_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace sluice::scenario {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::size_t kCheckedReads = 16;                 // reads that are compared before timing
constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;  // of an object in one call
constexpr std::uint64_t kCheckedBytes = std::uint64_t{1} << 20;  // of each of them, at most

// Faster than the flash of 2026: its reads of 4 KiB take 10 us and more, a drive gives 15 GB/s.
constexpr double kFastestAnswer_ns = 5000, kFastestBytesPerNs = 20;
constexpr std::uint64_t kMostWarmed = std::uint64_t{4} << 30;

/// The nearest rank; `sorted` has a value.
double percentile(const std::vector<std::int64_t>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]) * 1e-3;
}

class StorageReadSubject final : public measure::Subject {
 public:
  static Result<std::unique_ptr<measure::Subject>> make(const measure::SubjectContext& context,
                                                        ReadPattern pattern) {
    SLUICE_TRY(const StorageInput input, storage_input_from(context.spec));
    auto self = std::unique_ptr<StorageReadSubject>(new StorageReadSubject(input, context.spec));
    ReadPlan plan;
    plan.pattern = pattern;
    plan.size = context.spec.value("size", std::uint64_t{4096});
    plan.smallest = context.spec.value("smallest", std::uint64_t{0});
    plan.largest = context.spec.value("largest", ~std::uint64_t{0});
    plan.operations = context.spec.value("operations", std::uint64_t{512});
    plan.max_bytes = context.spec.value("max_bytes", std::uint64_t{0});
    if (plan.size == 0 || plan.operations == 0)
      return Error{Errc::usage, "spec: size and operations must be at least 1"};
    SLUICE_CHECK(self->prepare(plan));
    return std::unique_ptr<measure::Subject>(std::move(self));
  }

  Result<std::string> check() override {
    const Open opened(*this);
    Sha256 hash;
    for (std::size_t i = 0; i < std::min(kCheckedReads, reads_.size()); ++i) {
      const ReadOperation& read = reads_[i];
      const auto size = static_cast<std::size_t>(std::min(read.size, kCheckedBytes));
      SLUICE_TRY(const auto bytes,
                 store_->read(objects_[read.object], read.offset, size, buffers_.front()));
      SLUICE_TRY(const std::string expected, reference(read, size));
      if (!std::equal(bytes.begin(), bytes.end(), std::as_bytes(std::span(expected)).begin())) {
        return Error{Errc::measurement, fmt::format("{}: other bytes than those of a plain read",
                                                    printable(objects_[read.object].key))};
      }
      hash.update(bytes);
    }
    return hash.hex();
  }

  void run_pass() override {
    ++passes_;
    const Open opened(*this);
    run(0, reads_.size());
  }
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    if (sequential_) return 0;  // items are megabytes, which no read ends at
    const auto begin = static_cast<std::size_t>(first) % reads_.size();
    const std::size_t end = std::min(reads_.size(), begin + static_cast<std::size_t>(count));
    const Open opened(*this);
    run(begin, end);
    return static_cast<std::int64_t>(end - begin);
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(sequential_ ? bytes_ / kSequentialRead : reads_.size());
  }
  [[nodiscard]] double bytes_per_item() const override {
    return static_cast<double>(bytes_) / static_cast<double>(items_per_pass());
  }

  /// Cold: dropped. Warm: read whole. Then looked at.
  void begin_sample() override {
    open();
    if (!files_.empty() && !direct_) {
      if (cold_) {
        require(storage::drop_page_cache(files_));
      } else {
        read_whole();
      }
      residency_ = storage::page_residency(files_);
    }
    passes_ = 0;
    std::fill(latencies_.begin(), latencies_.end(), 0);
    sampling_ = true;
  }

  [[nodiscard]] Json measured_info() override {
    sampling_ = false;
    close();
    std::vector<std::int64_t> sorted = latencies_;
    std::sort(sorted.begin(), sorted.end());
    Json info{{"latency_us", Json{{"p50", percentile(sorted, 0.5)},
                                  {"p90", percentile(sorted, 0.9)},
                                  {"p99", percentile(sorted, 0.99)},
                                  {"max", percentile(sorted, 1.0)}}},
              {"reads", sorted.size()},
              {"cache", cache_state()}};
    const auto [smallest, largest] = std::minmax_element(
        reads_.begin(), reads_.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
    info["smallest"] = smallest->size;
    info["largest"] = largest->size;
    if (!input_.remote()) info["memory_share"] = memory_share();
    return info;
  }

 private:
  StorageReadSubject(StorageInput input, const Json& spec)
      : input_(std::move(input)),
        cold_(spec.value("cold", true)),
        direct_(input_.read_mode == "direct"),
        pool_(static_cast<unsigned>(input_.concurrency)),
        buffers_(static_cast<std::size_t>(input_.concurrency)) {}

  Status prepare(const ReadPlan& plan) {
    SLUICE_TRY(store_, open_storage(input_));
    SLUICE_TRY(objects_, list_storage(*store_));
    SLUICE_TRY(reads_, plan_reads(objects_, plan));
    sequential_ = plan.pattern == ReadPattern::sequential;
    std::vector<storage::Object> used;
    std::vector<bool> seen(objects_.size());
    for (const ReadOperation& read : reads_) {
      bytes_ += read.size;
      if (!seen[read.object]) used.push_back(objects_[read.object]);
      seen[read.object] = true;
    }
    files_ = files_of(input_, used);
    latencies_.resize(reads_.size());
    close();
    return ok;
  }

  /// The store is open in a sample and otherwise only while it is used: the map of a worker that is
  /// stopped keeps pages in memory that another one wants to be cold.
  class Open {
   public:
    explicit Open(StorageReadSubject& subject) : subject_(subject) { subject_.open(); }
    ~Open() {
      if (!subject_.sampling_) subject_.close();
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    StorageReadSubject& subject_;
  };
  void close() {
    if (!input_.remote()) store_.reset();  // connections to a bucket stay
  }
  void open() {
    if (store_ != nullptr) return;
    auto opened = open_storage(input_);
    if (!opened) throw std::runtime_error(opened.error().message);
    store_ = std::move(*opened);
  }

  void run(std::size_t begin, std::size_t end) {
    pool_.parallel_for(end - begin, [&](std::size_t i, unsigned worker) {
      const ReadOperation& read = reads_[begin + i];
      const auto start = steady_clock::now();
      for (std::uint64_t done = 0; done < read.size; done += kPiece) {
        const auto bytes = store_->read(
            objects_[read.object], read.offset + done,
            static_cast<std::size_t>(std::min(kPiece, read.size - done)), buffers_[worker]);
        if (!bytes) throw std::runtime_error(bytes.error().message);
      }
      latencies_[begin + i] =
          std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now() - start).count();
    });
  }

  /// Brings the files that are read from into memory, all of them up to a limit.
  void read_whole() {
    std::uint64_t left = kMostWarmed;
    std::size_t last = objects_.size();
    std::vector<std::size_t> used;
    for (const ReadOperation& read : reads_)
      used.push_back(read.object);
    std::sort(used.begin(), used.end());
    for (const std::size_t object : used) {
      if (object == std::exchange(last, object)) continue;
      for (std::uint64_t at = 0; at < objects_[object].size && left > 0;) {
        const std::uint64_t size = std::min({kPiece, objects_[object].size - at, left});
        const auto bytes =
            store_->read(objects_[object], at, static_cast<std::size_t>(size), buffers_.front());
        if (!bytes) throw std::runtime_error(bytes.error().message);
        at += size;
        left -= size;
      }
    }
  }

  /// The same bytes by another way: the standard library, or for remote stores byte by halves.
  Result<std::string> reference(const ReadOperation& read, std::size_t size) {
    std::string bytes(size, '\0');
    const storage::Object& object = objects_[read.object];
    if (!input_.remote()) {
      std::ifstream file(files_of(input_, {object}).front(), std::ios::binary);
      file.seekg(static_cast<std::streamoff>(read.offset));
      if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
        return Error{Errc::io, fmt::format("{}: cannot be read", printable(object.key))};
      return bytes;
    }
    storage::ReadBuffer other;
    for (std::size_t at = 0; at < size;) {
      const std::size_t half = at == 0 && size > 1 ? size / 2 : size - at;
      SLUICE_TRY(const auto part, store_->read(object, read.offset + at, half, other));
      std::copy(part.begin(), part.end(),
                std::as_writable_bytes(std::span(bytes)).begin() + static_cast<std::ptrdiff_t>(at));
      at += half;
    }
    return bytes;
  }

  /// Reads that took less time than any storage device needs: pages that were cold before the
  /// sample come to memory with their neighbours.
  [[nodiscard]] double memory_share() const {
    std::size_t fast = 0;
    for (std::size_t i = 0; i < reads_.size(); ++i)
      if (static_cast<double>(latencies_[i]) <
          kFastestAnswer_ns + static_cast<double>(reads_[i].size) / kFastestBytesPerNs)
        ++fast;
    return static_cast<double>(fast) / static_cast<double>(reads_.size());
  }

  [[nodiscard]] Json cache_state() const {
    if (files_.empty()) return Json{{"state", "remote"}};
    if (direct_) return Json{{"state", "bypassed"}};
    // A second pass over files that were cold found them warm.
    const bool mixed = cold_ && passes_ > 1 && residency_.state == storage::CacheState::cold;
    Json json{{"state", mixed ? "mixed" : storage::to_string(residency_.state)},
              {"resident_share", residency_.resident_share},
              {"pages", residency_.pages}};
    if (!residency_.reason.empty()) json["reason"] = residency_.reason;
    return json;
  }

  StorageInput input_;
  bool cold_;
  bool direct_;
  bool sequential_ = false;
  ThreadPool pool_;
  std::vector<storage::ReadBuffer> buffers_;
  std::shared_ptr<storage::ObjectStore> store_;
  std::vector<storage::Object> objects_;
  std::vector<ReadOperation> reads_;
  std::vector<fs::path> files_;
  std::vector<std::int64_t> latencies_;  // ns, by read
  std::uint64_t bytes_ = 0;              // of a pass
  std::int64_t passes_ = 0;              // since begin_sample()
  bool sampling_ = false;                // between begin_sample() and measured_info()
  storage::Residency residency_;
};

}  // namespace

void add_storage_reads(measure::Catalogue& catalogue) {
  const auto add = [&](const char* name, ReadPattern pattern) {
    catalogue.scenarios[name] = [pattern](const measure::SubjectContext& context) {
      return StorageReadSubject::make(context, pattern);
    };
  };
  add("storage/sequential", ReadPattern::sequential);
  add("storage/random", ReadPattern::random);
  add("storage/get", ReadPattern::get);
}

}  // namespace sluice::scenario
