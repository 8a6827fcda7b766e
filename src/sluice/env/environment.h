// sluice/env/environment.h - what is known about the machine, the build and the settings a number
// was measured with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/env/known.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::env {

/// Raised when a reader of the previous version would misread env.json.
inline constexpr int kEnvSchemaVersion = 1;

struct Cpu {
  Known<std::string> architecture;  // "x86_64", "aarch64"
  Known<std::string> vendor;        // "intel", "amd", "arm": lower case
  Known<std::string> model_name;    // several CPUs may share one: compare by the numbers below
  Known<std::int64_t> family, model, stepping;  // x86-64
  Known<std::string> microcode;                 // x86-64
  Known<std::string> implementer, part;         // aarch64, hexadecimal without 0x: "41", "d40"
  Known<std::int64_t> variant, revision;        // aarch64: r<variant>p<revision>
  std::string isa = "scalar";  // highest of sse4 avx2 avx512 avx512vbmi amx | neon sve; else scalar
  std::vector<std::string> flags;  // those that our code, or its peers, dispatch on
  Known<std::int64_t> l1d_bytes, l1i_bytes, l2_bytes,
      l3_bytes;  // one cache, as the first usable core sees it
};

struct Cores {
  Known<std::int64_t> visible;      // online
  Known<std::string> affinity;      // "0-3,8": CPUs this process may run on
  Known<std::int64_t> in_affinity;  // how many those are
  Known<double>
      quota;  // cgroup CPU limit in cores; unknown with the reason "no limit set" without one
  std::int64_t usable = 1;  // affinity and quota considered, at least 1
  Known<bool> smt;          // two hardware threads of one core are in use
  Known<std::int64_t> numa_nodes;
};

struct Frequency {
  Known<std::string> governor;  // all usable cores; "mixed: a, b" when they differ
  Known<std::string> driver;
  Known<std::int64_t> min_khz, max_khz;  // what the governor may choose between
  Known<bool> turbo;
};

struct Memory {
  Known<std::int64_t> total_bytes, available_bytes;
  Known<std::int64_t> swap_total_bytes, swap_free_bytes;
  Known<std::int64_t> cgroup_limit_bytes;
};

struct Host {
  Known<std::string> kernel;        // "6.1.0-18-amd64"
  Known<std::string> distribution;  // "Debian GNU/Linux 12 (bookworm)"
  std::string container = "none";   // "docker", "podman", "kubernetes", "lxc", "containerd"; a hint
  std::string virtualisation = "none";  // "kvm", "xen", ..., "unknown hypervisor"; a hint
};

/// Of the data directory. Neither its path nor the mount's source is kept: both can name people and
/// hosts.
struct Storage {
  Known<std::string> filesystem;  // "ext4", "overlay", "nfs4"
  Known<std::string> kind;        // nvme, ssd, hdd, virtio, loop, network, memory, overlay, shared
  Known<std::string> device;      // "nvme0n1"
  Known<bool> rotational;         // virtual disks often claim it wrongly
};

struct Gpu {
  std::int64_t index = 0;  // NVML's: by PCI bus
  bool visible = true;     // not hidden by CUDA_VISIBLE_DEVICES
  Known<std::string> name;
  Known<std::int64_t> memory_bytes;
  Known<std::string> compute_capability;  // "9.0"
  Known<std::int64_t> sm_clock_mhz, max_sm_clock_mhz, max_memory_clock_mhz;
  Known<double> power_limit_w;
  Known<bool> ecc, mig, persistence;
};

struct Gpus {
  Known<std::string> driver_version;  // "550.54.15"
  Known<std::string> cuda_version;    // newest the driver can run: "12.4"
  std::vector<Gpu> devices;
};

struct Git {
  std::string sha = "unknown";  // 40 hexadecimal digits
  Known<bool> dirty;            // tracked files differ from the commit
};

struct Build {
  std::string version;  // of Sluice
  std::string compiler, flags, build_type;
  Known<std::string> highway;         // version compiled in
  Known<std::string> highway_target;  // best that this CPU supports and this build contains
  Git git;                            // of the sources, when they were compiled
};

struct Environment {
  int schema_version = kEnvSchemaVersion;
  std::string timestamp;  // UTC, "2026-01-31T12:00:00Z"
  Cpu cpu;
  Cores cores;
  Frequency frequency;
  Memory memory;
  Host host;
  Storage storage;
  Gpus gpu;
  Build build;
  Git git;                                       // of the repository around the current directory
  std::map<std::string, std::string> variables;  // that set threads, devices and communication
};

/// Keys are always all there; what is not known is null, and `unknown` maps its dotted path to the
/// reason.
Json to_json(const Environment& environment);
/// `name` is what errors call the document. A newer schema, a missing key or a wrong type is an
/// error naming the key; unknown keys are ignored.
Result<Environment> from_json(const Json& json, const std::string& name);

/// Writes env.json atomically, with `machine_profile` beside the fields of the environment.
Status save(const std::filesystem::path& path, const Environment& environment,
            const std::string& machine_profile);

}  // namespace sluice::env
