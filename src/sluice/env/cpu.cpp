// sluice/env/cpu.cpp - which CPU this is: identity, instruction sets, caches.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/env/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

namespace sluice::env {
namespace {

// What our kernels and the peers' choose between, plus what says how far a clock can be trusted.
constexpr std::array kFlags = {
    // x86-64
    "sse4_1", "sse4_2", "avx", "f16c", "fma", "bmi2", "avx2", "avx_vnni", "avx512f", "avx512bw",
    "avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_vnni",
    "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
    "amx_bf16", "amx_fp16", "gfni", "vaes", "vpclmulqdq", "constant_tsc", "nonstop_tsc",
    "hypervisor",
    // aarch64
    "asimd", "aes", "pmull", "crc32", "atomics", "fphp", "asimdhp", "asimddp", "asimdfhm", "fcma",
    "i8mm", "bf16", "sve", "sve2", "svei8mm", "svebf16", "sme", "sme2"};

struct Name {
  std::int64_t id;
  const char* name;
};
constexpr std::array kImplementers = {
    Name{0x41, "arm"},     Name{0x42, "broadcom"},  Name{0x43, "cavium"},
    Name{0x46, "fujitsu"}, Name{0x48, "hisilicon"}, Name{0x4e, "nvidia"},
    Name{0x50, "apm"},     Name{0x51, "qualcomm"},  Name{0x53, "samsung"},
    Name{0x61, "apple"},   Name{0x6d, "microsoft"}, Name{0xc0, "ampere"}};
// Of implementer 0x41; aarch64's cpuinfo has no name.
constexpr std::array kArmParts = {Name{0xd03, "Cortex-A53"},  Name{0xd07, "Cortex-A57"},
                                  Name{0xd08, "Cortex-A72"},  Name{0xd0b, "Cortex-A76"},
                                  Name{0xd0c, "Neoverse-N1"}, Name{0xd40, "Neoverse-V1"},
                                  Name{0xd49, "Neoverse-N2"}, Name{0xd4f, "Neoverse-V2"},
                                  Name{0xd84, "Neoverse-V3"}, Name{0xd8e, "Neoverse-N3"}};

template <std::size_t N>
const char* find_name(const std::array<Name, N>& names, std::int64_t id) {
  const auto it = std::find_if(names.begin(), names.end(), [&](Name n) { return n.id == id; });
  return it == names.end() ? nullptr : it->name;
}

Known<std::string> text_field(std::string_view block, std::string_view key) {
  const auto text = find_field(block, key);
  if (text && !text->empty()) return printable(*text);
  return Known<std::string>::unknown(fmt::format("/proc/cpuinfo has no '{}'", key));
}

Known<std::int64_t> number_field(std::string_view block, std::string_view key) {
  const auto text = text_field(block, key);
  if (!text) return Known<std::int64_t>::unknown(text.reason);
  if (const auto number = parse_int(*text)) return *number;
  return Known<std::int64_t>::unknown(
      fmt::format("'{}' of /proc/cpuinfo is '{}', not a number", key, text->substr(0, 40)));
}

std::string vendor_name(const std::string& vendor_id) {
  if (vendor_id == "GenuineIntel") return "intel";
  if (vendor_id == "AuthenticAMD") return "amd";
  if (vendor_id == "HygonGenuine") return "hygon";
  std::string name;
  for (const char c : vendor_id) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return name.empty() ? "other" : name;
}

void read_x86(Cpu& cpu, std::string_view block) {
  cpu.architecture = std::string("x86_64");
  cpu.vendor = text_field(block, "vendor_id");
  if (cpu.vendor) cpu.vendor = vendor_name(*cpu.vendor);
  cpu.model_name = text_field(block, "model name");
  cpu.family = number_field(block, "cpu family");
  cpu.model = number_field(block, "model");
  cpu.stepping = number_field(block, "stepping");
  cpu.microcode = text_field(block, "microcode");
  const std::string why = "only aarch64 has it";
  cpu.implementer = cpu.part = Known<std::string>::unknown(why);
  cpu.variant = cpu.revision = Known<std::int64_t>::unknown(why);
}

void read_arm(Cpu& cpu, std::string_view block) {
  cpu.architecture = std::string("aarch64");
  const auto implementer = number_field(block, "CPU implementer");
  const auto part = number_field(block, "CPU part");
  const auto hex = [](const Known<std::int64_t>& id) {
    return id ? Known<std::string>(fmt::format("{:x}", *id))
              : Known<std::string>::unknown(id.reason);
  };
  cpu.implementer = hex(implementer);
  cpu.part = hex(part);
  cpu.variant = number_field(block, "CPU variant");
  cpu.revision = number_field(block, "CPU revision");
  if (const char* name = implementer ? find_name(kImplementers, *implementer) : nullptr) {
    cpu.vendor = std::string(name);
  } else {
    cpu.vendor = Known<std::string>::unknown(
        implementer ? fmt::format("implementer 0x{:x} is not in our list", *implementer)
                    : implementer.reason);
  }
  cpu.model_name = text_field(block, "model name");
  const char* name =
      part && implementer.value_or(0) == 0x41 ? find_name(kArmParts, *part) : nullptr;
  if (!cpu.model_name && name != nullptr) cpu.model_name = std::string(name);
  const std::string why = "only x86-64 has it";
  cpu.family = cpu.model = cpu.stepping = Known<std::int64_t>::unknown(why);
  cpu.microcode = Known<std::string>::unknown(why);
}

// "32K", "36608K", "8M".
Known<std::int64_t> cache_size(const SystemRoot& root, const std::string& path) {
  const auto text = root.read(path, 64);
  if (!text) return Known<std::int64_t>::unknown(text.reason);
  std::string_view digits = *text;
  std::int64_t unit = 1;
  if (digits.ends_with('K')) unit = std::int64_t{1} << 10;
  if (digits.ends_with('M')) unit = std::int64_t{1} << 20;
  if (unit > 1) digits.remove_suffix(1);
  const auto number = parse_int(digits);
  if (number && *number > 0 && *number < (std::int64_t{1} << 32)) return *number * unit;
  return Known<std::int64_t>::unknown(
      fmt::format("{} holds '{}', not a size", path, printable(text->substr(0, 40))));
}

void read_caches(const SystemRoot& root, Cpu& cpu) {
  const std::string folder =
      fmt::format("/sys/devices/system/cpu/cpu{}/cache", allowed_cpus(root).front());
  const std::vector<std::string> indices = root.list(folder);
  const auto missing = Known<std::int64_t>::unknown(
      indices.empty() ? folder + " is absent" : folder + " lists no such cache");
  cpu.l1d_bytes = cpu.l1i_bytes = cpu.l2_bytes = cpu.l3_bytes = missing;
  for (const std::string& index : indices) {
    if (!index.starts_with("index")) continue;
    const std::string base = folder + "/" + index;
    const auto level = root.read_int(base + "/level");
    const std::string type = root.read(base + "/type").value_or("");
    Known<std::int64_t>* target = nullptr;
    if (level.value_or(0) == 1) target = type == "Instruction" ? &cpu.l1i_bytes : &cpu.l1d_bytes;
    if (level.value_or(0) == 2 && type != "Instruction") target = &cpu.l2_bytes;
    if (level.value_or(0) == 3) target = &cpu.l3_bytes;
    if (target != nullptr) *target = cache_size(root, base + "/size");
  }
}

}  // namespace

std::string isa_level(std::string_view flags) {
  std::set<std::string> all;
  for (const std::string& flag : split(flags, ' '))
    all.insert(flag);
  const auto has = [&](const char* flag) { return all.count(flag) != 0; };
  if (has("amx_tile") && (has("amx_int8") || has("amx_bf16"))) return "amx";
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")) {
    return has("avx512vbmi") ? "avx512vbmi" : "avx512";
  }
  if (has("avx2")) return "avx2";
  if (has("sse4_1")) return "sse4";
  if (has("sve")) return "sve";
  if (has("asimd")) return "neon";
  return "scalar";
}

