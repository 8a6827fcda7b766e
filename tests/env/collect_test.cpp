// tests/env/collect_test.cpp - the whole snapshot: fixtures, JSON both ways, and this machine.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/collect.h"

#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"
#include "sluice/env/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::collect_test {
namespace {

using ::testing::HasSubstr;

Sources server(const fixture::Tree& tree, Nvml* nvml) {
  Sources sources;
  sources.root = tree.root();
  sources.nvml = nvml;
  sources.git.program = "/nonexistent/git";
  sources.variables = {"OMP_NUM_THREADS=4", "CUDA_VISIBLE_DEVICES=1", "SLUICE_TOKEN=x"};
  sources.timestamp = "2026-01-31T12:00:00Z";
  return sources;
}

// Every null has a reason under its path, and every reason belongs to a null.
void expect_reasons(const Json& json) {
  std::set<std::string> nulls;
  const std::function<void(const Json&, const std::string&)> walk = [&](const Json& node,
                                                                        const std::string& path) {
    if (node.is_null()) nulls.insert(path);
    if (!node.is_structured()) return;
    for (const auto& item : node.items()) {
      if (path.empty() && item.key() == "unknown") continue;
      walk(item.value(), path.empty() ? item.key() : path + "." + item.key());
    }
  };
  walk(json, "");
  std::set<std::string> reasons;
  for (const auto& item : json["unknown"].items()) {
    EXPECT_FALSE(item.value().get<std::string>().empty()) << item.key();
    EXPECT_NE(item.value(), "not collected") << item.key();
    reasons.insert(item.key());
  }
  EXPECT_EQ(nulls, reasons);
}

TEST(CollectFrom, AServerWithGpus) {
  fixture::Tree tree;
  fixture::add_intel(tree);
  fixture::FakeNvml nvml;
  nvml.cards.resize(2);
  nvml.failing = {"ecc"};
  const Environment environment = collect_from(server(tree, &nvml), "/data");
  EXPECT_EQ(environment.gpu.devices.size(), 2U);
  EXPECT_FALSE(environment.gpu.devices[0].visible);
  EXPECT_EQ(environment.git.sha, "unknown");
  EXPECT_EQ(environment.variables.count("SLUICE_TOKEN"), 0U);
  EXPECT_FALSE(environment.build.compiler.empty());
  EXPECT_FALSE(environment.build.version.empty());
  expect_reasons(to_json(environment));
}

TEST(CollectFrom, NothingAtAllIsNoError) {
  fixture::Tree tree;
  Sources sources = server(tree, nullptr);
  sources.no_nvml_reason = "no driver";
  const Environment environment = collect_from(sources, "");
  const Json json = to_json(environment);
  expect_reasons(json);
  EXPECT_EQ(json["gpu"]["devices"].size(), 0U);
  EXPECT_EQ(json["unknown"]["gpu.driver_version"], "no driver");
}

TEST(EnvironmentJson, RoundTrip) {
  fixture::Tree tree;
  fixture::add_neoverse(tree);
  fixture::FakeNvml nvml;
  nvml.cards.resize(3);
  nvml.failing = {"name:1"};
  const Json json = to_json(collect_from(server(tree, &nvml), "/data"));
  const auto again = env::from_json(json, "env.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again).dump(), json.dump());
  EXPECT_EQ(json["schema_version"], kEnvSchemaVersion);
  EXPECT_EQ(json["unknown"]["gpu.devices.1.name"], "name: GPU is lost");
}

TEST(EnvironmentJson, BadDocumentsNameTheKey) {
  const Json good = to_json(Environment{});
  const auto message = [](const Json& json) {
    const auto result = env::from_json(json, "a\nb");
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(message(good), "accepted");
  EXPECT_THAT(message(Json::array()), HasSubstr("a\\nb: not an environment"));
  Json bad = good;
  bad["schema_version"] = kEnvSchemaVersion + 1;
  EXPECT_THAT(message(bad), HasSubstr("schema_version 2 is not one this program reads (1 to 1)"));
  bad = good;
  bad.erase("schema_version");
  EXPECT_THAT(message(bad), HasSubstr("'schema_version'"));
  bad = good;
  bad["cpu"].erase("isa");
  EXPECT_THAT(message(bad), HasSubstr("key 'cpu.isa' is missing"));
  bad = good;
  bad["cpu"]["family"] = "six";
  EXPECT_THAT(message(bad), HasSubstr("key 'cpu.family' must be a whole number or null"));
  bad = good;
  bad["cpu"]["flags"] = Json::array({1});
  EXPECT_THAT(message(bad), HasSubstr("key 'cpu.flags' must be a list of texts"));
  bad = good;
  bad["gpu"]["devices"] = Json::array({1});
  EXPECT_THAT(message(bad), HasSubstr("key 'gpu.devices.0' must be an object"));
  bad = good;
  bad["memory"] = nullptr;
  EXPECT_THAT(message(bad), HasSubstr("key 'memory' must be an object"));
  bad = good;
  bad["unknown"] = 5;
  bad["more"] = true;
  EXPECT_EQ(message(bad), "accepted");
}

TEST(Save, WritesOneDocumentWithTheProfile) {
  testing_support::TemporaryFolder folder;
  const auto path = folder / "env.json";
  ASSERT_TRUE(save(path, Environment{}, "cpu-x"));
  const auto text = read_text_file(path);
  ASSERT_TRUE(text);
  const auto json = parse_json(*text, "env.json");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["machine_profile"], "cpu-x");
  EXPECT_TRUE(env::from_json(*json, "env.json"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"env.json"}));
  const auto refused = save(folder / "env.json" / "env.json", Environment{}, "cpu-x");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("env.json"));
}

TEST(Collect, OnThisMachine) {
  const auto environment = collect();
  ASSERT_TRUE(environment) << environment.error().message;
  const Json json = to_json(*environment);
  expect_reasons(json);
  ASSERT_EQ(environment->timestamp.size(), std::string("2026-01-31T12:00:00Z").size());
  EXPECT_EQ(environment->timestamp[10], 'T');
  EXPECT_EQ(environment->timestamp.back(), 'Z');
  EXPECT_EQ(environment->cores.usable, usable_cores());
  EXPECT_TRUE(environment->memory.total_bytes);
  EXPECT_TRUE(environment->storage.filesystem) << environment->storage.filesystem.reason;

  ProfileOptions options;
  options.framework = framework_sluice(1);
  const std::string profile = machine_profile(*environment, options);
  EXPECT_TRUE(fixture::is_file_name(profile)) << profile;
  CollectOptions again;
  again.refresh = true;
  EXPECT_EQ(machine_profile(*collect(again), options), profile);
}

TEST(Collect, TheSecondCallIsTheSameSnapshot) {
  const std::string first = to_json(*collect()).dump();
  EXPECT_EQ(to_json(*collect()).dump(), first);
}

}  // namespace
}  // namespace sluice::env::collect_test
