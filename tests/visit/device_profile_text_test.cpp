// tests/visit/device_profile_text_test.cpp - the tables of a profiled GPU from made-up records.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/device_profile_text.h"

#include <gtest/gtest.h>

namespace sluice::visit::device_profile_text_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

train::DeviceProfile small_profile() {
  train::DeviceProfile profile;
  profile.ceilings = train::Ceilings{4000, 700, 512e6, 8192};
  profile.natural_ms = {2.0, 2.2, 1.9};
  profile.events_ms = {2.1, 2.1, 2.1};
  profile.phase_sum_ms = {2.04, 2.04, 2.04};
  train::DeviceStep step{0, 3'000'000, {}};
  for (int i = 0; i < 4; ++i) {
    train::DeviceRecord record;
    record.name = i == 3 ? "gelu_kernel" : "nvjet_" + std::string(80, 'x');
    record.op = i == 3 ? "block0.gelu" : "block0.qkv";
    record.start_ns = i * 500'000;
    record.end_ns = record.start_ns + 490'000;
    step.records.push_back(record);
  }
  profile.steps = {step};
  profile.costs = {{"block0.qkv", {1e9, 500e9}}, {"block0.gelu", {1e9, 0}}};
  profile.summary = summarise(profile.steps, profile.costs, *profile.ceilings);
  return profile;
}

TEST(DeviceProfileText, ShowsTimesGapsKernelsAndRoofs) {
  const std::string text = device_text(small_profile(), 30);
  EXPECT_TRUE(has(text, "copy 4000 GB/s")) << text;
  EXPECT_TRUE(has(text, "natural 2.000 ms, with events in it 2.100 ms (+5.0 %)")) << text;
  EXPECT_TRUE(has(text, "phases 2.040 ms (+2.0 % of natural)")) << text;
  EXPECT_TRUE(has(text, "launch gaps: 1.51 % of the 1.990 ms")) << text;
  EXPECT_TRUE(has(text, "xxx...")) << text;
  EXPECT_TRUE(has(text, "48.6 % (math)")) << text;  // 500 TFLOP of 1.47 ms against 700
  EXPECT_TRUE(has(text, "51.0 % (memory)")) << text;
  EXPECT_TRUE(has(text, "estimate")) << text;
}

TEST(DeviceProfileText, SaysWhatIsMissing) {
  train::DeviceProfile profile;
  profile.no_ceilings = "too little memory";
  profile.no_trace = "CUPTI is not there";
  profile.natural_ms = {1};
  const std::string text = device_text(profile, 30);
  EXPECT_TRUE(has(text, "no ceilings: too little memory")) << text;
  EXPECT_TRUE(has(text, "no records of kernels: CUPTI is not there")) << text;
  const Json json = to_json(profile, 30);
  EXPECT_EQ(json["trace"]["reason"], "CUPTI is not there");
  EXPECT_EQ(json["ceilings"]["reason"], "too little memory");
}

}  // namespace
}  // namespace sluice::visit::device_profile_text_test
