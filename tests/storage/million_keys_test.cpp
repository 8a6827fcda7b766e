// tests/storage/million_keys_test.cpp - a bucket with a million keys is listed in order, in memory
// that does not grow with their number.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/storage/s3_client.h"
#include <cstdio>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_TEST_SANITIZED 1
#endif
#endif

namespace sluice::storage::million_keys_test {
namespace {

#ifdef SLUICE_TEST_SANITIZED
constexpr std::uint64_t kKeys = 50'000;  // slower, and freed memory is kept to catch its use
constexpr bool kMeasured = false;
#else
constexpr std::uint64_t kKeys = 1'000'000;
constexpr bool kMeasured = true;
#endif

std::size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  unsigned long pages[2] = {0, 0};
  if (file != nullptr) {
    EXPECT_EQ(std::fscanf(file, "%lu %lu", &pages[0], &pages[1]), 2);
    std::fclose(file);
  }
  return pages[1] * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(MillionKeys, AreListedInOrderAndInBoundedMemory) {
  FaultServerOptions serving = server_options();
  serving.generated.count = kKeys;
  FaultServer server(serving);
  const auto store = open(client_options(server));
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  std::size_t early = 0;
  const Status listed = store->list("", [&](std::span<const Object> objects) -> Status {
    for (const Object& object : objects)
      if ("data/" + object.key != serving.generated.key(count++)) ++wrong;
    if (early == 0 && count >= kKeys / 20) early = resident_bytes();
    return ok;
  });
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(count, kKeys);
  EXPECT_EQ(wrong, 0U);
  if (kMeasured) {
    EXPECT_LT(resident_bytes(), early + (std::size_t{8} << 20));
  }
}

}  // namespace
}  // namespace sluice::storage::million_keys_test
