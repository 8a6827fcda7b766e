// sluice/measure/worker/messages.cpp - requests and answers to JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/messages.h"

#include "sluice/core/text.h"
#include "sluice/measure/worker/protocol.h"
#include "sluice/measure/worker/reply.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::measure {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxPasses = 1'000'000'000'000'000;
constexpr std::int64_t kMaxSamples = 1'000'000;

/// Totals over the samples so far.
Status read_counters(Measured<HardwareCounters>& counters, const Reply& reply) {
  const Json& fields = reply.field("counters");
  if (!fields.is_object()) {
    SLUICE_TRY(counters.reason, reply.text("counters_reason", "the worker counts none"));
    return ok;
  }
  const Reply counted("measure: counters", fields);
  HardwareCounters read;
  const auto count = [&](const char* key, std::uint64_t& value) -> Status {
    SLUICE_TRY(const auto number, counted.integer(key, 0));
    value = static_cast<std::uint64_t>(number);
    return ok;
  };
  SLUICE_CHECK(count("cycles", read.cycles));
  SLUICE_CHECK(count("instructions", read.instructions));
  SLUICE_CHECK(count("cache_misses", read.cache_misses));
  SLUICE_CHECK(count("branch_misses", read.branch_misses));
  counters.value = read;
  return ok;
}

Status read_gpu_memory(std::optional<GpuMemory>& memory, const Reply& reply) {
  const Json& fields = reply.field("gpu_memory");
  if (!fields.is_object()) return ok;
  const Reply peaks("measure: gpu_memory", fields);
  GpuMemory read;
  SLUICE_TRY(read.peak_allocated_bytes, peaks.integer("peak_allocated_bytes", 0));
  SLUICE_TRY(read.peak_reserved_bytes, peaks.integer("peak_reserved_bytes", 0));
  memory = read;
  return ok;
}

/// What a worker may say at most about one thing, fit to be printed.
std::string short_text(const Json& text) {
  constexpr std::size_t kMostBytes = 1000;
  return printable(text.get_ref<const std::string&>().substr(0, kMostBytes));
}

}  // namespace

Json Hello::json() const {
  return Json{{"type", "hello"}, {"protocol", kProtocolVersion}};
}

Json Hello::Answer::json() const {
  Json answer{
      {"protocol", kProtocolVersion}, {"name", library}, {"version", version}, {"cases", cases}};
  if (!versions.empty()) answer["versions"] = versions;
  return answer;
}

Result<Hello::Answer> Hello::Answer::read(const Json& fields) {
  const Reply reply("hello", fields);
  SLUICE_CHECK(reply.integer("protocol", kProtocolVersion, kProtocolVersion));
  Answer answer;
  SLUICE_TRY(answer.version, reply.text("version", ""));
  SLUICE_TRY(answer.library, reply.text("name", ""));
  if (const Json& versions = reply.field("versions"); versions.is_object())
    answer.versions = versions;
  return answer;
}

Json Configure::json() const {
  Json request{{"type", "configure"}, {"threads", threads}, {"device", device}, {"seed", seed}};
  if (!thread_policy.empty()) request["thread_policy"] = thread_policy;
  return request;
}

Result<Configure> Configure::read(const Json& request) {
  Configure read;
  SLUICE_TRY(const auto threads, Reply("configure", request).integer("threads", 1, kMaxThreads, 1));
  read.threads = static_cast<int>(threads);
  read.device = request.value("device", "cpu");
  read.seed = request.value("seed", std::uint64_t{0});
  return read;
}

Json Configure::Answer::json() const {
  Json answer{{"threads", threads}};
  if (!in_force.is_null()) answer["in_force"] = in_force;
  return answer;
}

Result<Configure::Answer> Configure::Answer::read(const Json& fields) {
  const Reply reply("configure", fields);
  SLUICE_TRY(const auto threads, reply.integer("threads", 1, kMaxThreads));
  return Answer{static_cast<int>(threads), reply.field("in_force"), fields};
}

Json Load::json() const {
  Json request{{"type", "load"}, {"data_dir", data_dir.string()}};
  if (!scenario.empty()) request["scenario"] = scenario;
  if (!mode.empty()) request["mode"] = mode;
  if (!inputs.index.empty())
    request["inputs"] = Json{{"index", inputs.index.string()}, {"data", inputs.data.string()}};
  if (num_items > 0) request["num_items"] = num_items;
  if (!skip.empty()) request["skip"] = skip;
  return request;
}

Load Load::read(const Json& request) {
  Load read;
  read.data_dir = request.value("data_dir", std::string());
  const Json inputs = request.value("inputs", Json::object());
  read.inputs = {inputs.value("index", std::string()), inputs.value("data", std::string())};
  const auto limit = request.find("num_items");
  if (limit != request.end() && limit->is_number_integer())
    read.num_items = limit->get<std::int64_t>();
  for (const Json& name : request.value("skip", Json::array()))
    if (name.is_string()) read.skip.push_back(name.get<std::string>());
  return read;
}

