// tests/env/fixture.h - trees of /proc and /sys as other machines would show them, and a scripted
// NVML.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/env/nvml.h"
#include "sluice/env/system_root.h"

#include <fmt/format.h>

#include "tests/core/temporary_folder.h"
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sluice::env::fixture {

class Tree {
 public:
  Tree& file(const std::string& path, const std::string& content) {
    const auto full = folder_.path() / path.substr(1);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << content;
    return *this;
  }
  Tree& link(const std::string& path, const std::string& target) {
    const auto full = folder_.path() / path.substr(1);
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_directory_symlink(target, full);
    return *this;
  }
  [[nodiscard]] SystemRoot root() const { return SystemRoot(folder_.path()); }

 private:
  testing_support::TemporaryFolder folder_;
};

inline void add_cores(Tree& tree, int count, const std::string& allowed) {
  tree.file("/sys/devices/system/cpu/online", fmt::format("0-{}\n", count - 1));
  tree.file("/proc/self/status", "Name:\tsluice\nCpus_allowed_list:\t" + allowed + "\n");
}

inline void add_cache(Tree& tree, int index, int level, const std::string& type,
                      const std::string& size) {
  const std::string base = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
  tree.file(base + "/level", fmt::format("{}\n", level));
  tree.file(base + "/type", type + "\n");
  tree.file(base + "/size", size + "\n");
}

/// A Sapphire Rapids server: 8 cores seen, AVX-512 and AMX, intel_pstate.
inline void add_intel(Tree& tree) {
  tree.file("/proc/cpuinfo",
            "processor\t: 0\n"
            "vendor_id\t: GenuineIntel\n"
            "cpu family\t: 6\n"
            "model\t\t: 143\n"
            "model name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\n"
            "stepping\t: 8\n"
            "microcode\t: 0x2b000590\n"
            "flags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2 avx512f avx512dq "
            "avx512cd avx512bw avx512vl avx512vbmi avx512_vbmi2 avx512_vnni amx_bf16 amx_tile "
            "amx_int8 constant_tsc hypervisor\n\n"
            "processor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 999\n\n");
  add_cores(tree, 8, "0-7");
  add_cache(tree, 0, 1, "Data", "48K");
  add_cache(tree, 1, 1, "Instruction", "32K");
  add_cache(tree, 2, 2, "Unified", "2048K");
  add_cache(tree, 3, 3, "Unified", "107520K");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string base = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq", cpu);
    tree.file(base + "/scaling_governor", "powersave\n");
    tree.file(base + "/scaling_driver", "intel_pstate\n");
    tree.file(base + "/scaling_min_freq", "800000\n");
    tree.file(base + "/scaling_max_freq", "3800000\n");
  }
  tree.file("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  tree.file("/sys/devices/system/cpu/smt/active", "1\n");
  tree.file("/sys/devices/system/node/online", "0-1\n");
  tree.file("/sys/class/dmi/id/sys_vendor", "Google\n");
  tree.file("/sys/class/dmi/id/product_name", "Google Compute Engine\n");
}

inline void add_amd(Tree& tree) {
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n"
            "model name\t: AMD EPYC 7542 32-Core Processor\nstepping\t: 0\nmicrocode\t: 0x830107b\n"
            "flags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2\n\n");
  add_cores(tree, 64, "0-63");
  add_cache(tree, 0, 1, "Data", "32K");
  add_cache(tree, 3, 3, "Unified", "16384K");
  tree.file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
}

inline void add_neoverse(Tree& tree,
                         const std::string& features = "fp asimd aes asimddp i8mm bf16 sve") {
  tree.file("/proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: " + features +
                "\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
                "CPU part\t: 0xd40\nCPU revision\t: 1\n\n");
  add_cores(tree, 2, "0-1");
  add_cache(tree, 3, 3, "Unified", "32768K");
}

/// Letters, digits and `. _ -` only, and at least one. (std::regex does not compile cleanly with
/// -fsanitize.)
inline bool is_file_name(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
             std::string::npos;
}

/// Answers as set; a name in `failing` makes that question fail ("name:3" for one device only).
class FakeNvml final : public Nvml {
 public:
  struct Card {
    std::string name = "NVIDIA H100 80GB HBM3";
    int capability = 90;
    bool mig = false;
  };
  std::vector<Card> cards;
  std::string driver = "550.54.15";
  int cuda = 12040;
  std::set<std::string> failing;
  /// How busy each look finds the device, one after another; empty: it does not tell.
  std::vector<unsigned> busy;

  Result<unsigned> utilisation_percent(unsigned i) override {
    if (busy.empty()) return Nvml::utilisation_percent(i);
    return busy[std::min(looks_++, busy.size() - 1)];
  }
  Result<unsigned> power_mw(unsigned i) override { return answer("power_now", 690'000U, i); }
  Result<bool> held_by_power(unsigned i) override { return answer("held", looks_ % 2 == 0, i); }
  Result<std::string> driver_version() override { return answer("driver", driver); }
  Result<int> cuda_version() override { return answer("cuda", cuda); }
  Result<unsigned> count() override { return answer("count", static_cast<unsigned>(cards.size())); }
  Result<std::string> name(unsigned i) override { return answer("name", cards[i].name, i); }
  Result<std::string> uuid(unsigned i) override {
    return answer("uuid", fmt::format("GPU-{}aaaaaaa-0000-1111-2222-333333333333", i), i);
  }
  Result<std::int64_t> memory_bytes(unsigned i) override {
    return answer("memory", std::int64_t{85'899'345'920}, i);
  }
  Result<int> compute_capability(unsigned i) override {
    return answer("capability", cards[i].capability, i);
  }
  Result<unsigned> clock_mhz(unsigned i, Clock) override { return answer("clock", 345U, i); }
  Result<unsigned> max_clock_mhz(unsigned i, Clock clock) override {
    return answer("max_clock", clock == Clock::sm ? 1980U : 2619U, i);
  }
  Result<unsigned> power_limit_mw(unsigned i) override { return answer("power", 700'000U, i); }
  Result<bool> ecc(unsigned i) override { return answer("ecc", true, i); }
  Result<bool> mig(unsigned i) override { return answer("mig", cards[i].mig, i); }
  Result<bool> persistence(unsigned i) override { return answer("persistence", true, i); }

 private:
  std::size_t looks_ = 0;
  template <class T>
  Result<T> answer(const std::string& question, T value) {
    if (failing.count(question) != 0) return Error{Errc::unsupported, question + ": Not Supported"};
    return value;
  }
  template <class T>
  Result<T> answer(const std::string& question, T value, unsigned index) {
    if (failing.count(fmt::format("{}:{}", question, index)) != 0) {
      return Error{Errc::unsupported, question + ": GPU is lost"};
    }
    return answer(question, std::move(value));
  }
};

}  // namespace sluice::env::fixture
