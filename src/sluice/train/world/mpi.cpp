// sluice/train/world/mpi.cpp - sums and messages over the table of libsluice_mpi.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/mpi.h"

#include "sluice/core/module.h"
#include "sluice/core/text.h"
#include "sluice/train/phase.h"
#include "sluice/train/world/mpi_table.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace sluice::train {
namespace {

constexpr int kTellTag = 1, kAnswerTag = 2, kArrivedTag = 3;
/// A rank that was just told something is soon told more; one that waits longer leaves its core.
constexpr std::int64_t kAwakeNs = 20'000'000;
constexpr auto kNap = std::chrono::microseconds(200);

Result<const SluiceMpiTable*> load_table() {
  SLUICE_TRY(void* const symbol, load_module("mpi", kSluiceMpiSymbol));
  const SluiceMpiTable* table = reinterpret_cast<SluiceMpiTableFunction*>(symbol)();
  if (table->abi != kSluiceMpiAbi)
    return Error{
        Errc::unsupported,
        fmt::format("libsluice_mpi.so speaks version {}, this program {}; build both again",
                    table->abi, kSluiceMpiAbi)};
  return table;
}

}  // namespace

MpiWorld::MpiWorld(const SluiceMpiTable& table, const Options& options)
    : table_(table), options_(options) {}

Result<std::unique_ptr<MpiWorld>> MpiWorld::start(int size, const std::vector<std::string>& command,
                                                  const Options& options) {
  SLUICE_TRY(const SluiceMpiTable* const table, load_table());
  // More ranks than cores are wanted at times, and as root in containers; Open MPI asks first.
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  std::unique_ptr<MpiWorld> world(new MpiWorld(*table, options));
  SLUICE_CHECK(world->open(size - 1, command));
  if (world->size_ != size)
    return Error{Errc::internal,
                 fmt::format("{} ranks were to be started, MPI gives {}", size, world->size_)};
  return world;
}

Result<std::unique_ptr<MpiWorld>> MpiWorld::join(const LaunchedRank& launched,
                                                 const Options& options) {
  SLUICE_TRY(const SluiceMpiTable* const table, load_table());
  std::unique_ptr<MpiWorld> world(new MpiWorld(*table, options));
  SLUICE_CHECK(world->open(0, {""}));
  const bool differs = world->rank_ != launched.rank || world->size_ != launched.size;
  if (launched.launcher != Launcher::none && differs)
    return Error{
        Errc::usage,
        fmt::format("{} started this process as rank {} of {}, MPI finds rank {} of {}{}",
                    to_string(launched.launcher), launched.rank, launched.size, world->rank_,
                    world->size_,
                    launched.launcher == Launcher::srun ? "; srun --mpi=pmix or --mpi=pmi2 "
                                                          "tells it"
                                                        : "")};
  return world;
}

MpiWorld::~MpiWorld() {
  if (failed_) return;  // the others do not come
  table_.close();
}

const char* MpiWorld::library() const {
  return table_.library;
}

Status MpiWorld::check(const char* wrong, const char* doing) {
  if (wrong == nullptr) return ok;
  failed_ = true;
  return Error{Errc::measurement,
               fmt::format("rank {} of {}, {}: {}", rank_, size_, doing, printable(wrong))};
}

Status MpiWorld::open(int spawned, const std::vector<std::string>& command) {
  std::vector<const char*> argv;
  for (const std::string& one : command)
    argv.push_back(one.c_str());
  argv.push_back(nullptr);
  failed_ = true;  // until it is open
  SLUICE_CHECK(check(table_.open(spawned, argv.data(), &rank_, &size_), "joining the others"));
  failed_ = false;
  arrivals_.assign(static_cast<std::size_t>(size_), 0);
  return ok;
}

Status MpiWorld::start_sum(std::span<float> values) {
  return check(table_.start_sum(values.data(), static_cast<std::int64_t>(values.size())),
               "adding up");
}

Status MpiWorld::advance() {
  std::int32_t done = 0;
  return check(table_.advance(&done), "adding up");
}