Json Prepare::json() const {
  Json request{{"type", "prepare"}, {"case", case_name}};
  if (!spec.is_null()) request["spec"] = spec;
  return request;
}

Prepare Prepare::read(const Json& request) {
  return {request.value("case", std::string()), request.value("spec", Json())};
}

Json Prepare::Answer::json() const {
  return Json{{"items_per_pass", items_per_pass}, {"bytes_per_item", bytes_per_item}};
}

Result<Prepare::Answer> Prepare::Answer::read(const Json& fields) {
  const Reply reply("prepare", fields);
  Answer answer;
  SLUICE_TRY(answer.items_per_pass, reply.integer("items_per_pass", 1));
  SLUICE_TRY(answer.bytes_per_item, reply.number("bytes_per_item", 0));
  return answer;
}

Json Check::json() const {
  Json request{{"type", "check"}};
  if (samples)
    request["sample"] = Json{
        {"path", samples->path.string()}, {"items", samples->items}, {"draws", samples->draws}};
  return request;
}

Result<Check> Check::read(const Json& request, std::int64_t most_items, std::int64_t most_draws) {
  const Json& wanted = Reply("check", request).field("sample");
  if (!wanted.is_object()) return Check{};
  const Reply fields("check", wanted);
  SLUICE_TRY(const std::string path, fields.text("path"));
  SLUICE_TRY(const auto items, fields.integer("items", 1, most_items, 1));
  SLUICE_TRY(const auto draws, fields.integer("draws", 1, most_draws, 1));
  return Check{Samples{path, items, static_cast<int>(draws)}};
}

Result<Check::Answer> Check::Answer::read(const Json& fields) {
  const Reply reply("check", fields);
  Answer answer;
  SLUICE_TRY(answer.digest, reply.text("digest"));
  if (answer.digest.empty()) return reply.wrong("digest", "the digest of the output");
  answer.shapes = reply.field("samples");
  return answer;
}

Json Preflight::json() const {
  Json request{{"type", "preflight"}, {"slow_item_s", slow_item_s}};
  if (items > 0) request["items"] = items;
  return request;
}

Result<Preflight> Preflight::read(const Json& request) {
  Preflight read;
  read.slow_item_s = request.value("slow_item_s", 0.0);
  SLUICE_TRY(read.items, Reply("preflight", request).integer("items", 0, kMaxPasses, 0));
  return read;
}

Json Preflight::Answer::json() const {
  return Json{{"pass_ns", pass_ns}};
}

Result<Preflight::Answer> Preflight::Answer::read(const Json& fields) {
  SLUICE_TRY(const auto pass_ns, Reply("preflight", fields).integer("pass_ns", 1, kLongestNs));
  return Answer{pass_ns};
}

Json Measure::json() const {
  Json request{{"type", "measure"},
               {"case", case_name},
               {"passes", passes},
               {"warmup_ms", warmup_ms},
               {"warmup_limit_ms", warmup_limit_ms}};
  if (samples > 1) request["samples"] = samples;
  return request;
}

Result<Measure> Measure::read(const Json& request) {
  Measure read;
  const Reply fields("measure", request);
  read.case_name = request.value("case", std::string());
  SLUICE_TRY(read.passes, fields.integer("passes", 1, kMaxPasses, 1));
  SLUICE_TRY(read.samples, fields.integer("samples", 1, kMaxSamples, 1));
  read.warmup_ms = request.value("warmup_ms", read.warmup_ms);
  read.warmup_limit_ms = request.value("warmup_limit_ms", read.warmup_limit_ms);
  return read;
}

Json Measure::Answer::json() const {
  Json answer{{"start_ns", start_ns},
              {"samples_ns", samples_ns},
              {"items_per_sample", items_per_sample},
              {"warmup_passes", warmup_passes},
              {"cpu_ns", cpu_ns},
              {"major_faults", major_faults},
              {"involuntary_switches", involuntary_switches},
              {"throttled", throttled}};
  if (!details.is_null()) answer["details"] = details;
  if (counters.value) {
    answer["counters"] = Json{{"cycles", counters.value->cycles},
                              {"instructions", counters.value->instructions},
                              {"cache_misses", counters.value->cache_misses},
                              {"branch_misses", counters.value->branch_misses}};
  } else {
    answer["counters_reason"] = counters.reason;
  }
  return answer;
}

