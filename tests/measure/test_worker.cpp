// tests/measure/test_worker.cpp - a worker program whose cases misbehave in every way we know.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/cpu_list.h"
#include "sluice/measure/worker/server.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace sluice;           // NOLINT(google-build-using-namespace)
using namespace sluice::measure;  // NOLINT(google-build-using-namespace)

/// Uses `ms` of the calling thread's processor time.
void burn(int ms) {
  timespec start{};
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - start.tv_sec) * 1'000'000'000L + now.tv_nsec - start.tv_nsec <
         ms * 1'000'000L);
}

void say(const char* line) {
  const ssize_t written = write(std::atoi(std::getenv(kPeerOutVariable)), line, std::strlen(line));
  (void)written;
}

/// The first pass fills the preflight; what is odd happens in the second, hence in `measure`.
class OddSubject final : public Subject {
 public:
  OddSubject(std::function<void()> odd, int passes_before)
      : odd_(std::move(odd)), passes_before_(passes_before) {}
  Result<std::string> check() override { return std::string("digest"); }
  void run_pass() override {
    if (passes_++ >= passes_before_) {
      odd_();
    } else {
      burn(21);
    }
  }
  [[nodiscard]] std::int64_t items_per_pass() const override { return 2; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

 private:
  std::function<void()> odd_;
  int passes_before_;
  int passes_ = 0;
};

SubjectFactory odd(std::function<void()> what, int passes_before = 1) {
  return [what = std::move(what), passes_before](const SubjectContext&) {
    return Result<std::unique_ptr<Subject>>(std::make_unique<OddSubject>(what, passes_before));
  };
}

void die_of(int signal_number) {
  std::signal(signal_number, SIG_DFL);  // a sanitizer may have its own handler
  raise(signal_number);
}

/// A child that holds every descriptor of ours and never ends by itself.
void start_grandchild() {
  static bool started = false;
  if (started) return;
  started = true;
  const pid_t pid = fork();
  if (pid == 0) {
    while (true)
      pause();
  }
  std::printf("grandchild %d\n", static_cast<int>(pid));
  std::fflush(stdout);
}

Catalogue catalogue() {
  Catalogue result;
  result.library = "test";
  const char* padding = std::getenv("SLUICE_PADDING");
  result.version = "padding " + std::to_string(padding == nullptr ? 0 : std::strlen(padding)) +
                   " cpus " + measure::to_string(allowed_cpus());
  auto& cases = result.scenarios;
  cases["ok"] = odd([] { burn(1); }, 0);
  cases["throws"] = odd([] { throw std::runtime_error("out of pixels"); });
  cases["aborts"] = odd([] { die_of(SIGABRT); });
  cases["segfaults"] = odd([] { die_of(SIGSEGV); });
  cases["exits"] = odd([] { _exit(0); });
  cases["hangs"] = odd([] { pause(); });
  cases["garbage"] = odd([] { say("this is no JSON\n"); });
  cases["babbles"] = odd([] {
    while (true)
      say("{\"type\": \"measure\", \"id\": -1}\n");
  });
  cases["prints"] = odd(
      [] {
        std::puts("words on stdout");
        std::fputs("words on stderr\n", stderr);
        std::fflush(stdout);
        burn(1);
      },
      0);
  cases["grandchild"] = odd(
      [] {
        start_grandchild();
        burn(1);
      },
      0);
  cases["orphan"] = odd([] {
    start_grandchild();
    die_of(SIGABRT);
  });
  cases["two-threads"] = odd(
      [] {
        std::thread other([] { burn(10); });
        burn(10);
        other.join();
      },
      0);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (argc > 1 && std::string(argv[1]) == "--broken") {
    std::fputs("cannot start\n", stderr);
    return 3;
  }
  return serve_on_environment(catalogue()) ? 0 : 1;
}
