// tests/results/fixtures.cpp - result files as real runs leave them, and some that no run should.
// SPDX-License-Identifier: Apache-2.0
#include "tests/results/fixtures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <unistd.h>

namespace sluice::fixtures {
namespace {

using measure::Better;
using measure::RowStatus;

/// Uniform in [-1, 1), the same on every machine: integers until the last step.
double noise(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<double>(state >> 33U) / static_cast<double>(1U << 30U) - 1.0;
}

/// Four decimals, so that last-bit differences between machines never reach a golden file.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

measure::Summary summarise(const measure::Row& row) {
  const auto items = static_cast<double>(row.items_per_sample);
  std::vector<double> per_run;
  std::vector<double> per_sample;
  for (const auto& run : row.runs) {
    double seconds = 0;
    for (const auto ns : run.samples_ns) {
      seconds += static_cast<double>(ns) * 1e-9;
      per_sample.push_back(items / (static_cast<double>(ns) * 1e-9));
    }
    per_run.push_back(items * static_cast<double>(run.samples_ns.size()) / seconds);
  }
  measure::Summary s;
  const auto n = static_cast<double>(per_run.size());
  for (const double x : per_run)
    s.mean += x / n;
  double squares = 0;
  for (const double x : per_run)
    squares += (x - s.mean) * (x - s.mean);
  s.sd = per_run.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  s.cv = rounded(s.sd / s.mean);
  if (per_run.size() > 1) {
    const double half = 2.776 * s.sd / std::sqrt(n);  // t for 5 runs
    s.ci95 = measure::Interval{rounded(s.mean - half), rounded(s.mean + half), "t on log run means",
                               "run"};
  }
  s.mean = rounded(s.mean);
  s.sd = rounded(s.sd);
  s.median = rounded(quantile(per_run, 0.5));
  s.p10 = rounded(quantile(per_sample, 0.1));
  s.p50 = rounded(quantile(per_sample, 0.5));
  s.p90 = rounded(quantile(per_sample, 0.9));
  s.p99 = rounded(quantile(per_sample, 0.99));
  s.n_runs = static_cast<int>(row.runs.size());
  s.n_samples = static_cast<int>(per_sample.size());
  s.unstable = s.cv > 0.15;
  return s;
}

measure::Row bare(const std::string& case_name, const std::string& library, RowStatus status,
                  const std::string& reason) {
  measure::Row row;
  row.case_name = case_name;
  row.library = library;
  row.status = status;
  row.reason = reason;
  return row;
}

results::ResultFile head() {
  results::ResultFile file;
  file.tool = {"0.1.0", "3f2a9c1d0b7e"};
  file.environment = Json::parse(R"json({
    "schema_version": 1, "timestamp": "2026-01-31T12:00:00Z",
    "cpu": {"architecture": "x86_64", "vendor": "intel", "model_name": "Intel(R) Xeon(R) Processor @ 2.70GHz",
            "isa": "avx512", "l2_bytes": 2097152, "l3_bytes": 110100480},
    "cores": {"visible": 4, "affinity": "0-3", "quota": 2.0, "usable": 2, "smt": null},
    "frequency": {"governor": null, "driver": null},
    "memory": {"total_bytes": 16619343872, "available_bytes": 12104949760},
    "host": {"kernel": "6.1.0-18-amd64", "distribution": "Debian GNU/Linux 12 (bookworm)", "container": "docker",
             "virtualisation": "kvm"},
    "storage": {"filesystem": "overlay", "kind": "overlay"},
    "gpu": {"driver_version": null, "cuda_version": null, "devices": []},
    "build": {"version": "0.1.0", "compiler": "GNU 12.2.0", "flags": "-O3 -DNDEBUG", "build_type": "Release"},
    "git": {"sha": "3f2a9c1d0b7e", "dirty": false},
    "unknown": {"cores.smt": "no topology in /sys", "frequency.governor": "no cpufreq in /sys",
                "gpu.driver_version": "libnvidia-ml.so.1 not found"},
    "noise": {"score": 62, "verdict": "usable",
              "findings": [{"check": "quota", "severity": "warning", "points": 38,
                            "value": "2 of 4 cores are usable", "advice": "Give the run whole cores."}]}
  })json");
  file.machine_profile = "cpu-intel-6.143.8-avx512-l3105x4_sluice1";
  file.run_config = Json::parse(R"json({"command": "quick", "images": 64, "seed": 0,
    "policy": {"runs": 5, "samples_per_run": 3, "min_sample_ms": 100}})json");
  file.dataset = {"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 64,
                  4517392};
  file.timing.scope = "kernel";
  file.timing.data_source = "memory";
  file.timing.includes_decode = true;
  file.argv = {"sluice", "quick", "--out", "runs/my run"};
  file.session_id = "20260131T120000Z-4711";
  file.block_order_seed = 18446744073709551615ULL;
  for (const char* part : {"idct", "gemm", "memory"}) {
    auto row = make_row({.case_name = fmt::format("canary/v1/{}", part),
                         .rate = 2400,
                         .spread = 0.004,
                         .runs = 3,
                         .seed = 77});
    row.unit = "ops/s";
    file.canary.push_back(std::move(row));
  }
  return file;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name)
    : path_(std::filesystem::temp_directory_path() /
            fmt::format("sluice-{}-{}", name, ::getpid())) {
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

measure::Row make_row(const RowShape& shape) {
  measure::Row row;
  row.case_name = shape.case_name;
  row.library = shape.library;
  row.library_version = "1.2.3";
  row.items_per_sample = 64;
  row.bytes_per_item = 70584.25;
  row.peak_rss_bytes = 48 << 20;
  row.output_digest = "sha256:2c26b46b68ffc68ff99b453c1d304134";
  row.thread_policy = {1, 1, 0.998, ""};
  std::uint64_t state = shape.seed * 7919 + 17;
  for (int r = 0; r < shape.runs; ++r) {
    measure::Run run;
    run.run_id = fmt::format("20260131T120000Z-4711/{}/{}/{}", shape.case_name, shape.library, r);
    run.pid = 5000 + r;
    run.block = r;
    run.position = r % 2;
    run.start_ns = 1'000'000'000LL * (r + 1);
    run.idle_before_ms = 12.5;
    run.warmup_discarded = 4;
    const double run_factor = 1 + 2 * shape.spread * noise(state);
    for (int s = 0; s < shape.samples; ++s) {
      const double rate = shape.rate * run_factor * (1 + shape.spread * noise(state));
      run.samples_ns.push_back(static_cast<std::int64_t>(64e9 / rate / 1000) * 1000);
      run.cpu_ns += run.samples_ns.back();
    }
    run.involuntary_switches = r;
    run.counters.reason = "perf_event_open: permission denied (perf_event_paranoid is 3)";
    row.runs.push_back(std::move(run));
  }
  row.summary = summarise(row);
  return row;
}

results::ResultFile quick() {
  results::ResultFile file = head();
  const std::pair<const char*, double> scenarios[] = {{"decode/jpeg", 871},
                                                      {"resize/bilinear", 2623},
                                                      {"normalize/imagenet", 18250},
                                                      {"pipeline/batch", 402.6}};
  std::uint64_t seed = 1;
  for (const auto& [name, rate] : scenarios) {
    for (const int threads : {1, 2}) {
      auto row = make_row({.case_name = fmt::format("{}/threads={}", name, threads),
                           .rate = rate * (threads == 1 ? 1.0 : 1.86),
                           .spread = 0.012,
                           .seed = seed++});
      row.params["threads"] = std::to_string(threads);
      row.thread_policy = {threads, threads, 0.98 * threads, ""};
      for (measure::Run& run : row.runs)
        run.cpu_ns = static_cast<std::int64_t>(0.98 * threads * static_cast<double>(run.cpu_ns));
      file.rows.push_back(std::move(row));
    }
  }
  auto& shaky = file.rows.back();
  shaky = make_row({.case_name = shaky.case_name, .rate = 748, .spread = 0.22, .seed = 99});
  shaky.params["threads"] = "2";
  shaky.runs[3].throttled = true;
  return file;
}

results::ResultFile peers() {
  results::ResultFile file = head();
  file.argv = {"sluice", "bench", "transforms", "--libraries", "sluice,opencv,pillow"};
  file.session_id = "20260131T130000Z-4712";
  std::uint64_t seed = 11;
  const std::pair<const char*, double> measured[] = {
      {"sluice", 2714}, {"opencv", 2623}, {"pillow", 604.4}};
  for (const auto& [library, rate] : measured) {
    file.rows.push_back(make_row(
        {.case_name = "resize/bilinear", .library = library, .rate = rate, .seed = seed++}));
  }
  for (const auto& [library, rate] : measured) {
    auto row =
        make_row({.case_name = "start-up", .library = library, .rate = rate, .seed = seed++});
    row.unit = "s";
    row.better = Better::lower;
    auto& s = *row.summary;
    for (double* x : {&s.median, &s.mean, &s.p10, &s.p50, &s.p90, &s.p99})
      *x = rounded(64 / *x);
    s.sd = rounded(s.cv * s.mean);
    s.ci95 = measure::Interval{rounded(64 / s.ci95->high), rounded(64 / s.ci95->low),
                               s.ci95->method, "run"};
    file.rows.push_back(std::move(row));
  }
  file.rows.push_back(make_row({.case_name = "median-blur/k=9", .rate = 61.3, .seed = seed++}));
  file.rows.push_back(bare("median-blur/k=9", "opencv", RowStatus::early_stopped,
                           "preflight: 0.21 s per image is above the limit of 0.05 s"));
  file.rows.push_back(
      bare("median-blur/k=9", "pillow", RowStatus::unsupported, "no median filter of this size"));
  file.rows.push_back(bare("elastic/alpha=50", "sluice", RowStatus::failed,
                           "worker killed by signal 11 (SIGSEGV)"));
  file.rows.push_back(
      bare("elastic/alpha=50", "opencv", RowStatus::skipped, "interrupted before it was measured"));
  auto counted =
      make_row({.case_name = "solarize", .rate = 41000, .runs = 1, .samples = 1, .seed = seed});
  counted.runs[0].counters.value =
      measure::HardwareCounters{9'000'000'000'000'000'000ULL, 12, 3, 0};
  counted.runs[0].counters.reason.clear();
  file.rows.push_back(std::move(counted));
  file.extra = Json::parse(R"json({"summary": {"cases": 5}})json");
  return file;
}

results::ResultFile hostile() {
  results::ResultFile file = head();
  const std::string script =
      "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>";
  const std::string attribute = "\" onmouseover=\"alert(3)\" '`|*_[x](javascript:alert(4))\\";
  const std::string control = std::string("a\nb\r\tc\x1b[31m\x7f") + '\0' + "\xff\xfe\xc3(";
  file.machine_profile = "profile" + script;
  file.session_id = "session" + attribute;
  file.argv = {"sluice", "quick", "--out", "it's; rm -rf $HOME `x` " + script, control, ""};
  file.environment["cpu"]["model_name"] = script + attribute;
  file.environment["noise"]["findings"][0]["value"] = script;
  file.environment["noise"]["findings"][0]["advice"] = control;
  file.environment["noise"]["findings"].push_back(control);
  file.environment["host"]["kernel"] = Json{{"nested", script}};
  file.environment[attribute] = control;
  file.run_config["<b>key</b>"] = attribute;
  const std::string names[] = {script,
                               attribute,
                               control,
                               "=cmd|' /C calc'!A0",
                               std::string(600, 'x'),
                               "解码/图像/线程=1",
                               "e\xcc\x81toile ★"};
  for (const auto& name : names) {
    auto row = make_row({.case_name = name, .library = "lib", .rate = 1000, .seed = 5});
    row.params[name] = name;
    row.library_version = script;
    row.unit = name == script ? script : "img/s";
    file.rows.push_back(std::move(row));
    file.rows.push_back(bare(name, "other " + attribute, RowStatus::failed, control + script));
  }
  auto odd = make_row({.case_name = "zero", .seed = 6});
  odd.runs[0].samples_ns = {0, 0, 0};
  odd.summary->cv = std::nan("");
  odd.summary->p99 = HUGE_VAL;
  file.rows.push_back(odd);
  odd.case_name = "no samples";
  for (auto& run : odd.runs)
    run.samples_ns.clear();
  file.rows.push_back(odd);
  odd.case_name = "extreme";
  odd.summary->median = 1.7e308;
  odd.summary->sd = 1.7e308;
  odd.summary->ci95 = measure::Interval{-1.7e308, 1.7e308, script, "run"};
  odd.runs[0].samples_ns = {1, 9'223'372'036'854'775'807LL};
  file.rows.push_back(odd);
  return file;
}

results::ResultFile large() {
  results::ResultFile file = head();
  for (int i = 0; i < 199; ++i) {
    file.rows.push_back(
        make_row({.case_name = fmt::format("transform-{:03}/threads={}", i / 2, i % 2 + 1),
                  .rate = 100.0 + 37 * i,
                  .seed = static_cast<std::uint64_t>(i)}));
  }
  file.rows.push_back(make_row({.case_name = "many-samples",
                                .rate = 5000,
                                .spread = 0.05,
                                .runs = 2,
                                .samples = 10'000,
                                .seed = 3}));
  return file;
}

results::ResultFile empty() {
  results::ResultFile file = head();
  file.canary.clear();
  file.dataset = {};
  file.environment = nullptr;
  return file;
}

std::vector<std::pair<std::string, results::ResultFile>> all() {
  return {{"quick", quick()},
          {"peers", peers()},
          {"hostile", hostile()},
          {"large", large()},
          {"empty", empty()}};
}

}  // namespace sluice::fixtures
