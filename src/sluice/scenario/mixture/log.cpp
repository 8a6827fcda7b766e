// sluice/scenario/mixture/log.cpp - counts per batch without a name or an allocation in between.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/log.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::scenario {

MixtureLog::MixtureLog(std::uint64_t warmup, std::uint64_t batches, std::size_t blocks,
                       std::size_t sources)
    : warmup_(warmup),
      entries_(batches),
      counts_(batches * std::min(blocks, sources)),
      place_(sources) {
  entries_.clear();  // the memory stays, and was written to
  counts_.clear();
}

void MixtureLog::add(std::int64_t fetch_ns, std::int64_t materialize_ns, std::uint64_t rss_bytes,
                     std::span<const std::uint32_t> sources) {
  const std::size_t begin = counts_.size();
  for (const std::uint32_t source : sources) {
    if (source >= place_.size()) continue;
    std::size_t& place = place_[source];
    if (place == 0) {
      counts_.push_back({source, 0});
      place = counts_.size();
    }
    ++counts_[place - 1].samples;
  }
  for (std::size_t i = begin; i < counts_.size(); ++i)
    place_[counts_[i].source] = 0;
  entries_.push_back({fetch_ns, materialize_ns, rss_bytes, counts_.size()});
}

std::uint64_t MixtureLog::peak_rss_bytes() const {
  std::uint64_t peak = 0;
  for (const Entry& entry : entries_)
    peak = std::max(peak, entry.rss_bytes);
  return peak;
}

std::vector<double> MixtureLog::measured_s() const {
  std::vector<double> times;
  for (std::size_t i = static_cast<std::size_t>(warmup_); i < entries_.size(); ++i)
    times.push_back(static_cast<double>(entries_[i].fetch_ns + entries_[i].materialize_ns) * 1e-9);
  return times;
}

results::BatchTime MixtureLog::batch_time(std::size_t at,
                                          std::span<const std::string> names) const {
  const Entry& entry = entries_[at];
  results::BatchTime batch;
  batch.idx = at;
  batch.fetch_dt_s = static_cast<double>(entry.fetch_ns) * 1e-9;
  batch.materialize_dt_s = static_cast<double>(entry.materialize_ns) * 1e-9;
  batch.dt_s = static_cast<double>(entry.fetch_ns + entry.materialize_ns) * 1e-9;
  batch.is_warmup = at < warmup_;
  for (std::size_t i = at == 0 ? 0 : entries_[at - 1].counts_end; i < entry.counts_end; ++i)
    batch.dataset_counts.emplace_back(names[counts_[i].source], counts_[i].samples);
  if (entry.rss_bytes > 0) batch.rss_bytes = entry.rss_bytes;
  return batch;
}

std::vector<results::BatchTime> MixtureLog::batch_times(std::span<const std::string> names) const {
  std::vector<results::BatchTime> batches;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    batches.push_back(batch_time(i, names));
  results::mark_dominants(batches);
  return batches;
}

ResidentMeter::ResidentMeter() : fd_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

ResidentMeter::~ResidentMeter() {
  if (fd_ >= 0) close(fd_);
}

std::uint64_t ResidentMeter::bytes() const {
  std::array<char, 128> text{};
  if (fd_ < 0 || pread(fd_, text.data(), text.size() - 1, 0) <= 0) return 0;
  char* end = nullptr;
  std::strtoull(text.data(), &end, 10);  // all of its address space
  const auto pages = std::strtoull(end, nullptr, 10);
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace sluice::scenario
