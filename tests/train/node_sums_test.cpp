// tests/train/node_sums_test.cpp - ranks as threads add up in shared memory: every length, any
// number under way, each rank at its own pace.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/node_sums.h"

#include <gtest/gtest.h>

#include "tests/train/support.h"
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::train::node_sums_test {
namespace {

using testing::Draws;
using Values = std::vector<float>;

/// What ranks share: zeros at a multiple of 64.
class Shared {
 public:
  explicit Shared(int ranks)
      : bytes_(static_cast<std::byte*>(
            std::aligned_alloc(64, (NodeSums::bytes_needed(ranks) + 63) / 64 * 64))) {
    std::memset(bytes_.get(), 0, NodeSums::bytes_needed(ranks));
  }
  [[nodiscard]] std::byte* bytes() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

/// [sum][rank], with a rest behind the values that nobody may touch.
using Sums = std::vector<std::vector<Values>>;
constexpr float kRest = 1e30F;

Sums draw(const std::vector<std::size_t>& lengths, int ranks, std::uint64_t seed) {
  Draws draws(seed);
  Sums sums;
  for (const std::size_t length : lengths) {
    auto& of_ranks = sums.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) {
      of_ranks.push_back(draws.normals<float>(static_cast<std::int64_t>(length)));
      of_ranks.back().push_back(kRest);
    }
  }
  return sums;
}

/// One after the other, in the order of the ranks.
Values plain_sum(const std::vector<Values>& of_ranks) {
  Values sum = of_ranks.front();
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank)
    for (std::size_t i = 0; i + 1 < sum.size(); ++i)
      sum[i] += of_ranks[rank][i];
  return sum;
}

/// Each rank in a thread of its own, which looks at the others in between as often as `pace` says.
void add_up(Sums& sums, int ranks, int together, const std::vector<int>& pace) {
  const Shared shared(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      NodeSums world(shared.bytes(), rank, ranks);
      int begun = 0;
      for (auto& of_ranks : sums) {
        Values& mine = of_ranks[static_cast<std::size_t>(rank)];
        world.start({mine.data(), mine.size() - 1});
        for (int i = 0; i < pace[static_cast<std::size_t>(rank)]; ++i)
          world.advance();
        if (++begun % together != 0) continue;
        while (!world.advance())
          std::this_thread::yield();
      }
      while (!world.advance())
        std::this_thread::yield();
    });
  for (std::thread& one : threads)
    one.join();
}

void expect_sums(const std::vector<std::size_t>& lengths, int ranks, int together,
                 std::uint64_t seed) {
  Sums sums = draw(lengths, ranks, seed);
  std::vector<Values> wanted;
  for (const auto& of_ranks : sums)
    wanted.push_back(plain_sum(of_ranks));
  Draws draws(seed + 1);
  std::vector<int> pace;
  for (int rank = 0; rank < ranks; ++rank)
    pace.push_back(static_cast<int>(draws.integer(0, 3)));
  add_up(sums, ranks, together, pace);
  for (std::size_t k = 0; k < sums.size(); ++k)
    for (int rank = 0; rank < ranks; ++rank) {
      const Values& found = sums[k][static_cast<std::size_t>(rank)];
      ASSERT_EQ(0, std::memcmp(found.data(), wanted[k].data(), found.size() * sizeof(float)))
          << ranks << " ranks, seed " << seed << ": sum " << k << " of " << lengths[k]
          << " values on rank " << rank;
    }
}

TEST(NodeSums, AreThoseOfThePlainLoopOnEveryRank) {
  constexpr std::size_t kChunk = NodeSums::kChunk;
  const std::vector<std::size_t> edges{
      0, 1, 2, 3, 513, kChunk - 1, kChunk, kChunk + 1, kChunk * (NodeSums::kSlots + 1) + 7};
  for (const int ranks : {1, 2, 3, 5})
    for (const int together : {1, 3})
      expect_sums(edges, ranks, together, static_cast<std::uint64_t>(ranks));
}

TEST(NodeSums, OfAnyLengthsWithAnyNumberUnderWay) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Draws draws(seed);
    const auto ranks = static_cast<int>(draws.integer(2, 6));
    const auto together = static_cast<int>(draws.integer(1, 20));
    std::vector<std::size_t> lengths;
    for (int i = 0; i < 20; ++i)
      lengths.push_back(static_cast<std::size_t>(draws.integer(0, i % 5 == 0 ? 100'000 : 3'000)));
    expect_sums(lengths, ranks, together, seed);
  }
}

TEST(NodeSums, WaitForARankThatHasNotBegun) {
  const Shared shared(2);
  Values mine{1, 2, 3}, theirs{10, 20, 30};
  NodeSums here(shared.bytes(), 0, 2), there(shared.bytes(), 1, 2);
  here.start(mine);
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(here.advance());
  there.start(theirs);
  while (!there.advance())
    here.advance();
  EXPECT_TRUE(here.advance());
  EXPECT_EQ(mine, (Values{11, 22, 33}));
  EXPECT_EQ(theirs, mine);
}

TEST(NodeSums, KeepWhatIsNoNumberOnEveryRank) {
  Sums sums = draw({5}, 3, 1);
  sums[0][1][2] = std::numeric_limits<float>::quiet_NaN();
  sums[0][2][4] = std::numeric_limits<float>::infinity();
  add_up(sums, 3, 1, {0, 0, 0});
  for (const Values& found : sums[0]) {
    EXPECT_TRUE(std::isnan(found[2]));
    EXPECT_TRUE(std::isinf(found[4]));
    EXPECT_EQ(found[5], kRest);
  }
}

}  // namespace
}  // namespace sluice::train::node_sums_test
