// tests/storage/stage_test.cpp - staging: once, resumed, side by side, from good and hostile
// sources.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/stage.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/rng.h"
#include "sluice/core/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/storage/tar.h"
#include <sys/stat.h>
#include <thread>

namespace sluice::storage::stage_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::packed;
using testing::Tar;

class StageTest : public ::testing::Test {
 protected:
  StageOptions options(const std::string& from = "data.tar") const {
    StageOptions options;
    options.from = folder_ / from;
    options.to = folder_ / "staged";
    options.filter.suffixes = suffixes_of("image");
    return options;
  }
  void put(const std::string& name, const std::string& content) const {
    fs::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_ / name, content, Flush::later));
  }
  std::string get(const std::string& name) const {
    const auto text = read_text_file(folder_ / name);
    return text ? *text : "error: " + text.error().message;
  }
  /// What is staged, hidden files too when asked for.
  std::vector<std::string> staged(bool hidden = false) const {
    std::vector<std::string> names;
    if (!fs::exists(folder_ / "staged")) return {"no folder"};
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "staged")) {
      const bool dotted = entry.path().filename().string().front() == '.';
      if (entry.is_regular_file() && (hidden || !dotted))
        names.push_back(entry.path().lexically_relative(folder_ / "staged").string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static Tar three() {
    Tar tar;
    tar.folder("set")
        .file("set/b.jpg", "bee")
        .file("set/a.jpg", "a")
        .file("c.png", "see")
        .file("t");
    return tar;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(StageTest, EveryCompressionGivesTheSameFiles) {
  for (const std::string filter : {"", "gzip", "bzip2", "xz", "zstd"}) {
    Tar tar(filter);
    tar.folder("set").file("set/b.jpg", std::string(100'000, 'b')).file("set/a.jpg", "").file("x");
    put("data.tar", tar.bytes());
    const auto report = stage(options());
    ASSERT_TRUE(report) << filter << ": " << report.error().message;
    EXPECT_EQ(report->count, 2U);
    EXPECT_EQ(report->bytes, 100'000U);
    EXPECT_EQ(report->written, 2U);
    EXPECT_EQ(report->skipped.suffix, 1U);
    EXPECT_THAT(staged(), ElementsAre("set/a.jpg", "set/b.jpg"));
    EXPECT_EQ(get("staged/set/b.jpg"), std::string(100'000, 'b'));
    EXPECT_EQ(get("staged/set/a.jpg"), "");
    fs::remove_all(folder_ / "staged");
  }
}

TEST_F(StageTest, NamesOutsideAsciiSurvive) {
  for (const std::string format : {"pax", "gnutar", "ustar"}) {
    Tar tar("", format);
    tar.file("\xc3\xa4\xe2\x82\xac.jpg", "umlaut");
    put("data.tar", tar.bytes());
    const auto report = stage(options());
    ASSERT_TRUE(report) << format << ": " << report.error().message;
    EXPECT_THAT(staged(), ElementsAre("\xc3\xa4\xe2\x82\xac.jpg")) << format;
    fs::remove_all(folder_ / "staged");
  }
}

TEST_F(StageTest, TheSecondTimeNothingIsDone) {
  put("data.tar", three().bytes());
  const auto first = stage(options());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->already);
  const auto second = stage(options());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->already);
  EXPECT_EQ(second->count, first->count);
  EXPECT_EQ(second->listing, first->listing);
  EXPECT_EQ(second->written, 0U);
  fs::remove(folder_ / "data.tar");
  const auto third = stage(options());
  ASSERT_TRUE(third) << "the source may be gone: " << third.error().message;
  EXPECT_TRUE(third->already);
  EXPECT_THAT(staged(true), ElementsAre(".sluice-stage.lock", ".sluice-staged.json", "c.png",
                                        "set/a.jpg", "set/b.jpg"));
}

TEST_F(StageTest, TheSentinelSaysWhatLiesThereAndNoPath) {
  put("data.tar", three().bytes());
  ASSERT_TRUE(stage(options()));
  const std::string text = get("staged/.sluice-staged.json");
  const auto json = parse_json(text, "sentinel");
  ASSERT_TRUE(json) << text;
  EXPECT_EQ((*json)["source"]["name"], "data.tar");
  EXPECT_EQ((*json)["source"]["size"], fs::file_size(folder_ / "data.tar"));
  EXPECT_EQ((*json)["count"], 3);
  EXPECT_EQ((*json)["bytes"], 7);
  EXPECT_EQ(text.find(folder_.path().string()), std::string::npos);
}

TEST_F(StageTest, WhatIsMissingOrShortIsStagedAgain) {
  put("data.tar", three().bytes());
  ASSERT_TRUE(stage(options()));
  fs::remove(folder_ / "staged/c.png");
  put("staged/set/b.jpg", "b");
  const auto again = stage(options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->written, 2U);
  EXPECT_EQ(get("staged/set/b.jpg"), "bee");
  EXPECT_TRUE(stage(options())->already);
}

TEST_F(StageTest, AnInterruptedStagingIsContinued) {
  Tar tar;
  for (int i = 0; i < 20; ++i)
    tar.file("f" + std::to_string(i) + ".jpg", std::string(3000, 'x'));
  put("data.tar", tar.bytes());
  StageOptions stopped = options();
  int asked = 0;
  stopped.stop = [&] { return ++asked > 36; };  // somewhere in the second pass
  const auto first = stage(stopped);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::interrupted);
  EXPECT_THAT(first.error().message, HasSubstr("the same command continues"));
  const auto done = staged();
  EXPECT_GT(done.size(), 0U);
  EXPECT_LT(done.size(), 20U);
  EXPECT_FALSE(fs::exists(folder_ / "staged/.sluice-staged.json"));
  put("staged/.sluice-stage.part", "left by a killed process");

  StageOptions other = options();
  other.filter.limit = 5;
  const auto refused = stage(other);
  ASSERT_FALSE(refused) << "another staging must not continue this one";
  EXPECT_THAT(refused.error().message, HasSubstr("other options"));

  const auto second = stage(options());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->written, 20 - done.size());
  EXPECT_EQ(staged().size(), 20U);
  EXPECT_FALSE(fs::exists(folder_ / "staged/.sluice-stage.part"));
  EXPECT_FALSE(fs::exists(folder_ / "staged/.sluice-staging.json"));
}

TEST_F(StageTest, SeveralAtOnceDoTheWorkOnce) {
  Tar tar;
  for (int i = 0; i < 50; ++i)
    tar.file(std::to_string(i) + ".jpg", std::string(2000, 'x'));
  put("data.tar", tar.bytes());
  std::vector<Result<StageReport>> reports(4, Error{Errc::internal, "not run"});
  std::vector<std::thread> threads;
  for (auto& report : reports)
    threads.emplace_back([&report, this] { report = stage(options()); });
  for (std::thread& thread : threads)
    thread.join();
  std::uint64_t written = 0, already = 0;
  for (const auto& report : reports) {
    ASSERT_TRUE(report) << report.error().message;
    written += report->written;
    already += report->already ? 1 : 0;
  }
  EXPECT_EQ(written, 50U);
  EXPECT_EQ(already, 3U);
}

TEST_F(StageTest, TheChecksumIsLookedAtBeforeAnythingElse) {
  const std::string bytes = three().bytes();
  put("data.tar", bytes);
  StageOptions checked = options();
  checked.sha256 = std::string(64, '0');
  const auto wrong = stage(checked);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr(sha256_hex(bytes)));
  EXPECT_TRUE(staged().empty());
  checked.sha256 = sha256_hex(bytes);
  const auto right = stage(checked);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_THAT(get("staged/.sluice-staged.json"), HasSubstr(checked.sha256));
  checked.sha256 = "abc";
  EXPECT_EQ(stage(checked).error().code, Errc::usage);
}

TEST_F(StageTest, HostileArchivesLeaveNothing) {
  put("outside.jpg", "precious");
  const auto refuse = [&](Tar& tar, const std::string& entry) {
    tar.file("ok.jpg");
    put("data.tar", tar.bytes());
    const auto report = stage(options());
    ASSERT_FALSE(report) << entry;
    EXPECT_EQ(report.error().code, Errc::invalid_input);
    EXPECT_THAT(report.error().message, HasSubstr("data.tar: entry '" + entry + "'"));
    EXPECT_EQ(report.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(staged().empty()) << entry;
    EXPECT_EQ(get("outside.jpg"), "precious");
    fs::remove_all(folder_ / "staged");
  };
  for (const std::string name : {"../outside.jpg", "/etc/x.jpg", "a/../../outside.jpg"}) {
    Tar tar;
    tar.file("first.jpg").file(name, "evil");
    refuse(tar, name);
  }
  Tar link, device, pipe, twice, nested;
  link.symbolic_link("dir", "..").file("dir/outside.jpg", "evil");
  refuse(link, "dir");
  refuse(device.other("null.jpg", AE_IFCHR), "null.jpg");
  refuse(pipe.other("pipe.jpg", AE_IFIFO), "pipe.jpg");
  refuse(twice.file("a.jpg", "1").file("a.jpg", "2"), "a.jpg");
  refuse(nested.file("a.jpg", "1").file("a.jpg/b.jpg", "2"), "a.jpg/b.jpg");
}

TEST_F(StageTest, ALinkInsideThatIsWrittenThroughDoesNotExist) {
  Tar tar;
  tar.symbolic_link("dir", "real").file("real/a.jpg", "a").file("dir/b.jpg", "b");
  put("data.tar", tar.bytes());
  const auto report = stage(options());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->skipped.links, 1U);
  EXPECT_FALSE(fs::is_symlink(folder_ / "staged/dir"));
  EXPECT_THAT(staged(), ElementsAre("dir/b.jpg", "real/a.jpg"));
}

TEST_F(StageTest, BombsAreRefused) {
  Tar tar("zstd");
  tar.zeros("a.jpg", 3 << 20);
  put("data.tar", tar.bytes());
  EXPECT_LT(fs::file_size(folder_ / "data.tar"), 1U << 16);
  StageOptions small = options();
  small.limits.max_bytes = 1 << 20;
  EXPECT_THAT(stage(small).error().message, HasSubstr("3145728 bytes"));
  small = options();
  small.limits.max_file_bytes = 1 << 20;
  EXPECT_THAT(stage(small).error().message, HasSubstr("at most 1048576"));
  EXPECT_TRUE(staged().empty());
  EXPECT_TRUE(stage(options())) << "3 MiB are no bomb";
}

TEST_F(StageTest, DamagedArchivesAreErrors) {
  Tar tar("gzip");
  for (int i = 0; i < 30; ++i)
    tar.file(std::to_string(i) + ".jpg", std::string(5000, static_cast<char>('a' + i % 26)));
  const std::string whole = tar.bytes();
  for (std::size_t part = 1; part < 8; ++part) {
    put("data.tar", whole.substr(0, whole.size() * part / 8));
    EXPECT_FALSE(stage(options())) << part;
    EXPECT_TRUE(staged().empty());
  }
  for (const std::string text : {"", "not a tar at all", "PK\x03\x04"}) {
    put("data.tar", text);
    const auto report = stage(options());
    ASSERT_FALSE(report) << text;
    EXPECT_THAT(report.error().message, HasSubstr("data.tar"));
  }
}

/// Three files that no codec makes smaller, so that any byte of the archive may be one of theirs.
std::string noise_tar() {
  Tar tar("", "ustar");
  Rng rng({.seed = 7});
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) {
    std::string content(3000, ' ');
    for (char& c : content)
      c = static_cast<char>(rng.below(256));
    tar.file(name, content);
  }
  return tar.bytes();
}
constexpr std::size_t kNoiseMembers = 3 * (512 + 3072);  // bytes before the end mark

TEST_F(StageTest, DamagedStreamsAreRefusedWithWhateverCodec) {
  const std::string tar = noise_tar();
  for (const std::string filter : {"gzip", "bzip2", "xz"}) {  // zstd need not have a checksum
    const std::string whole = packed(filter, tar);
    for (const std::size_t at : {whole.size() / 2, whole.size() - 8, whole.size() - 3}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      put("data.tar", damaged);
      const auto report = stage(options());
      ASSERT_FALSE(report) << filter << " " << at;
      EXPECT_EQ(report.error().code, Errc::invalid_input);
      EXPECT_TRUE(staged().empty()) << "nothing is written before all of it was read";
    }
  }
  for (const std::string filter : {"gzip", "bzip2", "xz", "zstd"}) {
    const std::string whole = packed(filter, tar);
    for (const std::string& broken : {whole + "garbage", whole.substr(0, whole.size() - 5)}) {
      put("data.tar", broken);
      EXPECT_FALSE(stage(options())) << filter << " " << broken.size() - whole.size();
      EXPECT_TRUE(staged().empty());
    }
  }
}

TEST_F(StageTest, StreamsOfSeveralPartsAndPaddingAreWhole) {
  const std::string tar = noise_tar();
  for (const std::string filter : {"gzip", "bzip2", "xz", "zstd"}) {
    std::string parts = packed(filter, tar.substr(0, 4000)) + packed(filter, tar.substr(4000));
    if (filter != "zstd") parts += std::string(512, '\0');  // what zstd's own tool refuses
    put("data.tar", parts);
    const auto report = stage(options());
    ASSERT_TRUE(report) << filter << ": " << report.error().message;
    EXPECT_EQ(get("staged/c.jpg"), tar.substr(kNoiseMembers - 3072, 3000)) << filter;
    fs::remove_all(folder_ / "staged");
  }
}

TEST_F(StageTest, AnArchiveCutAtAMemberIsNotWhole) {
  const std::string tar = noise_tar();
  for (const std::string filter : {"", "gzip", "bzip2", "xz", "zstd"}) {
    put("data.tar", packed(filter, tar.substr(0, kNoiseMembers)));
    const auto report = stage(options());
    ASSERT_FALSE(report) << filter;
    EXPECT_THAT(report.error().message, HasSubstr("without an end mark"));
    EXPECT_TRUE(staged().empty());
    put("data.tar", packed(filter, tar.substr(0, kNoiseMembers + 512)));
    EXPECT_TRUE(stage(options())) << filter << ": a lone block of zeros is an end, as for GNU tar";
    fs::remove_all(folder_ / "staged");
  }
}

TEST_F(StageTest, AFolderIsCopiedAndFilesThatCameSinceAreSeen) {
  put("data/b/2.jpg", "two");
  put("data/a.png", "one");
  put("data/.DS_Store", "junk");
  put("data/readme.md", "text");
  fs::create_symlink("a.png", folder_ / "data/link.png");
  auto report = stage(options("data/"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->source, "data");
  EXPECT_EQ(report->skipped.links, 1U);
  EXPECT_EQ(report->skipped.hidden, 1U);
  EXPECT_THAT(staged(), ElementsAre("a.png", "b/2.jpg"));
  EXPECT_TRUE(stage(options("data"))->already);
  put("data/c.jpg", "three");
  report = stage(options("data"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->written, 1U);
  EXPECT_THAT(staged(), ElementsAre("a.png", "b/2.jpg", "c.jpg"));
}

TEST_F(StageTest, FoldersInsideEachOtherAreRefused) {
  put("data/a.png", "one");
  StageOptions inside = options("data");
  for (const std::string to : {"data", "data/staged", "."}) {
    inside.to = folder_ / to;
    EXPECT_EQ(stage(inside).error().code, Errc::usage) << to;
  }
}

TEST_F(StageTest, FoldersThatHoldSomethingElseAreRefused) {
  put("data.tar", three().bytes());
  put("staged/mine.txt", "precious");
  auto report = stage(options());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("mine.txt: is not part of what is staged"));
  fs::remove(folder_ / "staged/mine.txt");
  ASSERT_TRUE(stage(options()));
  put("staged/extra.jpg", "x");
  report = stage(options());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("extra.jpg"));
  fs::remove(folder_ / "staged/extra.jpg");
  Tar larger;
  larger.file("d.jpg", std::string(50'000, 'd'));
  put("data.tar", larger.bytes());
  EXPECT_THAT(stage(options()).error().message, HasSubstr("another size"));
}

TEST_F(StageTest, ADamagedSentinelIsNamed) {
  put("data.tar", three().bytes());
  for (const std::string text : {"{", "[]", R"({"version": 1, "source": {"name": 3}})"}) {
    put("staged/.sluice-staged.json", text);
    const auto report = stage(options());
    ASSERT_FALSE(report) << text;
    EXPECT_THAT(report.error().message, HasSubstr(".sluice-staged.json")) << text;
  }
}

TEST_F(StageTest, AMissingSourceLeavesNoFolder) {
  const auto report = stage(options());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Errc::not_found);
  EXPECT_THAT(staged(), ElementsAre("no folder"));
}

TEST_F(StageTest, NothingToStageIsAnError) {
  Tar tar;
  put("data.tar", tar.file("notes.txt").bytes());
  const auto report = stage(options());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("no file with the suffix bmp, jpeg"));
}

}  // namespace
}  // namespace sluice::storage::stage_test
