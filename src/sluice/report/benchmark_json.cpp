// sluice/report/benchmark_json.cpp - one record per row, three spellings of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/benchmark_json.h"

#include "sluice/core/text.h"
#include "sluice/measure/summary.h"
#include "sluice/report/report.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::report {
namespace {

using measure::Row;
using measure::Run;

std::string name_of(const Row& row) {
  return printable(row.case_name) + " in " + printable(row.library);
}

/// Rows that have a number, in the order of their files.
std::vector<const Row*> measured_rows(const std::vector<results::ResultFile>& files) {
  std::vector<const Row*> rows;
  for (const results::ResultFile& file : files)
    for (const Row& row : file.rows)
      if (row.summary && row.summary->median > 0 && row.items_per_sample > 0) rows.push_back(&row);
  return rows;
}

double mean_ns(const Run& run) {
  return std::accumulate(run.samples_ns.begin(), run.samples_ns.end(), 0.0) /
         static_cast<double>(run.samples_ns.size());
}

double cpu_ns(const Run& run) {
  return static_cast<double>(run.cpu_ns) / static_cast<double>(run.samples_ns.size());
}

Json repetition(const Row& row, const std::string& name, std::size_t family, std::size_t index,
                std::size_t repetitions) {
  return Json{{"name", name},
              {"family_index", family},
              {"per_family_instance_index", 0},
              {"run_name", name},
              {"run_type", "iteration"},
              {"repetitions", repetitions},
              {"repetition_index", index},
              {"threads", row.thread_policy.in_force}};
}

/// The four that compare.py looks for, over the runs.
void add_aggregates(Json& list, const Row& row, const std::string& name, std::size_t family,
                    const std::vector<double>& real, const std::vector<double>& cpu) {
  const auto sd = [](const std::vector<double>& v) { return v.size() > 1 ? *stats::sd(v) : 0.0; };
  const auto add = [&](const char* what, const char* unit, double real_time, double cpu_time) {
    Json one = repetition(row, name + "_" + what, family, 0, real.size());
    one["run_name"] = name;
    one["run_type"] = "aggregate";
    one["aggregate_name"] = what;
    one["aggregate_unit"] = unit;
    one["iterations"] = real.size();
    one["real_time"] = real_time;
    one["cpu_time"] = cpu_time;
    one["time_unit"] = "ns";
    list.push_back(std::move(one));
  };
  const double real_mean = *stats::mean(real);  // above 0: a run has a rate
  const double cpu_mean = *stats::mean(cpu);
  add("mean", "time", real_mean, cpu_mean);
  add("median", "time", *stats::median(real), *stats::median(cpu));
  add("stddev", "time", sd(real), sd(cpu));
  add("cv", "percentage", sd(real) / real_mean, cpu_mean > 0 ? sd(cpu) / cpu_mean : 0);
}

void add_benchmark(Json& list, const Row& row, std::size_t family) {
  std::vector<const Run*> runs;
  for (const Run& run : row.runs)
    if (measure::run_rate(run, row.items_per_sample) > 0) runs.push_back(&run);
  if (runs.empty()) return;
  const std::string name = name_of(row);
  std::vector<double> real;
  std::vector<double> cpu;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    real.push_back(mean_ns(*runs[i]));
    cpu.push_back(cpu_ns(*runs[i]));
    Json one = repetition(row, name, family, i, runs.size());
    one["iterations"] = runs[i]->samples_ns.size();
    one["real_time"] = real.back();
    one["cpu_time"] = cpu.back();
    one["time_unit"] = "ns";
    one["items_per_second"] = measure::run_rate(*runs[i], row.items_per_sample);
    if (row.bytes_per_item > 0)
      one["bytes_per_second"] = one["items_per_second"].get<double>() * row.bytes_per_item;
    list.push_back(std::move(one));
  }
  add_aggregates(list, row, name, family, real, cpu);
}

Json context_of(const std::vector<results::ResultFile>& files) {
  Json context{{"library_version", "sluice"}, {"library_build_type", "release"}};
  if (files.empty()) return context;
  const results::ResultFile& file = files.front();
  context["date"] = at_pointer(file.environment, "/timestamp");
  context["executable"] = shell_command(file.argv);
  const Json cores = at_pointer(file.environment, "/cores/visible");
  context["num_cpus"] = cores.is_number() ? cores : Json(1);
  context["mhz_per_cpu"] = 0;
  context["cpu_scaling_enabled"] = false;
  context["caches"] = Json::array();
  context["load_avg"] = Json::array();
  context["library_version"] = "sluice " + file.tool.version;
  context["machine_profile"] = file.machine_profile;
  return context;
}

}  // namespace

std::string google_benchmark_json(const std::vector<results::ResultFile>& files) {
  Json list = Json::array();
  std::size_t family = 0;
  for (const Row* row : measured_rows(files))
    add_benchmark(list, *row, family++);
  return dump_json(Json{{"context", context_of(files)}, {"benchmarks", std::move(list)}}) + "\n";
}

std::string bencher_json(const std::vector<results::ResultFile>& files) {
  Json json = Json::object();
  for (const Row* row : measured_rows(files)) {
    const measure::Summary& summary = *row->summary;
    Json rate{{"value", summary.median}};
    Json time{{"value", 1e9 / summary.median}};
    if (summary.ci95 && summary.ci95->low > 0) {
      rate["lower_value"] = summary.ci95->low;
      rate["upper_value"] = summary.ci95->high;
      time["lower_value"] = 1e9 / summary.ci95->high;
      time["upper_value"] = 1e9 / summary.ci95->low;
    }
    json[name_of(*row)] = Json{{"throughput", std::move(rate)}, {"latency", std::move(time)}};
  }
  return dump_json(json) + "\n";
}

std::string github_action_benchmark_json(const std::vector<results::ResultFile>& files) {
  Json list = Json::array();
  for (const Row* row : measured_rows(files)) {
    const measure::Summary& summary = *row->summary;
    const std::string item = row->unit.substr(0, row->unit.find("/s"));
    list.push_back(Json{{"name", name_of(*row)},
                        {"unit", "ns/" + printable(item)},
                        {"value", 1e9 / summary.median},
                        {"range", fmt::format("± {:.2g} %", 100 * summary.cv)},
                        {"extra", fmt::format("{:.6g} {}, {} runs", summary.median,
                                              printable(row->unit), summary.n_runs)}});
  }
  return dump_json(list) + "\n";
}

}  // namespace sluice::report
