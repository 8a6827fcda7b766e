// sluice/env/storage.cpp - what kind of disk the data directory lies on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/env/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::env {
namespace fs = std::filesystem;

namespace {

constexpr std::array kNetwork = {"nfs",    "nfs4", "cifs",   "smb3",      "smbfs", "ceph",
                                 "lustre", "gpfs", "beegfs", "glusterfs", "afs",   "ncpfs"};
constexpr std::array kMemory = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
constexpr std::array kShared = {"9p", "virtiofs", "vboxsf", "drvfs"};  // of the host, into a guest

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string normal(const SystemRoot& root, const fs::path& data_dir) {
  std::error_code error;
  fs::path path = data_dir.empty() ? fs::path(".") : data_dir;
  if (root.is_this_machine()) {
    const fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
    if (!error) path = resolved;
  }
  path = fs::path("/") / path.lexically_normal();
  if (!path.has_filename() && path != "/") path = path.parent_path();
  return path.string();
}

// A partition has no queue of its own, and a mapped or striped device is as fast as what it lies
// on.
std::string whole_device(const SystemRoot& root, std::string name) {
  for (int depth = 0; depth < 4; ++depth) {
    const std::vector<std::string> below = root.list("/sys/class/block/" + name + "/slaves");
    if (below.empty()) break;
    name = below.front();
  }
  return name;
}

Known<std::string> device_name(const SystemRoot& root, const Mount& mount) {
  const auto by_number = root.link_name("/sys/dev/block/" + mount.device);
  if (by_number) return by_number;
  // btrfs and others have a number of their own; their source still names a device.
  if (mount.source.starts_with("/dev/")) {
    const std::string name = mount.source.substr(mount.source.rfind('/') + 1);
    if (root.exists("/sys/class/block/" + name)) return name;
  }
  return Known<std::string>::unknown(
      fmt::format("file system {} is on no block device", printable(mount.filesystem)));
}

Known<std::int64_t> rotational_flag(const SystemRoot& root, const std::string& name) {
  const auto own = root.read_int("/sys/class/block/" + name + "/queue/rotational");
  if (own) return own;
  return root.read_int("/sys/class/block/" + name + "/../queue/rotational");  // a partition
}

void describe_device(const SystemRoot& root, Storage& storage) {
  const std::string name = whole_device(root, *storage.device);
  const auto rotational = rotational_flag(root, name);
  storage.rotational =
      rotational ? Known<bool>(*rotational != 0) : Known<bool>::unknown(rotational.reason);
  if (name.starts_with("nvme")) {
    storage.kind = std::string("nvme");
  } else if (name.starts_with("vd") || name.starts_with("xvd")) {
    storage.kind = std::string("virtio");
  } else if (name.starts_with("loop")) {
    storage.kind = std::string("loop");
  } else if (name.starts_with("ram") || name.starts_with("zram") || name.starts_with("pmem")) {
    storage.kind = std::string("memory");
  } else if (storage.rotational) {
    storage.kind = std::string(*storage.rotational ? "hdd" : "ssd");
  } else {
    storage.kind = Known<std::string>::unknown(storage.rotational.reason);
  }
}

}  // namespace

Storage read_storage(const SystemRoot& root, const fs::path& data_dir) {
  Storage storage;
  const auto all_unknown = [&](const std::string& why) {
    storage.filesystem = storage.kind = storage.device = Known<std::string>::unknown(why);
    storage.rotational = Known<bool>::unknown(why);
    return storage;
  };
  const auto table = root.read("/proc/self/mountinfo", 1 << 20);
  if (!table) return all_unknown(table.reason);
  const std::vector<Mount> mounts = parse_mountinfo(*table);
  const Mount* mount = find_mount(mounts, normal(root, data_dir));
  if (mount == nullptr) return all_unknown("no mount in /proc/self/mountinfo holds the folder");

  const std::string type = printable(mount->filesystem);
  storage.filesystem = type;
  const char* kind = is_one_of(kNetwork, type)          ? "network"
                     : is_one_of(kMemory, type)         ? "memory"
                     : is_one_of(kShared, type)         ? "shared"
                     : type.starts_with("overlay")      ? "overlay"
                     : type.starts_with("fuse.sshfs")   ? "network"
                     : type.starts_with("fuse.s3fs")    ? "network"
                     : type.starts_with("fuse.gcsfuse") ? "network"
                                                        : nullptr;
  if (kind != nullptr) {
    storage.kind = std::string(kind);
    storage.device = Known<std::string>::unknown(fmt::format("{} has no device of its own", type));
    storage.rotational = Known<bool>::unknown(storage.device.reason);
    return storage;
  }
  storage.device = device_name(root, *mount);
  if (!storage.device) {
    storage.kind = Known<std::string>::unknown(storage.device.reason);
    storage.rotational = Known<bool>::unknown(storage.device.reason);
    return storage;
  }
  describe_device(root, storage);
  return storage;
}

}  // namespace sluice::env
