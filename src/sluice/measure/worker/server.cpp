// sluice/measure/worker/server.cpp - one handler per message of the protocol.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/server.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/measure/counters.h"
#include "sluice/measure/inject.h"
#include "sluice/measure/sampler.h"
#include "sluice/measure/usage.h"
#include "sluice/measure/worker/messages.h"
#include "sluice/measure/worker/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

namespace sluice::measure {
namespace {

/// Whole nanoseconds of a time that the request names; absurd ones are cut to eleven days.
std::int64_t ns_of(double value, double ns_per_unit) {
  return static_cast<std::int64_t>(
      std::clamp(value * ns_per_unit, 0.0, static_cast<double>(kLongestNs)));
}

constexpr std::int64_t kMaxDraws = 10'000;

/// The scenario of "decode/jpeg/threads=1" is "decode/jpeg": everything before the first axis
/// value.
std::string scenario_of(const std::string& case_name) {
  const std::size_t equals = case_name.find('=');
  if (equals == std::string::npos) return case_name;
  const std::size_t slash = case_name.rfind('/', equals);
  return slash == std::string::npos ? case_name : case_name.substr(0, slash);
}

std::map<std::string, std::string> params_of(const std::string& case_name) {
  std::map<std::string, std::string> params;
  for (const std::string& part : split(case_name, '/')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string::npos) params[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return params;
}

class Server {
 public:
  Server(const Catalogue& catalogue, Clock& clock) : catalogue_(catalogue), clock_(clock) {}

  /// The answer to one request, without its id.
  Result<Json> handle(const std::string& type, const Json& request) {
    if (type == "hello") return hello();
    if (type == "configure") return configure(request);
    if (type == "load") return load(request);
    if (type == "support") return support(request);
    if (type == "prepare") return prepare(request);
    if (type == "check") return check(request);
    if (type == "preflight") return preflight(request);
    if (type == "measure") return measure(request);
    if (type == "release") return release();
    if (type == "cancel") return Json{{"cancelled", false}, {"reason", "nothing was under way"}};
    return Error{Errc::unsupported, fmt::format("unknown message '{}'", printable(type))};
  }

 private:
  Result<Json> hello() {
    Hello::Answer answer{catalogue_.library, catalogue_.version, catalogue_.versions, {}};
    for (const auto& [name, factory] : catalogue_.scenarios)
      answer.cases.push_back(name);
    answer.cases.insert(answer.cases.end(), catalogue_.cases.begin(), catalogue_.cases.end());
    return answer.json();
  }

  Result<Json> configure(const Json& request) {
    SLUICE_TRY(const auto asked, Configure::read(request));
    if (asked.device != "cpu")
      return Error{Errc::unsupported,
                   asked.device == "cuda"
                       ? "no CUDA device"
                       : fmt::format("no device '{}'; cpu is there", printable(asked.device))};
    context_.threads = asked.threads;
    context_.seed = asked.seed;
    Configure::Answer answer{.threads = context_.threads};
    if (catalogue_.configure) {
      SLUICE_TRY(answer.in_force, catalogue_.configure(context_));
    }
    return answer.json();
  }

  Result<Json> load(const Json& request) {
    const Load asked = Load::read(request);
    context_.data_dir = asked.data_dir;
    context_.inputs_index = asked.inputs.index;
    context_.inputs_data = asked.inputs.data;
    context_.num_items = asked.num_items;
    context_.skip = asked.skip;
    if (catalogue_.load) return catalogue_.load(context_);
    return Json::object();
  }

  [[nodiscard]] const SubjectFactory* factory_of(const std::string& case_name) const {
    const auto found = catalogue_.scenarios.find(scenario_of(case_name));
    if (found != catalogue_.scenarios.end()) return &found->second;
    const SubjectFactory* factory = nullptr;
    for (const auto& [prefix, candidate] : catalogue_.prefixes)
      if (case_name.starts_with(prefix)) factory = &candidate;  // sorted: the longest comes last
    return factory;
  }

  /// The subject of a case, or why there is none.
  Result<std::unique_ptr<Subject>> make(SubjectContext context) const {
    const std::string& name = context.case_name;
    const SubjectFactory* factory = factory_of(name);
    if (factory == nullptr) {
      return Error{Errc::unsupported,
                   fmt::format("{} has no case '{}'", catalogue_.library, printable(name))};
    }
    context.params = params_of(name);
    SLUICE_TRY(auto subject, (*factory)(context));
    if (subject == nullptr)
      return Error{Errc::internal, fmt::format("'{}' made no subject", printable(name))};
    return subject;
  }

  /// Why this case cannot be done, or nothing: made and run once on a small input.
  Status try_case(const Json& entry) const {
    SubjectContext context = context_;
    const Prepare asked = Prepare::read(entry);
    context.case_name = asked.case_name;
    context.spec = asked.spec;
    context.synthetic = true;
    try {
      SLUICE_TRY(const auto subject, make(std::move(context)));
      SLUICE_CHECK(subject->check());
      return ok;
    } catch (const std::exception& problem) {
      return Error{Errc::unsupported, problem.what()};
    }
  }

  Result<Json> support(const Json& request) {
    const Json cases = request.value("cases", Json::array());
    if (!cases.is_array()) return Error{Errc::usage, "support: cases is no list"};
    Json supported = Json::array();
    Json unsupported = Json::object();
    for (const Json& entry : cases) {
      const std::string name = entry.value("case", std::string());
      if (const Status tried = try_case(entry); tried) {
        supported.push_back(name);
      } else {
        unsupported[name] = tried.error().message;
      }
    }
    return Json{{"supported", std::move(supported)}, {"unsupported", std::move(unsupported)}};
  }

  Result<Json> prepare(const Json& request) {
    subject_.reset();
    checked_ = false;
    const Prepare asked = Prepare::read(request);
    context_.case_name = asked.case_name;
    context_.spec = asked.spec;
    SLUICE_TRY(extra_, injected_slowdown(std::getenv(kInjectVariable), context_.case_name));
    SLUICE_TRY(subject_, make(context_));
    return Prepare::Answer{subject_->items_per_pass(), subject_->bytes_per_item()}.json();
  }

  Result<Json> check(const Json& request) {
    SLUICE_CHECK(prepared());
    SLUICE_TRY(auto digest, subject_->check());
    Json reply = subject_->output_info();
    reply["digest"] = digest;
    SLUICE_TRY(const Check asked, Check::read(request, subject_->items_per_pass(), kMaxDraws));
    if (asked.samples) {
      SLUICE_TRY(reply["samples"], write_samples(*asked.samples));
    }
    checked_ = true;
    return reply;
  }

  /// Returns the shapes of what it wrote.
  Result<Json> write_samples(const Check::Samples& wanted) {
    SLUICE_TRY(const OutputSamples samples, subject_->sample(wanted.items, wanted.draws));
    const auto bytes = std::as_bytes(std::span(samples.values));
    SLUICE_CHECK(write_file_atomic(wanted.path,
                                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    Json shapes = Json::array();
    for (const auto& shape : samples.shapes)
      shapes.push_back(Json{{"shape", shape}});
    return shapes;
  }

  Result<Json> preflight(const Json& request) {
    SLUICE_CHECK(prepared());
    SLUICE_TRY(const auto asked, Preflight::read(request));
    const std::int64_t slow_pass_ns =
        ns_of(asked.slow_item_s * static_cast<double>(subject_->items_per_pass()), 1e9);
    return Preflight::Answer{asked.items == 0
                                 ? preflight_pass_ns(*subject_, clock_, slow_pass_ns)
                                 : preflight_items_ns(*subject_, clock_, slow_pass_ns, asked.items)}
        .json();
  }

  Result<Json> measure(const Json& request) {
    SLUICE_CHECK(prepared());
    if (!checked_)
      return Error{Errc::measurement, "the output was not checked: results come before times"};
    SLUICE_TRY(const auto asked, Measure::read(request));
    const std::string& name = context_.case_name;
    if (!asked.case_name.empty() && asked.case_name != name) {
      return Error{Errc::usage, fmt::format("'{}' is prepared, not '{}'", printable(name),
                                            printable(asked.case_name))};
    }
    Measure::Answer answer;
    if (__builtin_mul_overflow(asked.passes, subject_->items_per_pass(),
                               &answer.items_per_sample)) {
      return Error{Errc::usage, fmt::format("passes {} times {} items: too many to count",
                                            asked.passes, subject_->items_per_pass())};
    }
    answer.warmup_passes = warm_up(asked);
    subject_->begin_sample();
    answer.samples_ns.reserve(static_cast<std::size_t>(asked.samples));
    const std::int64_t throttled_before = throttled_periods();
    counters_.start();
    const Usage before = usage_now();  // innermost: of short samples every microsecond counts
    const Sample sample = take_sample(*subject_, clock_, asked.passes, extra_);
    answer.samples_ns.push_back(sample.elapsed_ns);
    std::int64_t elapsed_ns = sample.elapsed_ns;
    for (std::int64_t i = 1; i < asked.samples || subject_->wants_more(elapsed_ns); ++i) {
      answer.samples_ns.push_back(take_sample(*subject_, clock_, asked.passes, extra_).elapsed_ns);
      elapsed_ns += answer.samples_ns.back();
    }
    const Usage used = usage_now() - before;
    counters_.stop();
    answer.start_ns = sample.start_ns;
    answer.cpu_ns = used.cpu_ns;
    answer.major_faults = used.major_faults;
    answer.involuntary_switches = used.involuntary_switches;
    answer.throttled = throttled_periods() > throttled_before;
    answer.details = subject_->measured_info();
    answer.warmup_passes += subject_->untimed_passes();
    answer.counters = counters_.read();
    return answer.json();
  }

  /// Untimed passes; 0 when a part of one was warm-up enough.
  std::int64_t warm_up(const Measure& asked) {
    const std::int64_t min_ns = ns_of(asked.warmup_ms, 1e6);
    const std::int64_t limit_ns = ns_of(asked.warmup_limit_ms, 1e6);
    if (warm_up_items(*subject_, clock_, min_ns)) return 0;
    return measure::warm_up(*subject_, clock_, WarmUpRule(min_ns, limit_ns), asked.passes);
  }

  Result<Json> release() {
    subject_.reset();
    checked_ = false;
    return Json::object();
  }

  Status prepared() const {
    if (subject_ == nullptr) return Error{Errc::usage, "no case is prepared"};
    return ok;
  }

  const Catalogue& catalogue_;
  Clock& clock_;
  CounterSet counters_;  // before any subject, so that its threads are counted
  SubjectContext context_;
  std::unique_ptr<Subject> subject_;
  bool checked_ = false;
  double extra_ = 0;
};

/// A subject may throw anything; a message may hold a field of the wrong type. Both are answers,
/// not crashes.
Result<Json> handle_safely(Server& server, const std::string& type, const Json& request) {
  try {
    return server.handle(type, request);
  } catch (const Json::exception& problem) {
    return Error{Errc::usage,
                 fmt::format("{}: a field cannot be read: {}", printable(type), problem.what())};
  } catch (const std::exception& problem) {
    return Error{Errc::internal, fmt::format("{} threw: {}", type, problem.what())};
  } catch (...) {
    return Error{Errc::internal, fmt::format("{} threw something that is no std::exception", type)};
  }
}

Result<int> descriptor(const char* variable) {
  const char* text = std::getenv(variable);
  int fd = -1;
  if (text != nullptr) {
    const auto [end, problem] = std::from_chars(text, text + std::strlen(text), fd);
    if (problem != std::errc{} || *end != '\0') fd = -1;
  }
  if (fd < 0) {
    return Error{
        Errc::usage,
        fmt::format("{} is not set to a descriptor: a worker is started by the supervisor, not by "
                    "hand (docs/peer-protocol.md)",
                    variable)};
  }
  return fd;
}

}  // namespace

Status serve(LineChannel& channel, const Catalogue& catalogue, Clock& clock) {
  Server server(catalogue, clock);
  while (true) {
    auto request = channel.receive(-1);
    if (!request) {
      if (request.error().code == Errc::io) return ok;  // the supervisor is gone
      SLUICE_CHECK(channel.send(ErrorAnswer{{Errc::measurement, request.error().message}}.json()));
      continue;
    }
    const auto type_field = request->find("type");
    const std::string type = type_field != request->end() && type_field->is_string()
                                 ? type_field->get<std::string>()
                                 : "";
    auto reply =
        type == "bye" ? Result<Json>(Json::object()) : handle_safely(server, type, *request);
    Json message;
    if (reply) {
      message = std::move(*reply);
      message["type"] = type;
    } else {
      message = ErrorAnswer{reply.error()}.json();
    }
    if (const auto id = request->find("id"); id != request->end()) message["id"] = *id;
    SLUICE_CHECK(channel.send(message));
    if (type == "bye") return ok;
  }
}

Result<std::pair<int, int>> peer_descriptors() {
  SLUICE_TRY(const int in, descriptor(kPeerInVariable));
  SLUICE_TRY(const int out, descriptor(kPeerOutVariable));
  return std::pair<int, int>(in, out);
}

Status serve_on_environment(const Catalogue& catalogue) {
  SLUICE_TRY(const auto descriptors, peer_descriptors());
  LineChannel channel(descriptors.first, descriptors.second);
  SystemClock clock;
  return serve(channel, catalogue, clock);
}

}  // namespace sluice::measure
