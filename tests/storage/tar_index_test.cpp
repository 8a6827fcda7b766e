// tests/storage/tar_index_test.cpp - members of tars by offset: every format, and hostile bytes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tar_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/memory_store.h"
#include "tests/storage/tar.h"
#include <string>
#include <vector>

namespace sluice::storage::tar_index_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryStore;
using testing::Tar;

/// "name=content" of each member, or the error after those that were found.
std::vector<std::string> members(const std::string& bytes, std::size_t request = 0,
                                 int* reads = nullptr) {
  MemoryStore store(request);
  store.objects["a.tar"] = bytes;
  TarScan scan(store, {.key = "a.tar", .size = bytes.size(), .version = "1"});
  std::vector<std::string> found;
  for (;;) {
    const auto member = scan.next();
    if (!member) found.push_back("error: " + member.error().message);
    if (!member || !*member) break;
    found.push_back((*member)->name + "=" + bytes.substr((*member)->offset, (*member)->size));
  }
  if (reads != nullptr) *reads = store.reads;
  return found;
}

/// The checksum of the header at `at` made right again.
void seal(std::string& bytes, std::size_t at) {
  bytes.replace(at + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (std::size_t i = at; i < at + 512; ++i)
    sum += static_cast<unsigned char>(bytes[i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  bytes.replace(at + 148, 7, text, 7);
}

TEST(TarIndexTest, EveryFormatGivesTheSameMembers) {
  const std::string deep = std::string(90, 'd') + "/" + std::string(60, 'e') + ".jpg";
  const std::string longer = std::string(150, 'x') + "/" + std::string(200, 'y') + ".jpg";
  for (const char* format : {"pax", "paxr", "gnutar", "ustar"}) {
    Tar tar("", format);
    tar.folder("set").file("./set/a.jpg", "abc").file("set/empty.jpg", "");
    tar.file(deep, std::string(1000, 'q')).symbolic_link("set/link", "a.jpg");
    const bool ustar = std::string(format) == "ustar";
    if (!ustar) tar.file(longer, "long");
    tar.file("last.cls", "7");
    std::vector<std::string> expected{"set/a.jpg=abc",
                                      "set/empty.jpg=", deep + "=" + std::string(1000, 'q')};
    if (!ustar) expected.push_back(longer + "=long");
    expected.emplace_back("last.cls=7");
    EXPECT_EQ(members(tar.bytes()), expected) << format;
  }
}

TEST(TarIndexTest, ReadsFewBlocksOfADearStoreAndJumpsInACheapOne) {
  Tar tar;
  for (int i = 0; i < 20; ++i)
    tar.file(std::to_string(i) + ".jpg", std::string(100'000, 'x'))
        .file(std::to_string(i) + ".cls", "1");
  const std::string bytes = tar.bytes();
  int reads = 0;
  EXPECT_EQ(members(bytes, 1 << 20, &reads).size(), 40U);
  EXPECT_LE(reads, 4);  // 2 MB in blocks of 1 MiB that begin at headers
  MemoryStore store;
  store.objects["a.tar"] = bytes;
  TarScan scan(store, {.key = "a.tar", .size = bytes.size(), .version = "1"});
  for (auto member = scan.next(); member && *member; member = scan.next())
    if ((*member)->name.back() == 's') {
      const auto content = scan.content(**member);
      ASSERT_TRUE(content);
      EXPECT_EQ(*content, "1");
    }
  EXPECT_LE(store.reads, 41);
  EXPECT_LT(store.bytes_read, 41U * 4096);
}

TEST(TarIndexTest, AnEndInsideAMemberIsAnError) {
  const std::string whole = Tar("", "ustar").file("a.jpg", "abc").file("b.jpg", "def").bytes();
  EXPECT_THAT(members(whole.substr(0, 1536 + 2)),
              ElementsAre("a.jpg=abc", AllOf(HasSubstr("memory/a.tar"), HasSubstr("at byte 1024"),
                                             HasSubstr("a member of 3 bytes, but 2 are left"))));
  EXPECT_THAT(members(whole.substr(0, 1100)),
              ElementsAre("a.jpg=abc", HasSubstr("ends inside a header")));
}

TEST(TarIndexTest, HostileHeadersAreErrors) {
  const std::string good = Tar("", "ustar").file("a.jpg", "abc").file("b.jpg", "def").bytes();
  std::string bytes = good;
  bytes[3] ^= 1;
  EXPECT_THAT(members(bytes), ElementsAre(HasSubstr("checksum of a header")));
  const auto with_size = [&](const std::string& size) {
    std::string changed = good;
    changed.replace(124, 12, size);
    seal(changed, 0);
    return members(changed);
  };
  EXPECT_THAT(with_size(std::string("77777777777\0", 12)), ElementsAre(HasSubstr("are left")));
  EXPECT_THAT(with_size(std::string("-1\0\0\0\0\0\0\0\0\0\0", 12)),
              ElementsAre(HasSubstr("no number")));
  EXPECT_THAT(with_size(std::string("\x80", 1) + std::string(11, '\xff')),
              ElementsAre(HasSubstr("no number")));
  EXPECT_THAT(with_size(std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12)),
              ElementsAre(HasSubstr("are left")));
  // The size reaches into the next header: what lies there is no header.
  EXPECT_THAT(with_size(std::string("00000001001\0", 12)).back(), HasSubstr("error: "));
  bytes = good;
  bytes[156] = 'S';
  seal(bytes, 0);
  EXPECT_THAT(members(bytes), ElementsAre(HasSubstr("sparse")));
  bytes = good.substr(0, 1024) + std::string(512, '\0') + good.substr(1024);
  EXPECT_THAT(members(bytes), ElementsAre("a.jpg=abc", HasSubstr("follows the end mark")));
  bytes = good;
  bytes[156] = 'L';
  seal(bytes, 0);
  EXPECT_THAT(members(bytes), ElementsAre("abc=def"));  // a long name of three letters
}

TEST(TarIndexTest, AnArchiveCutAtAMemberIsNotWhole) {
  const std::string whole = Tar("", "ustar").file("a.jpg", "abc").file("b.jpg", "def").bytes();
  EXPECT_THAT(members(whole.substr(0, 1024)),
              ElementsAre("a.jpg=abc", HasSubstr("at byte 1024: it ends without an end mark")));
  EXPECT_THAT(members(""), ElementsAre(HasSubstr("without an end mark")));
  EXPECT_THAT(members(whole.substr(0, 2560)), ElementsAre("a.jpg=abc", "b.jpg=def"))
      << "a lone block of zeros is an end, as for GNU tar";
  const std::string longer = Tar("", "gnutar").file(std::string(150, 'x'), "abc").bytes();
  EXPECT_THAT(members(longer.substr(0, 1024) + std::string(1024, '\0')),
              ElementsAre(HasSubstr("an extended header that no member follows")));
}

TEST(TarIndexTest, HostilePaxRecordsAreErrors) {
  const auto with = [](const std::string& records, char type = 'x') {
    std::string bytes = Tar("", "ustar").file("pax", records).file("b.jpg", "def").bytes();
    bytes[156] = type;
    seal(bytes, 0);
    return members(bytes);
  };
  EXPECT_THAT(with("12 path=abc\n"), ElementsAre("abc=def"));
  EXPECT_THAT(with("10 size=2\n"), ElementsAre("b.jpg=de"));
  for (const char* records : {"99 path=abc\n", "12 path=abcx", "path=abc\n", "4 a\n", "0 \n",
                              "18446744073709551615 path=abc\n", "10 size=x\n", "8 size=\n",
                              "25 GNU.sparse.major=12345\n", "6 abc\n"})
    EXPECT_THAT(with(records), ElementsAre(HasSubstr("error: memory/a.tar"))) << records;
  EXPECT_THAT(with("30 size=18446744073709551615\n"), ElementsAre(HasSubstr("error: ")));
  EXPECT_THAT(with("12 path=abc\n", 'g'), ElementsAre(HasSubstr("global header")));
  EXPECT_THAT(with("14 comment=ab\n", 'g'), ElementsAre("b.jpg=def"));
}

}  // namespace
}  // namespace sluice::storage::tar_index_test
