// tests/scenario/memcpy_test.cpp - the yardstick: as many bytes as the transform writes, and truly
// copied.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/micro.h"

#include <gtest/gtest.h>

namespace sluice::scenario::memcpy_test {
namespace {

Result<std::unique_ptr<measure::Subject>> subject(const std::string& name, const Json& params) {
  measure::SubjectContext context;
  context.synthetic = true;
  context.case_name = name;
  context.spec = Json{{"params", params}};
  return memcpy_catalogue().prefixes.at(name.substr(0, name.rfind('/') + 1))(context);
}

TEST(Memcpy, WritesAsManyBytesAsTheTransform) {
  const auto same = subject("image-rgb/micro/Solarize", Json::object());
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ((*same)->bytes_per_item(), 256.0 * 240 * 3);
  const auto larger = subject("image-rgb/micro/Resize", Json{{"target_size", 512}});
  ASSERT_TRUE(larger) << larger.error().message;
  EXPECT_EQ((*larger)->bytes_per_item(), 512.0 * 512 * 3);
  const auto digest = (*larger)->check();
  ASSERT_TRUE(digest) << digest.error().message;
  (*larger)->run_pass();
  EXPECT_EQ(*(*larger)->check(), *digest);
  const auto clip = subject("video-16f/micro/Solarize", Json::object());
  ASSERT_TRUE(clip) << clip.error().message;
  EXPECT_EQ((*clip)->bytes_per_item(), 16.0 * 256 * 240 * 3);
  EXPECT_TRUE((*clip)->check());
}

TEST(Memcpy, AnUnknownTransformIsUnsupported) {
  EXPECT_EQ(subject("image-rgb/micro/Nothing", Json::object()).error().code, Errc::unsupported);
}

}  // namespace
}  // namespace sluice::scenario::memcpy_test
