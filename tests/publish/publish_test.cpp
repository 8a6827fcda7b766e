// tests/publish/publish_test.cpp - nothing private survives, whatever string it hides in.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/publish.h"

#include "sluice/analysis/validate.h"
#include "sluice/core/file.h"
#include "sluice/publish/scrub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/fixtures.h"
#include <cstdlib>
#include <unistd.h>

namespace sluice::publish::publish_test {
namespace {

namespace fs = std::filesystem;
using fixtures::matrix_file;
using fixtures::matrix_row;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

results::ResultFile sound_file() {
  auto file = matrix_file({}, "pillow");
  file.rows.push_back(matrix_row({}, "Resize", "pillow", 400));
  return file;
}

/// Puts `text` behind every string of the document and into every list, map and key it may stand
/// in. `path` names the string, for messages.
void plant(Json& json, const std::string& text) {
  if (json.is_string()) {
    json = json.get<std::string>() + " " + text;
  } else if (json.is_structured()) {
    for (auto& value : json)
      plant(value, text);
  }
}

std::string text_of(const results::ResultFile& file) {
  return results::to_text(results::to_json(file));
}

TEST(ScrubTest, PathsGoAndWordsStay) {
  const Secrets none;
  const std::pair<const char*, const char*> cases[] = {
      {"/home/alice/data/val", "<external-path>"},
      {"--data-dir=/data/imagenet", "--data-dir=<external-path>"},
      {"-I/home/alice/include -O3", "-I<external-path> -O3"},
      {"open \"/scratch/x y/z.jpg\" failed", "open \"<external-path> y/z.jpg\" failed"},
      {"cannot open ~/secret/x: denied", "cannot open <external-path> denied"},
      {"see ../../alice/x", "see <external-path>"},
      {"file:///srv/a gs://bucket/x https://host.corp/y",
       "<external-path> <external-path> <external-path>"},
      {"C:\\Users\\alice\\x and \\\\server\\share", "<external-path> and <external-path>"},
      {"image-rgb/micro/Resize at 20 img/s, 1/2", "image-rgb/micro/Resize at 20 img/s, 1/2"},
      {"no topology in /sys, see /proc/cpuinfo", "no topology in /sys, see /proc/cpuinfo"},
      {"reads /proc/4711/maps", "reads <external-path>"},
      {"alice@build-7.corp said", "<removed> said"},
      {"Xeon(R) @ 2.70GHz", "Xeon(R) @ 2.70GHz"},
      {"HF_TOKEN=hunter2 x", "HF_TOKEN=<removed> x"},
      {"key ghp_0123456789abcdefghij", "key <removed>"},
      {"Authorization: Bearer abc.def", "Authorization: Bearer <removed>"},
      {"worker pid 4711 died, PID=12", "worker pid 0 died, PID=0"},
      {"rapid 3, pid file", "rapid 3, pid file"},
      {"runs/my run", "runs/my run"},
  };
  for (const auto& [given, expected] : cases) {
    EXPECT_EQ(scrub_text(given, none), expected);
    EXPECT_EQ(scrub_text(expected, none), expected) << "idempotent";
  }
}

TEST(ScrubTest, WhatIsKnownGoesWhereverItStands) {
  Secrets secrets;
  secrets.learn(Json::parse(R"(["/mnt/my disk/val set", "x /home/alice/y"])"));
  EXPECT_EQ(scrub_text("cannot read /mnt/my disk/val set/a.jpg", secrets),
            "cannot read <external-path><external-path>");
  EXPECT_EQ(scrub_text("owned by alice, not malice", secrets), "owned by <removed>, not malice");
  secrets.values = {"hunter22"};
  EXPECT_EQ(scrub_text("xhunter22y", secrets), "x<removed>y");
}

TEST(ScrubTest, SecretKeysAndFlagsLoseTheirValues) {
  const Json json = Json::parse(
      R"({"api_token": "abc", "n": 1, "argv": ["sluice", "--token", "abc", "--seed", "1"]})");
  EXPECT_EQ(
      scrub(json, {}).dump(),
      R"({"api_token":"<removed>","n":1,"argv":["sluice","--token","<removed>","--seed","1"]})");
}

TEST(WithoutPrivateTest, APathPlantedInEveryStringIsGone) {
  results::ResultFile file = sound_file();
  file.rows.push_back(matrix_row({}, "Rain", "pillow", 5));
  file.rows[1].status = measure::RowStatus::failed;
  file.rows[1].not_comparable = "x";
  file.matrix.emplace().labels = {"x"};
  file.matrix->skipped_files = {"a.jpg: bad"};
  Json json = results::to_json(file);
  json["rows"][1]["reason"] = "x";
  // Names and enumerations are checked by the reader; everything else takes the plant.
  for (const char* secret :
       {"/home/alice/planted", "/data/planted", "~/planted", "alice@planted.corp",
        "MY_API_KEY=planted0", "gs://planted/x", "-L/opt/planted", "PIDfile=/run/planted"}) {
    Json dirty = json;
    for (auto& row : dirty["rows"]) {
      for (const char* key :
           {"case", "library", "library_version", "reason", "unit", "output_digest"}) {
        if (row[key].is_string()) plant(row[key], secret);
      }
      plant(row["params"], secret);
      plant(row["thread_policy"], secret);
      for (auto& run : row["runs"]) {
        plant(run["run_id"], secret);
        plant(run["counters_reason"], secret);
      }
      if (row["ci95"].is_object()) plant(row["ci95"]["method"], secret);
      if (row.contains("not_comparable")) plant(row["not_comparable"], secret);
    }
    for (const char* key : {"tool", "environment", "machine_profile", "run_config", "timing",
                            "argv", "session_id", "summary"})
      plant(dirty[key], secret);
    dirty["dataset"]["hash"] = secret;
    dirty["environment"][secret] = 1;
    dirty["environment"]["variables"] = {{"X", secret}};
    dirty["run_config"][secret] = {{secret, secret}};
    dirty["argv"].push_back(secret);
    dirty["unknown"] = secret;
    const auto read = results::from_json(dirty, "dirty");
    ASSERT_TRUE(read) << read.error().message;
    const auto clean = without_private(*read);
    ASSERT_TRUE(clean) << clean.error().message;
    EXPECT_THAT(text_of(*clean), Not(HasSubstr("planted"))) << secret;
    EXPECT_THAT(text_of(*clean), Not(HasSubstr("alice"))) << secret;
  }
}

TEST(WithoutPrivateTest, ProcessNumbersAndCloudGoNumbersStay) {
  results::ResultFile file = sound_file();
  file.rows[0].runs[0].pid = 31337;
  file.run_config["cloud"] = {{"project", "my-project"}};
  const auto clean = without_private(file);
  ASSERT_TRUE(clean) << clean.error().message;
  const std::string text = text_of(*clean);
  for (const char* gone : {"31337", "4711", "my-project"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  EXPECT_TRUE(clean->session_id.starts_with("20260131T120000Z-"));
  EXPECT_EQ(clean->rows[0].runs[0].samples_ns, file.rows[0].runs[0].samples_ns);
  EXPECT_EQ(clean->rows[0].summary->median, file.rows[0].summary->median);
  EXPECT_TRUE(analysis::validate(*clean, "x").issues.empty());
  const auto twice = without_private(*clean);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->rows[0].case_name, file.rows[0].case_name);
}

TEST(WithoutPrivateTest, TheEnvironmentOfThisProcessIsKnown) {
  ::setenv("SLUICE_TEST_TOKEN", "sesame-open", 1);  // NOLINT(concurrency-mt-unsafe)
  results::ResultFile file = sound_file();
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  const std::string name(host);
  file.argv.emplace_back("say sesame-open");
  file.argv.push_back("on " + name + " now");
  const auto clean = without_private(file);
  ::unsetenv("SLUICE_TEST_TOKEN");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(clean);
  EXPECT_THAT(clean->argv[clean->argv.size() - 2], "say <removed>");
  if (name.size() > 2 && name != "localhost") {
    EXPECT_THAT(clean->argv.back(), "on <removed> now");
  }
}

TEST(WithoutPrivateTest, AUserNamedLikeALibraryDoesNotRenameIt) {
  results::ResultFile file = sound_file();
  file.argv.emplace_back("/home/pillow/x");
  const auto clean = without_private(file);
  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->rows[0].library, "pillow");
  EXPECT_THAT(text_of(*clean), Not(HasSubstr("/home")));
}

class PublishTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = folder_.path() / "run";
    options_.from = run_;
    options_.to = folder_.path() / "published";
    options_.purpose = "paper";
    options_.machine = "c4";
    options_.utc = "2026-01-31T12:00:00Z";
    auto file = sound_file();
    file.argv.push_back((folder_.path() / "data").string());
    EXPECT_TRUE(results::write(run_ / "results/image-rgb/micro/pillow_micro_results.json", file));
  }
  [[nodiscard]] std::string error() const {
    const auto done = publish(options_);
    return done ? "" : done.error().message;
  }
  fixtures::TemporaryFolder folder_{"publish"};
  fs::path run_;
  PublishOptions options_;
};