Result<Measure::Answer> Measure::Answer::read(const Json& fields) {
  const Reply reply("measure", fields);
  Answer answer;
  SLUICE_TRY(answer.samples_ns, reply.samples("samples_ns"));
  SLUICE_TRY(answer.items_per_sample, reply.integer("items_per_sample", 1));
  SLUICE_TRY(answer.start_ns, reply.integer("start_ns", 0));
  SLUICE_TRY(answer.warmup_passes, reply.integer("warmup_passes", 0, kLongestNs, 0));
  SLUICE_TRY(answer.cpu_ns, reply.integer("cpu_ns", 0, kLongestNs));
  SLUICE_TRY(answer.major_faults, reply.integer("major_faults", 0, kLongestNs, 0));
  SLUICE_TRY(answer.involuntary_switches, reply.integer("involuntary_switches", 0, kLongestNs, 0));
  SLUICE_TRY(answer.throttled, reply.boolean("throttled", false));
  if (const Json& details = reply.field("details"); details.is_object()) answer.details = details;
  SLUICE_CHECK(read_counters(answer.counters, reply));
  SLUICE_CHECK(read_gpu_memory(answer.gpu_memory, reply));
  return answer;
}

Json Support::json() const {
  return Json{{"type", "support"}, {"cases", cases}};
}

Result<Support::Answer> Support::Answer::read(const Json& fields) {
  const Reply reply("support", fields);
  const Json& supported = reply.field("supported");
  if (!supported.is_array()) return reply.wrong("supported", "a list of cases");
  return Answer{supported.size(), texts_of(reply.field("unsupported"))};
}

Json Logprobs::json() const {
  return Json{{"type", "logprobs"}, {"text", text}, {"max_length", max_length}, {"stride", stride}};
}

Result<Logprobs::Answer> Logprobs::Answer::read(const Json& fields) {
  constexpr double kRounding = 1e-6;
  const Reply reply("logprobs", fields);
  const Json& values = reply.field("logprobs");
  if (!values.is_array() || values.empty()) return reply.wrong("logprobs", "a list of numbers");
  Answer answer;
  for (const Json& value : values) {
    const double read = value.is_number() ? value.get<double>() : std::nan("");
    if (!std::isfinite(read) || read > kRounding)
      return reply.wrong("logprobs", "a list of finite numbers, none above 0");
    answer.logprobs.push_back(read);
  }
  return answer;
}

Json Generate::json() const {
  return Json{{"type", "generate"},
              {"prompt", prompt},
              {"max_prompt_tokens", max_prompt_tokens},
              {"max_new_tokens", max_new_tokens},
              {"stop", stop},
              {"temperature", 0},
              {"seed", seed}};
}

Result<Generate::Answer> Generate::Answer::read(const Json& fields) {
  constexpr std::size_t kMaxAnswerText = 1 << 16;
  const Reply reply("generate", fields);
  const Json& text = reply.field("text");
  if (const Json& failed = reply.field("error"); failed.is_string())
    return Answer{"", short_text(failed)};
  if (!text.is_string()) return reply.wrong("text", "text, or an error beside it");
  return Answer{text.get_ref<const std::string&>().substr(0, kMaxAnswerText)};
}

Json Bye::json() const {
  return Json{{"type", "bye"}};
}

Json ErrorAnswer::json() const {
  return Json{{"type", "error"},
              {"code", error.code == Errc::unsupported ? "unsupported" : "failed"},
              {"reason", error.message}};
}

std::optional<Error> ErrorAnswer::read(const Json& answer) {
  const auto text = [&](const char* key, const char* fallback) -> std::string {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : fallback;
  };
  if (text("type", "") != "error") return std::nullopt;
  const Errc code = text("code", "") == "unsupported" ? Errc::unsupported : Errc::measurement;
  return Error{code, printable(text("reason", "no reason given"))};
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> found;
  if (!object.is_object()) return found;
  for (const auto& [key, value] : object.items())
    if (value.is_string()) found[printable(key)] = short_text(value);
  return found;
}

Status add_sample(Run& run, const Measure::Answer& answer, std::int64_t items_asked) {
  if (answer.items_per_sample != items_asked) {
    const Json fields{{"items_per_sample", answer.items_per_sample}};
    return Reply("measure", fields).integer("items_per_sample", items_asked, items_asked).error();
  }
  constexpr std::int64_t kMaxCount = std::numeric_limits<int>::max();
  if (run.samples_ns.empty()) run.start_ns = answer.start_ns;
  run.samples_ns.insert(run.samples_ns.end(), answer.samples_ns.begin(), answer.samples_ns.end());
  run.warmup_discarded =
      static_cast<int>(std::min(kMaxCount, run.warmup_discarded + answer.warmup_passes));
  run.cpu_ns += answer.cpu_ns;
  run.major_faults += answer.major_faults;
  run.involuntary_switches += answer.involuntary_switches;
  run.throttled = run.throttled || answer.throttled;
  if (!answer.details.is_null()) run.details.push_back(answer.details);
  run.counters = answer.counters;  // totals over the samples so far, hence replaced
  return ok;
}

}  // namespace sluice::measure
