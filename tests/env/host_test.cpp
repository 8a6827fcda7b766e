// tests/env/host_test.cpp - nodes that are alike are told apart, and no name is told.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::host_test {
namespace {

std::string hash_of(const std::string& id, const std::string& name) {
  fixture::Tree tree;
  if (!id.empty()) tree.file("/etc/machine-id", id + "\n");
  if (!name.empty()) tree.file("/proc/sys/kernel/hostname", name + "\n");
  return host_hash(tree.root());
}

TEST(HostHashTest, OneNodeIsItselfAndItsTwinIsAnother) {
  const std::string one = hash_of("0123456789abcdef", "node-1");
  EXPECT_EQ(one.size(), 12U);
  EXPECT_EQ(one, hash_of("0123456789abcdef", "node-1"));
  EXPECT_NE(one, hash_of("0123456789abcdef", "node-2")) << "made from one image";
  EXPECT_NE(one, hash_of("fedcba9876543210", "node-1"));
  EXPECT_EQ(one.find("node"), std::string::npos);
  EXPECT_FALSE(hash_of("", "node-1").empty());
  EXPECT_TRUE(hash_of("", "").empty());
}

}  // namespace
}  // namespace sluice::env::host_test
