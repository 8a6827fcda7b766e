// sluice/cli/env.cpp - `sluice env`: the machine, its profile, and whether it is quiet enough to
// measure on.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/env/collect.h"
#include "sluice/env/noise.h"
#include "sluice/env/profile.h"
#include "sluice/results/result_file.h"
#include "sluice/train/cuda/forms.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

struct EnvArgs {
  std::filesystem::path data_dir = ".";
};

template <class T>
std::string shown(const env::Known<T>& fact) {
  return fact ? fmt::format("{}", *fact) : "unknown";
}

std::string bytes(const env::Known<std::int64_t>& fact) {
  if (!fact) return "unknown";
  double value = static_cast<double>(*fact);
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", value, unit);
}

std::string on_off(const env::Known<bool>& fact) {
  return fact ? *fact ? "on" : "off" : "unknown";
}

std::string git_text(const env::Git& git) {
  if (git.sha == "unknown") return "unknown (" + git.dirty.reason + ")";
  return git.sha.substr(0, 12) + (git.dirty.value_or(false) ? ", with changes" : "");
}

std::string cpu_text(const env::Cpu& cpu) {
  const bool arm = cpu.architecture.value_or("") == "aarch64";
  const std::string numbers =
      arm ? fmt::format("implementer {}, part {}, r{}p{}", shown(cpu.implementer), shown(cpu.part),
                        shown(cpu.variant), shown(cpu.revision))
          : fmt::format("family {}, model {}, stepping {}", shown(cpu.family), shown(cpu.model),
                        shown(cpu.stepping));
  return fmt::format("{} ({}), {}", shown(cpu.model_name), numbers, cpu.isa);
}

std::string frequency_text(const env::Frequency& frequency) {
  if (!frequency.governor && !frequency.max_khz) return "not under the kernel's control here";
  const auto mhz = [](const env::Known<std::int64_t>& khz) {
    return khz ? fmt::format("{}", *khz / 1000) : std::string("unknown");
  };
  return fmt::format("governor {}, {} to {} MHz, turbo {}", shown(frequency.governor),
                     mhz(frequency.min_khz), mhz(frequency.max_khz), on_off(frequency.turbo));
}

std::string storage_text(const env::Storage& storage) {
  if (!storage.filesystem) return "unknown: " + storage.filesystem.reason;
  std::string text = fmt::format("{}, {}", shown(storage.kind), *storage.filesystem);
  if (storage.device) text += " on " + *storage.device;
  return text;
}

std::string gpu_text(const env::Gpu& gpu) {
  std::string power =
      gpu.power_limit_w ? fmt::format("{:.0f} W", *gpu.power_limit_w) : "unknown power";
  return fmt::format("{} {}, {}, sm {}, {}, ECC {}, MIG {}{}", gpu.index, shown(gpu.name),
                     bytes(gpu.memory_bytes), shown(gpu.compute_capability), power, on_off(gpu.ecc),
                     on_off(gpu.mig), gpu.visible ? "" : ", hidden by CUDA_VISIBLE_DEVICES");
}

void line(const char* name, const std::string& text) {
  print("{:<16} {}\n", name, text);
}

void print_environment(const env::Environment& e) {
  line("cpu", cpu_text(e.cpu));
  line("cores", fmt::format("{} usable of {} visible; affinity {}, quota {}, SMT {}, NUMA nodes {}",
                            e.cores.usable, shown(e.cores.visible), shown(e.cores.affinity),
                            e.cores.quota ? fmt::format("{:.2f}", *e.cores.quota) : "none",
                            on_off(e.cores.smt), shown(e.cores.numa_nodes)));
  line("caches", fmt::format("L1d {}, L2 {}, L3 {}", bytes(e.cpu.l1d_bytes), bytes(e.cpu.l2_bytes),
                             bytes(e.cpu.l3_bytes)));
  line("frequency", frequency_text(e.frequency));
  line("memory", fmt::format("{}, {} available, swap {}", bytes(e.memory.total_bytes),
                             bytes(e.memory.available_bytes), bytes(e.memory.swap_total_bytes)));
  line("storage", storage_text(e.storage));
  if (e.gpu.devices.empty()) {
    line("gpu", "none" + (e.gpu.driver_version ? "" : " (" + e.gpu.driver_version.reason + ")"));
  }
  for (const env::Gpu& gpu : e.gpu.devices)
    line("gpu", gpu_text(gpu));
  if (e.gpu.driver_version) {
    line("driver", fmt::format("{}, CUDA {}", *e.gpu.driver_version, shown(e.gpu.cuda_version)));
  }
  line("system",
       fmt::format("{}, kernel {}, container: {}, virtualisation: {}", shown(e.host.distribution),
                   shown(e.host.kernel), e.host.container, e.host.virtualisation));
  line("build", fmt::format("sluice {} ({}), {} {}, {}, Highway {} {}", e.build.version,
                            git_text(e.build.git), e.build.compiler, e.build.build_type,
                            e.build.flags, shown(e.build.highway), shown(e.build.highway_target)));
  line("git", git_text(e.git));
  for (const auto& [name, value] : e.variables)
    line("variable", name + "=" + value);
}

void print_noise(const env::NoiseReport& noise) {
  line("noise", fmt::format("{} of 100: {}", noise.score, env::to_string(noise.verdict)));
  for (const env::Finding& finding : noise.findings) {
    print("  {:<14} {} (-{})\n", env::to_string(finding.severity), finding.value, finding.points);
    print("  {:<14} {}\n", "", finding.advice);
  }
}

Result<ExitCode> run_env(const EnvArgs& args, const Globals& globals) {
  env::CollectOptions collect;
  collect.data_dir = args.data_dir;
  SLUICE_TRY(const env::Environment environment, env::collect(collect));
  env::ProfileOptions options;
  options.framework = env::framework_sluice(results::kSchemaVersion);
  const std::string profile = env::machine_profile(environment, options);
  if (!globals.out.empty()) {
    OutputFiles files(globals);
    SLUICE_CHECK(files.claim({globals.out / "env.json"}));
    SLUICE_CHECK(env::save(globals.out / "env.json", environment, profile));
    files.written(globals.out / "env.json");
  }
  const env::NoiseReport noise = env::noise_check();
  if (globals.json) {
    const Json document{{"schema_version", env::kEnvSchemaVersion},
                        {"machine_profile", profile},
                        {"environment", env::to_json(environment)},
                        {"kernel_forms", train::cuda::to_json(train::cuda::forms_on(0))},
                        {"noise", env::to_json(noise)}};
    print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
    return ExitCode::done;
  }
  line("machine profile", profile);
  print_environment(environment);
  line("cuda kernels", train::cuda::to_text(train::cuda::forms_on(0)));
  print_noise(noise);
  if (!globals.out.empty()) line("written", printable((globals.out / "env.json").string()));
  return ExitCode::done;
}

}  // namespace

void add_env(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<EnvArgs>(
      root, context, "env", "Describe this machine, name its profile and check how quiet it is",
      run_env);
  add_value(sub, "--data-dir", args.data_dir, "DIR", "folder whose storage is described")
      ->capture_default_str();
  add_force_flag(sub, context.globals);
  add_examples(sub, {"sluice env", "sluice env --json --data-dir /data",
                     "sluice env --out runs/here   # also writes runs/here/env.json"});
}

}  // namespace sluice::cli
