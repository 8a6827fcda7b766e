// tests/env/storage_test.cpp - what the data directory lies on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/env/fixture.h"

namespace sluice::env::storage_test {
namespace {

using ::testing::HasSubstr;

void add_disk(fixture::Tree& tree, const std::string& number, const std::string& name,
              const char* rotational) {
  tree.file("/sys/devices/" + name + "/queue/rotational", rotational);
  tree.link("/sys/dev/block/" + number, "../../devices/" + name);
  tree.link("/sys/class/block/" + name, "../../devices/" + name);
}

struct Case {
  const char* filesystem;
  const char* source;
  const char* kind;
};

TEST(ReadStorage, FileSystemsWithoutADisk) {
  for (const Case& c :
       {Case{"nfs4", "server:/share", "network"}, Case{"tmpfs", "tmpfs", "memory"},
        Case{"overlay", "overlay", "overlay"}, Case{"9p", "host", "shared"},
        Case{"fuse.gcsfuse", "bucket", "network"}, Case{"lustre", "a", "network"}}) {
    fixture::Tree tree;
    tree.file("/proc/self/mountinfo",
              fmt::format("29 1 0:40 / / rw - {} {} rw\n", c.filesystem, c.source));
    const Storage storage = read_storage(tree.root(), "/data");
    EXPECT_EQ(*storage.filesystem, c.filesystem);
    EXPECT_EQ(*storage.kind, c.kind);
    EXPECT_FALSE(storage.device);
    EXPECT_FALSE(storage.rotational.reason.empty());
  }
}

TEST(ReadStorage, DisksByNameAndRotation) {
  struct Disk {
    const char* name;
    const char* rotational;
    const char* kind;
  };
  for (const Disk& d :
       {Disk{"nvme0n1", "0", "nvme"}, Disk{"vda", "1", "virtio"}, Disk{"sda", "1", "hdd"},
        Disk{"sdb", "0", "ssd"}, Disk{"loop3", "0", "loop"}}) {
    fixture::Tree tree;
    tree.file("/proc/self/mountinfo", "29 1 254:0 / / rw - ext4 /dev/root rw\n");
    add_disk(tree, "254:0", d.name, d.rotational);
    const Storage storage = read_storage(tree.root(), "/data");
    EXPECT_EQ(*storage.kind, d.kind) << d.name;
    EXPECT_EQ(*storage.device, d.name);
    EXPECT_EQ(*storage.rotational, std::string(d.rotational) == "1");
  }
}

TEST(ReadStorage, APartitionAsksItsDisk) {
  fixture::Tree tree;
  tree.file("/proc/self/mountinfo", "29 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  tree.file("/sys/devices/sda/queue/rotational", "1\n")
      .file("/sys/devices/sda/sda1/partition", "1");
  tree.link("/sys/dev/block/8:1", "../../devices/sda/sda1");
  tree.link("/sys/class/block/sda1", "../../devices/sda/sda1");
  const Storage storage = read_storage(tree.root(), "/data");
  EXPECT_EQ(*storage.kind, "hdd");
  EXPECT_EQ(*storage.device, "sda1");
}

TEST(ReadStorage, AMappedDeviceAsksWhatItLiesOn) {
  fixture::Tree tree;
  tree.file("/proc/self/mountinfo", "29 1 253:0 / / rw - xfs /dev/mapper/vg-data rw\n");
  add_disk(tree, "253:0", "dm-0", "0");
  add_disk(tree, "259:0", "nvme1n1", "0");
  tree.file("/sys/devices/dm-0/slaves/nvme1n1/x", "");
  EXPECT_EQ(*read_storage(tree.root(), "/data").kind, "nvme");
}

TEST(ReadStorage, BtrfsIsFoundByItsSource) {
  fixture::Tree tree;
  tree.file("/proc/self/mountinfo", "29 1 0:33 /@ / rw - btrfs /dev/nvme0n1 rw\n");
  add_disk(tree, "259:0", "nvme0n1", "0");
  EXPECT_EQ(*read_storage(tree.root(), "/data").kind, "nvme");
}

TEST(ReadStorage, TheLongestMountWinsAndOfEqualOnesTheLast) {
  fixture::Tree tree;
  tree.file("/proc/self/mountinfo",
            "1 0 0:1 / / rw - overlay o rw\n"
            "2 1 0:2 / /data rw - nfs4 s:/x rw\n"
            "3 1 0:3 / /data/my\\040set rw - tmpfs t rw\n"
            "4 1 0:4 / /twice rw - nfs4 s:/y rw\n"
            "5 1 0:5 / /twice rw - tmpfs t rw\n");
  EXPECT_EQ(*read_storage(tree.root(), "/data/x").filesystem, "nfs4");
  EXPECT_EQ(*read_storage(tree.root(), "/database").filesystem, "overlay");
  EXPECT_EQ(*read_storage(tree.root(), "/data/my set/a").filesystem, "tmpfs");
  EXPECT_EQ(*read_storage(tree.root(), "/data/../twice/").filesystem, "tmpfs");
}

TEST(ReadStorage, WithoutATableEachFieldSaysWhy) {
  fixture::Tree tree;
  const Storage storage = read_storage(tree.root(), "/data");
  EXPECT_EQ(storage.kind.reason, "/proc/self/mountinfo is absent");
  tree.file("/proc/self/mountinfo", "29 1 254:0 / / rw - ext4 /dev/gone rw\n");
  EXPECT_THAT(read_storage(tree.root(), "/data").kind.reason, HasSubstr("no block device"));
}

}  // namespace
}  // namespace sluice::env::storage_test
