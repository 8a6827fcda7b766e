// tests/train/thread_world.h - ranks as threads of one process, with sums in the order of the
// ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/world/communicator.h"

#include <barrier>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice::train::testing {

/// Also watches over the promise of start_sum(): nothing writes the values before finish().
class ThreadRank final : public Communicator {
 public:
  struct Room {
    explicit Room(int size) : all(static_cast<std::size_t>(size)), meet(size) {}
    std::vector<ThreadRank*> all;
    std::barrier<> meet;
    std::string shared;
  };
  ThreadRank(std::shared_ptr<Room> room, int rank) : room_(std::move(room)), rank_(rank) {
    room_->all[static_cast<std::size_t>(rank)] = this;
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(room_->all.size()); }
  Status start_sum(std::span<float> values) override {
    begun_.push_back(values);
    as_begun_.emplace_back(values.begin(), values.end());
    return ok;
  }
  Status advance() override { return ok; }
  Status finish() override {
    for (std::size_t i = 0; i < begun_.size(); ++i)
      if (std::memcmp(begun_[i].data(), as_begun_[i].data(), begun_[i].size_bytes()) != 0)
        ++written_too_late;
    room_->meet.arrive_and_wait();
    if (rank_ == 0)
      for (std::size_t i = 0; i < begun_.size(); ++i)
        add_up(i);
    room_->meet.arrive_and_wait();
    sums += static_cast<int>(begun_.size());
    begun_.clear();
    as_begun_.clear();
    return ok;
  }
  Result<std::string> share(std::string text) override {
    if (rank_ == 0) room_->shared = std::move(text);
    room_->meet.arrive_and_wait();
    std::string given = room_->shared;
    room_->meet.arrive_and_wait();
    return given;
  }
  Status arrive() override { return ok; }
  [[nodiscard]] double patience_s() const override { return 60; }
  Error too_late() override { return {Errc::timeout, "a thread is late"}; }

  int written_too_late = 0;  // sums that were begun before their values were whole
  int sums = 0;

 private:
  void add_up(std::size_t i) {
    for (std::size_t k = 0; k < begun_[i].size(); ++k) {
      float sum = 0;
      for (const ThreadRank* one : room_->all)
        sum += one->begun_[i][k];
      for (const ThreadRank* one : room_->all)
        one->begun_[i][k] = sum;
    }
  }
  std::shared_ptr<Room> room_;
  int rank_;
  std::vector<std::span<float>> begun_;
  std::vector<std::vector<float>> as_begun_;
};

/// work(rank) in as many threads as ranks.
template <class Work>
void in_world(int size, const Work& work) {
  const auto room = std::make_shared<ThreadRank::Room>(size);
  std::vector<std::unique_ptr<ThreadRank>> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<ThreadRank>(room, rank));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back(
        [&work, one = ranks[static_cast<std::size_t>(rank)].get()] { work(*one); });
}

}  // namespace sluice::train::testing