/// What has come; rank 0 only.
Status MpiWorld::note_arrivals() {
  for (;;) {
    std::int32_t from = -1;
    std::int64_t bytes = 0;
    SLUICE_CHECK(check(table_.look(&from, kArrivedTag, &bytes), "listening"));
    if (from < 0) return ok;
    std::int64_t count = 0;
    SLUICE_CHECK(check(table_.receive(from, kArrivedTag, &count, sizeof count), "listening"));
    arrivals_[static_cast<std::size_t>(from)] = count;
  }
}

Error MpiWorld::too_late() const {
  if (rank_ != 0)
    return {Errc::timeout,
            fmt::format("rank {} of {} waited {:g} s for the sum of all ranks, and rank 0 said "
                        "nothing",
                        rank_, size_, options_.timeout_s)};
  std::string late;
  for (int rank = 1; rank < size_; ++rank)
    if (arrivals_[static_cast<std::size_t>(rank)] <= sums_)
      late += fmt::format("{}{}", late.empty() ? "" : ", ", rank);
  if (late.empty())
    return {Errc::timeout,
            fmt::format("all {} ranks are there, and their sum did not end in {:g} s", size_,
                        options_.timeout_s)};
  return {Errc::timeout,
          fmt::format("rank {} of {} did not come to the end of its step within {:g} s", late,
                      size_, options_.timeout_s)};
}

Status MpiWorld::finish() {
  if (rank_ != 0) {
    const std::int64_t count = sums_ + 1;
    SLUICE_CHECK(check(table_.send(0, kArrivedTag, &count, sizeof count), "arriving"));
  }
  const std::int64_t start_ns = now_ns();
  const auto limit_ns = static_cast<std::int64_t>(options_.timeout_s * 1e9);
  for (std::int32_t done = 0; done == 0;) {
    SLUICE_CHECK(check(table_.advance(&done), "adding up"));
    if (rank_ == 0) SLUICE_CHECK(note_arrivals());
    if (done == 0 && now_ns() - start_ns > limit_ns) {
      failed_ = true;
      return too_late();
    }
  }
  ++sums_;
  return ok;
}

Result<std::string> MpiWorld::receive(int from, int tag, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  SLUICE_CHECK(check(table_.receive(from, tag, text.data(), bytes), "listening"));
  return text;
}

Status MpiWorld::tell(std::string_view text) {
  for (int rank = 1; rank < size_; ++rank)
    SLUICE_CHECK(
        check(table_.send(rank, kTellTag, text.data(), static_cast<std::int64_t>(text.size())),
              "telling"));
  return ok;
}

Result<std::string> MpiWorld::hear() {
  const std::int64_t start_ns = now_ns();
  for (;;) {
    std::int32_t from = 0;
    std::int64_t bytes = 0;
    SLUICE_CHECK(check(table_.look(&from, kTellTag, &bytes), "listening"));
    if (from == 0) return receive(0, kTellTag, bytes);
    if (now_ns() - start_ns > kAwakeNs) std::this_thread::sleep_for(kNap);
  }
}

Status MpiWorld::answer(std::string_view text) {
  return check(table_.send(0, kAnswerTag, text.data(), static_cast<std::int64_t>(text.size())),
               "answering");
}

Result<std::vector<std::string>> MpiWorld::answers() {
  std::vector<std::string> all;
  const std::int64_t start_ns = now_ns();
  const auto limit_ns = static_cast<std::int64_t>(options_.timeout_s * 1e9);
  for (int rank = 1; rank < size_;) {
    std::int32_t from = rank;
    std::int64_t bytes = 0;
    SLUICE_CHECK(check(table_.look(&from, kAnswerTag, &bytes), "listening"));
    if (from == rank) {
      SLUICE_TRY(std::string text, receive(rank, kAnswerTag, bytes));
      all.push_back(std::move(text));
      ++rank;
      continue;
    }
    if (now_ns() - start_ns > limit_ns) {
      failed_ = true;
      return Error{Errc::timeout, fmt::format("rank {} of {} did not answer within {:g} s", rank,
                                              size_, options_.timeout_s)};
    }
  }
  return all;
}

}  // namespace sluice::train