Cpu read_cpu(const SystemRoot& root) {
  Cpu cpu;
  read_caches(root, cpu);
  // The first core stands for all; a whole cpuinfo of hundreds of cores would take milliseconds to
  // print.
  const auto text = root.read("/proc/cpuinfo");
  const std::string block = text.value_or("").substr(0, text.value_or("").find("\n\n"));
  if (find_field(block, "CPU implementer")) {
    read_arm(cpu, block);
  } else if (find_field(block, "vendor_id")) {
    read_x86(cpu, block);
  } else {
    const std::string why = text ? "/proc/cpuinfo is not one of x86-64 or aarch64" : text.reason;
    cpu.architecture = cpu.vendor = cpu.model_name = cpu.microcode = cpu.implementer = cpu.part =
        Known<std::string>::unknown(why);
    cpu.family = cpu.model = cpu.stepping = cpu.variant = cpu.revision =
        Known<std::int64_t>::unknown(why);
    return cpu;
  }
  const auto x86_flags = find_field(block, "flags");
  const std::string flags = x86_flags ? *x86_flags : find_field(block, "Features").value_or("");
  cpu.isa = isa_level(flags);
  const std::vector<std::string> present = split(flags, ' ');
  for (const char* flag : kFlags) {
    if (std::find(present.begin(), present.end(), flag) != present.end()) cpu.flags.push_back(flag);
  }
  return cpu;
}

}  // namespace sluice::env
