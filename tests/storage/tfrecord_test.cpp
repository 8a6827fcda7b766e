// tests/storage/tfrecord_test.cpp - records come back as written; damage is named with file and
// offset, whatever was damaged.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/tfrecord.h"

#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/memory_store.h"
#include <vector>

namespace sluice::storage::tfrecord_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> some_payloads(std::uint64_t seed) {
  Rng rng(RngKey{.seed = seed});
  std::vector<std::string> payloads;
  for (int i = 0; i < 40; ++i) {
    std::string payload(rng.below(i % 4 == 0 ? 20000 : 300), '\0');
    for (char& c : payload)
      c = static_cast<char>(rng.next_u32());
    payloads.push_back(std::move(payload));
  }
  return payloads;
}

std::string file_of(const std::vector<std::string>& payloads) {
  std::string file;
  for (const auto& payload : payloads)
    append_record(file, payload);
  return file;
}

/// Reads all; the error if there is one.
Status read_all(std::vector<std::string>& out, testing::MemoryStore& store) {
  RecordReader reader(store, *store.stat("f"));
  while (true) {
    SLUICE_TRY(const auto record, reader.next());
    if (!record) return ok;
    out.push_back(text(record->payload));
  }
}

TEST(TfrecordTest, WritesWhatTensorFlowWrites) {  // tf.io.TFRecordWriter, "" and "abc"
  const unsigned char empty[] = {0,    0,    0,    0,    0,    0,    0,    0,
                                 0x29, 0x03, 0x98, 0x07, 0xd8, 0xea, 0x82, 0xa2};
  std::string file;
  append_record(file, "");
  EXPECT_EQ(file, std::string(reinterpret_cast<const char*>(empty), sizeof empty));
}

TEST(TfrecordTest, RecordsComeBackInEveryWayOfReading) {
  const auto payloads = some_payloads(3);
  for (const std::size_t request : {0UL, 64UL, 4096UL, 1UL << 20}) {
    testing::MemoryStore store(request);
    store.objects["f"] = file_of(payloads);
    std::vector<std::string> read;
    ASSERT_TRUE(read_all(read, store));
    EXPECT_EQ(read, payloads);
    if (request == 0) {
      EXPECT_LE(store.reads, static_cast<int>(payloads.size()) + 1) << "a read per record";
    }

    RecordReader reader(store, *store.stat("f"));
    std::vector<RecordPlace> places;
    while (const auto place = *reader.skip())
      places.push_back(*place);
    ASSERT_EQ(places.size(), payloads.size());
    for (std::size_t i = places.size(); i > 0; --i)
      EXPECT_EQ(text(reader.at(places[i - 1])->payload), payloads[i - 1]);
  }
}

TEST(TfrecordTest, EveryFlippedByteAndEveryCutIsFound) {
  testing::MemoryStore store;
  const std::vector<std::string> payloads = {"one", std::string(100, 'x'), ""};
  const std::string file = file_of(payloads);
  for (std::size_t at = 0; at < file.size(); ++at) {
    store.objects["f"] = file;
    store.objects["f"][at] ^= 0x10;
    std::vector<std::string> read;
    const Status outcome = read_all(read, store);
    ASSERT_FALSE(outcome) << at;
    const std::size_t record = at < 19 ? 0 : at < 19 + 116 ? 19 : 19 + 116;
    EXPECT_THAT(outcome.error().message,
                AllOf(HasSubstr("memory: f: record at byte " + std::to_string(record) + ":"),
                      HasSubstr("checksum")))
        << at;
    store.objects["f"] = file.substr(0, at);
    read.clear();
    EXPECT_EQ(read_all(read, store).has_value(), at == 0 || at == 19 || at == 19 + 116) << at;
  }
}

TEST(TfrecordTest, APassThatKeepsPartsFindsAllThatAReadFinds) {
  testing::MemoryStore store;
  const std::vector<std::string> payloads = {"one", std::string(100, 'x'), "", "last"};
  const std::string file = file_of(payloads);
  store.objects["f"] = file;
  RecordReader reader(store, *store.stat("f"));
  std::vector<RecordPlace> places;
  while (const auto place = *reader.skip())
    places.push_back(*place);
  const auto expect_same = [&](const RecordPlace& place, std::size_t at) {
    std::string kept(static_cast<std::size_t>(place.size) + 2, '\xa5');
    const ObjectStore::Excerpt part{place.offset + kRecordHeaderBytes,
                                    std::as_writable_bytes(std::span(kept)).subspan(1, place.size)};
    const auto checked = reader.check(place, {&part, 1});
    RecordReader other(store, reader.file());
    const auto read = other.at(place);
    ASSERT_EQ(checked.has_value(), read.has_value()) << at;
    if (!read) {
      EXPECT_EQ(checked.error().message, read.error().message) << at;
      EXPECT_EQ(checked.error().code, read.error().code) << at;
      return;
    }
    EXPECT_EQ(*checked, read->checksum);
    EXPECT_EQ(kept, "\xa5" + text(read->payload) + "\xa5") << at;
  };
  for (const RecordPlace& place : places)
    expect_same(place, file.size());
  for (std::size_t at = 0; at < file.size(); ++at) {
    store.objects["f"] = file;
    store.objects["f"][at] ^= 0x10;
    for (const RecordPlace& place : places) {
      expect_same(place, at);
      const bool hit = at >= place.offset && at < place.end();
      EXPECT_EQ(reader.check(place, {}).has_value(), !hit) << at;
      EXPECT_EQ(reader.at(place).has_value(), !hit) << at;
    }
    store.objects["f"] = file.substr(0, at);  // the reader knows it as it was
    for (const RecordPlace& place : places)
      EXPECT_EQ(reader.check(place, {}).has_value(), place.end() <= at) << at;
  }
}

TEST(TfrecordTest, ARecordOfAnotherLengthAtItsPlaceWasWrittenAnew) {
  testing::MemoryStore store;
  store.objects["f"] = file_of({"twelve bytes", "another one"});
  RecordReader reader(store, *store.stat("f"));
  const RecordPlace place = **reader.skip();
  store.objects["f"] = file_of({"eleven byte", "another one."});
  const auto checked = reader.check(place, {});
  const auto read = reader.at(place);
  ASSERT_FALSE(checked || read);
  EXPECT_EQ(checked.error().message, read.error().message);
  EXPECT_THAT(
      read.error().message,
      HasSubstr("record at byte 0: it has 11 bytes of payload where it had 12: the file was "
                "written anew"));
}

TEST(TfrecordTest, AHugeLengthWithASoundChecksumTakesNoMemory) {
  testing::MemoryStore store;
  std::string whole;
  append_record(whole, std::string(5000, 'p'));
  store.objects["f"] = whole.substr(0, 100);
  std::vector<std::string> read;
  const Status outcome = read_all(read, store);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message,
              AllOf(HasSubstr("5000 bytes of payload"), HasSubstr("ends 88 bytes after")));
}

TEST(TfrecordTest, LengthsAloneLeaveThePayloadUnchecked) {
  testing::MemoryStore store;
  store.objects["f"] = file_of({"payload"});
  store.objects["f"][14] ^= 1;
  RecordReader reader(store, *store.stat("f"));
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.offset(), 0U) << "stays where it was";
  EXPECT_TRUE(reader.next(RecordCheck::lengths));
}

}  // namespace
}  // namespace sluice::storage::tfrecord_test
