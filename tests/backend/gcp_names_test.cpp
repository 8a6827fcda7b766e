// tests/backend/gcp_names_test.cpp - names outside this machine, and command lines.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/calls.h"
#include "sluice/backend/gcp/gcloud.h"
#include "sluice/backend/gcp/ledger.h"
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/startup_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace sluice::backend::gcp::gcp_names_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GcpNames, InstancesHaveValidNamesOfAtMost63) {
  const std::regex valid("[a-z]([-a-z0-9]{0,61}[a-z0-9])");
  for (const char* type : {"c4-standard-16", "g2-standard-16", "A_Machine.With Everything And Much",
                           "a3-highgpu-8g", ""}) {
    const std::string name = instance_name(type, new_id());
    EXPECT_LE(name.size(), 63u);
    EXPECT_TRUE(std::regex_match(name, valid)) << name;
  }
  EXPECT_EQ(instance_name("c4-standard-16", "0123456789abcdef"),
            "benchmark-c4-standard-16-0123456789ab");
  EXPECT_NE(new_id(), new_id());
  EXPECT_EQ(new_id().size(), 32u);
}

TEST(GcpNames, ObjectsLieUnderTheRun) {
  EXPECT_EQ(run_prefix("gs://b/r/", "id"), "gs://b/r/id");
  EXPECT_EQ(bundle_prefix("gs://b", "d"), "gs://b/bundles/d");
  EXPECT_EQ(environment_cache("gs://b/results"), "gs://b/augmentation-cache");
  EXPECT_EQ(environment_cache("gs://b"), "gs://b/augmentation-cache");
}

TEST(GcpNames, WhatAShellCouldTakeOtherwiseIsRefused) {
  EXPECT_TRUE(check_uri("k", "gs://bucket/a/b-c_d.tar"));
  for (const char* uri : {"", "gs://", "gs:///a", "s3://b/a", "gs://b/a b", "gs://b/$(x)",
                          "gs://b/'x", "gs://b/*", "gs://b//a", "/etc/passwd"})
    EXPECT_FALSE(check_uri("k", uri)) << uri;
  EXPECT_TRUE(check_name("k", "example.com:project-1"));
  for (const char* name : {"", "-flag", "a b", "a;b", "a\nb"})
    EXPECT_FALSE(check_name("k", name)) << name;
}

TEST(GcpCalls, WordsAreQuotedForAShell) {
  EXPECT_EQ(shell_quoted("plain-1.0/x"), "plain-1.0/x");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("~/x"), "'~/x'");
  EXPECT_EQ(to_text({{"storage", "ls", "a b"}}), "gcloud storage ls 'a b'");
}

TEST(GcpCalls, AnInstanceIsMadeWithItsEnd) {
  InstanceSpec spec;
  spec.project = "p";
  spec.zone = "z";
  spec.name = "n";
  spec.machine_type = "g2-standard-16";
  spec.gpu = true;
  spec.deadline_s = 100;
  spec.labels = {{"a", "1"}, {"b", "2"}};
  Call call = create_instance(spec);
  EXPECT_EQ(call.attempts, 1) << "what may have been made is not asked for again";
  for (const char* word : {"--max-run-duration", "100s", "DELETE", "--boot-disk-auto-delete",
                           "TERMINATE", "a=1,b=2", "pd-balanced"})
    EXPECT_THAT(call.arguments, Contains(std::string(word)));
  EXPECT_THAT(call.arguments, Not(Contains(std::string("SPOT"))));
  spec.gpu = false;
  spec.hyperdisk = spec.preemptible = true;
  spec.gpu_type = "nvidia-tesla-t4";
  call = create_instance(spec);
  for (const char* word : {"hyperdisk-balanced", "SPOT", "type=nvidia-tesla-t4,count=1"})
    EXPECT_THAT(call.arguments, Contains(std::string(word)));
  EXPECT_THAT(call.arguments, Not(Contains(std::string("TERMINATE"))));
}

TEST(GcpCalls, OnlyAStockOutSendsUsToAnotherZone) {
  EXPECT_TRUE(is_stock_out({Errc::io, "code: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"}));
  EXPECT_TRUE(is_stock_out({Errc::io, "does not have enough resources available to fulfill"}));
  EXPECT_FALSE(is_stock_out({Errc::io, "Quota 'C4_CPUS' exceeded"}));
}

TEST(GcpScript, TheTimerComesFirstAndValuesAreQuoted) {
  StartupOptions options;
  options.name = "it's";
  options.prefix = "gs://b/r";
  options.run_flags = {"--cpus", "0 1"};
  const std::string script = startup_script(options);
  EXPECT_THAT(script, HasSubstr("name='it'\\''s'\n"));
  EXPECT_THAT(script, HasSubstr("run_flags=(--cpus '0 1')\n"));
  EXPECT_LT(script.find("systemd-run"), script.find("gcloud storage"));
  EXPECT_LT(script.find("trap finish EXIT"), script.find("# 4. "));
}

TEST(GcpLedger, AProcessIsKnownByItsNumberAndItsStart) {
  EXPECT_TRUE(process_lives(process_label()));
  const std::string own = process_label();
  EXPECT_FALSE(process_lives(own.substr(0, own.find('-')) + "-1")) << "another of the same number";
  EXPECT_FALSE(process_lives("999999999-5"));
  EXPECT_TRUE(process_lives("")) << "unknown is not dead";
  EXPECT_TRUE(process_lives("../1-2"));
  EXPECT_EQ(owner_label().size(), 12u);
  EXPECT_EQ(owner_label(), owner_label());
}

}  // namespace
}  // namespace sluice::backend::gcp::gcp_names_test
