// tests/backend/members_test.cpp - which rows belong on which machine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/plan_support.h"

namespace sluice::backend::members_test {
namespace {

using ::testing::HasSubstr;

Status on_gpu_machine(const char* yaml) {
  const auto config = plan::read(yaml);
  EXPECT_TRUE(config) << config.error().message;
  const auto made = plan::make_plan(*config);
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_TRUE(check_host_rows(*made, false)) << "without a GPU everything may run";
  return check_host_rows(*made, true);
}

TEST(HostRows, ImagesOfTheCpuAreRefusedWhereThereIsAGpu) {
  const Status refused = on_gpu_machine("selection: {scenario: image-rgb, libraries: [sluice]}");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("execution.host_rows_on_gpu_machine=true"));
}

TEST(HostRows, ClipsDevicesCopiesAndWhoAsksForItMayRun) {
  EXPECT_TRUE(on_gpu_machine("selection: {scenario: video-16f, libraries: [sluice]}"));
  EXPECT_TRUE(on_gpu_machine(
      "selection: {scenario: image-rgb, libraries: [kornia]}\nexecution: {device: cuda}"));
  EXPECT_TRUE(
      on_gpu_machine("selection: {scenario: image-rgb, mode: pipeline, libraries: [sluice]}\n"
                     "execution: {pipeline_scope: decode_dataloader_augment_batch_copy}"));
  EXPECT_TRUE(
      on_gpu_machine("selection: {scenario: image-rgb, libraries: [sluice]}\n"
                     "execution: {host_rows_on_gpu_machine: true}"));
}

}  // namespace
}  // namespace sluice::backend::members_test
