// sluice/measure/worker/messages.h - what supervisor and worker say to each other, built and read
// in one place (docs/peer-protocol.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/record.h"
#include "sluice/measure/worker/worker.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

// A request has json(), which the supervisor sends, and read(), which our own worker reads it with:
// a field of the wrong type throws Json::exception there, and the server answers with that. Its
// Answer has the same two the other way round; read() of an answer is strict and names the field.
namespace sluice::measure {

struct Hello {
  struct Answer {
    std::string library;  // "" when it says none
    std::string version;
    Json versions = Json::object();  // of packages
    std::vector<std::string> cases{};
    [[nodiscard]] Json json() const;
    static Result<Answer> read(const Json& fields);  // another protocol than ours is an Error
  };
  [[nodiscard]] Json json() const;
};

struct Configure {
  struct Answer {
    int threads = 1;  // in force
    Json in_force{};  // what the library says of its pools; null: nothing
    Json more{};      // the whole answer: a model has fields of its own
    [[nodiscard]] Json json() const;
    static Result<Answer> read(const Json& fields);
  };
  int threads = 1;
  std::string device = "cpu";
  std::uint64_t seed = 0;
  std::string thread_policy{};  // empty: not sent
  [[nodiscard]] Json json() const;
  static Result<Configure> read(const Json& request);
};

struct Load {
  /// Decoded inputs that all workers map.
  struct Inputs {
    std::filesystem::path index;
    std::filesystem::path data;
  };
  struct Answer {
    static Result<Answer> read(const Json&) { return Answer{}; }
  };
  std::filesystem::path data_dir{};
  std::string scenario{};  // empty: not sent; so below
  std::string mode{};
  Inputs inputs{};
  std::int64_t num_items = 0;
  std::vector<std::string> skip{};  // unreadable files of data_dir
  [[nodiscard]] Json json() const;
  static Load read(const Json& request);
};

struct Prepare {
  struct Answer {
    std::int64_t items_per_pass = 1;
    double bytes_per_item = 0;
    [[nodiscard]] Json json() const;
    static Result<Answer> read(const Json& fields);
  };
  std::string case_name;
  Json spec{};  // null: not sent
  [[nodiscard]] Json json() const;
  static Prepare read(const Json& request);
};

struct Check {
  /// Outputs to be written as 32-bit floats: `items` of them, each drawn `draws` times.
  struct Samples {
    std::filesystem::path path;
    std::int64_t items = 1;
    int draws = 1;
  };
  struct Answer {
    std::string digest;  // never empty
    Json shapes{};       // of the samples, one {"shape": [h, w, c]} each
    static Result<Answer> read(const Json& fields);
  };
  std::optional<Samples> samples{};
  [[nodiscard]] Json json() const;
  /// At most `most_items` and `most_draws` may be asked for.
  static Result<Check> read(const Json& request, std::int64_t most_items, std::int64_t most_draws);
};

struct Preflight {
  struct Answer {
    std::int64_t pass_ns = 1;
    [[nodiscard]] Json json() const;
    static Result<Answer> read(const Json& fields);
  };
  double slow_item_s = 0;
  std::int64_t items = 0;  // 0: a whole pass
  [[nodiscard]] Json json() const;
  static Result<Preflight> read(const Json& request);
};

struct Measure {
  struct Answer {
    std::int64_t start_ns = 0;
    std::vector<std::int64_t> samples_ns{};
    std::int64_t items_per_sample = 0;
    std::int64_t warmup_passes = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t major_faults = 0;
    std::int64_t involuntary_switches = 0;
    bool throttled = false;
    Json details{};  // null: none
    Measured<HardwareCounters> counters{};
    std::optional<GpuMemory> gpu_memory{};
    [[nodiscard]] Json json() const;
    static Result<Answer> read(const Json& fields);
  };
  std::string case_name;
  std::int64_t passes = 1;
  double warmup_ms = 50;
  double warmup_limit_ms = 1000;
  std::int64_t samples = 1;
  [[nodiscard]] Json json() const;
  static Result<Measure> read(const Json& request);
};

/// Which of these cases the library has.
struct Support {
  struct Answer {
    std::size_t supported = 0;                         // cases
    std::map<std::string, std::string> unsupported{};  // by case: why; fit to be printed
    static Result<Answer> read(const Json& fields);
  };
  Json cases;  // a list of {"case", "spec"}, as for Prepare
  [[nodiscard]] Json json() const;
};

/// Natural logarithms of the probability of every token of a text but the first.
struct Logprobs {
  struct Answer {
    std::vector<double> logprobs;  // at least one; finite, none above 0 but for rounding
    static Result<Answer> read(const Json& fields);
  };
  std::string text;  // UTF-8
  int max_length = 0;
  int stride = 0;
  [[nodiscard]] Json json() const;
};

/// The most probable continuation of a prompt.
struct Generate {
  struct Answer {
    std::string text;                    // at most 64 KiB of it
    std::optional<std::string> error{};  // why there is none, fit to be printed
    static Result<Answer> read(const Json& fields);
  };
  std::string prompt;
  int max_prompt_tokens = 0;
  int max_new_tokens = 0;
  std::string stop{};  // the text ends before it; empty: nowhere
  std::uint64_t seed = 0;
  [[nodiscard]] Json json() const;
};

/// The last request; whatever is answered is not read.
struct Bye {
  [[nodiscard]] Json json() const;
};

/// The answer to a request that came to nothing.
struct ErrorAnswer {
  Error error;
  [[nodiscard]] Json json() const;
  /// Nothing when `answer` is no error; its reason is fit to be printed.
  static std::optional<Error> read(const Json& answer);
};

/// Those members of an object that are text, at most 1000 bytes of each, fit to be printed.
std::map<std::string, std::string> texts_of(const Json& object);

/// Adds an answer to its run. The worker must have done `items_asked` items per sample: otherwise
/// it would be timed for work it did not do.
Status add_sample(Run& run, const Measure::Answer& answer, std::int64_t items_asked);

template <class Message>
Result<typename Message::Answer> ask(Worker& worker, const Message& message, double timeout_s) {
  SLUICE_TRY(const Json answer, worker.request(message.json(), timeout_s));
  return Message::Answer::read(answer);
}

}  // namespace sluice::measure