TEST_F(PublishTest, WritesFilesAndManifest) {
  options_.notes = "measured in " + folder_.path().string();
  const auto done = publish(options_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->files, ElementsAre("image-rgb/micro/pillow_micro_results.json"));
  const auto text = read_text_file(options_.to / "manifest.json");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, Not(HasSubstr(folder_.path().string())));
  const Json manifest = Json::parse(*text);
  EXPECT_EQ(manifest["schema_version"], 1);
  EXPECT_EQ(manifest["published_at_utc"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(manifest["purpose"], "paper");
  EXPECT_EQ(manifest["source_dir"], "run");
  EXPECT_EQ(manifest["libraries"], Json({"pillow"}));
  EXPECT_EQ(manifest["entries"][0]["num_results"], 1);
  EXPECT_EQ(manifest["entries"][0]["benchmark_params"]["num_runs"], 3);
  EXPECT_EQ(manifest["entries"][0]["library_versions"]["pillow"], Json({"1.2.3"}));
  EXPECT_TRUE(manifest["entries"][0]["system_info"].contains("cpu"));
  EXPECT_TRUE(analysis::validate_paths({options_.to}).sound()) << "a snapshot reads like a run";
  const auto file = read_text_file(options_.to / done->files[0]);
  EXPECT_THAT(*file, Not(HasSubstr(folder_.path().string())));
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

TEST_F(PublishTest, RefusesWhatNobodyCanBuildAgain) {
  const fs::path path = run_ / "results/image-rgb/micro/pillow_micro_results.json";
  const std::pair<const char*, const char*> cases[] = {
      {"3f2a9c1d0b7e-dirty", "was built from changed sources (3f2a9c1d0b7e-dirty), so not"},
      {"unknown", "was built outside a repository, so not published"}};
  for (const auto& [git, said] : cases) {
    auto file = sound_file();
    file.tool.git = git;
    ASSERT_TRUE(results::write(path, file));
    options_.allow_dirty = false;
    EXPECT_THAT(error(), HasSubstr(said));
    EXPECT_FALSE(fs::exists(options_.to));
    options_.allow_dirty = true;
    EXPECT_EQ(error(), "");
    fs::remove_all(options_.to);
  }
}

TEST_F(PublishTest, IntoACheckoutOfSluiceTheCommitMustBeInItsHistory) {
  const fs::path tree = folder_.path() / "sluice";
  const auto sh = [&](const std::string& words) {
    return std::system(("cd '" + tree.string() + "' && (" + words + ") >/dev/null 2>&1").c_str());
  };
  const std::string commit = "git -c user.name=T -c user.email=t@example.org commit -qm x ";
  fs::create_directories(tree / "src/sluice/publish");
  ASSERT_TRUE(write_file_atomic(tree / "src/sluice/publish/a", "1"));
  ASSERT_EQ(sh("git init -q . && git add . && " + commit + "&& git rev-parse HEAD > one && " +
               "git checkout -qb side && " + commit + "--allow-empty && git rev-parse HEAD > two" +
               " && git checkout -q -"),
            0);
  const auto built_at = [&](const std::string& git) {
    auto file = sound_file();
    file.tool.git = git;
    EXPECT_TRUE(results::write(run_ / "results/image-rgb/micro/pillow_micro_results.json", file));
  };
  const std::string one = read_text_file(tree / "one")->substr(0, 12);
  const std::string two = read_text_file(tree / "two")->substr(0, 12);
  options_.to = tree / "docs/results/new";
  built_at(two);
  EXPECT_THAT(error(), HasSubstr("was built at " + two + ", which is not in the history of"));
  built_at("0123456789ab");
  EXPECT_THAT(error(), HasSubstr("which git does not find in"));
  EXPECT_THAT(error(), HasSubstr("0123456789ab), so not published; build and measure at a commit"));
  EXPECT_FALSE(fs::exists(options_.to));
  options_.allow_dirty = true;
  EXPECT_EQ(error(), "");
  fs::remove_all(options_.to);
  options_.allow_dirty = false;
  built_at(one);
  EXPECT_EQ(error(), "");
  built_at(two);
  fs::remove_all(tree / "src");
  options_.to = tree / "published";
  EXPECT_EQ(error(), "") << "another repository does not know Sluice's commits";
}

TEST_F(PublishTest, ReplacesOnlySnapshotsAndOnlyByForce) {
  EXPECT_EQ(error(), "");
  EXPECT_THAT(error(), HasSubstr("is not empty"));
  options_.force = true;
  ASSERT_TRUE(write_file_atomic(options_.to / "stale.json", "{}"));
  EXPECT_EQ(error(), "");
  EXPECT_FALSE(fs::exists(options_.to / "stale.json"));
  fs::remove(options_.to / "manifest.json");
  EXPECT_THAT(error(), HasSubstr("--force replaces nothing else"));
  EXPECT_TRUE(fs::exists(options_.to / "image-rgb"));
}

TEST_F(PublishTest, RefusesWhatIsUnsoundAndLeavesNothing) {
  auto file = sound_file();
  file.rows[0].summary->median *= 2;
  ASSERT_TRUE(results::write(run_ / "results/bad.json", file));
  EXPECT_THAT(error(), HasSubstr("bad.json: not sound, so not published: image-rgb/micro/Resize"));
  EXPECT_FALSE(fs::exists(options_.to));
  file.rows.clear();
  ASSERT_TRUE(results::write(run_ / "results/bad.json", file));
  EXPECT_THAT(error(), HasSubstr("holds no row"));
}

TEST_F(PublishTest, RefusesOneInsideTheOther) {
  options_.to = run_ / "published";
  EXPECT_THAT(error(), HasSubstr("one lies inside the other"));
  options_.to = folder_.path();
  EXPECT_THAT(error(), HasSubstr("one lies inside the other"));
  EXPECT_TRUE(fs::exists(run_));
}

}  // namespace
}  // namespace sluice::publish::publish_test
