// tests/storage/fault_server_main.cpp - the fault server as a program, for tests of the command
// line: prints its port, serves until standard input closes, then prints its counters.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"

#include "tests/storage/fault_server.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace {

using namespace sluice;
using storage::testing::FaultServer;
using storage::testing::FaultServerOptions;

constexpr const char* kUsage =
    "usage: fault_server [--bucket NAME] [--key ID SECRET] [--token T] [--region R] [--anonymous]\n"
    "         [--folder DIR PREFIX] [--generate PREFIX SUFFIX COUNT SIZE] [--seed N]\n"
    "         [--fault-rate TOTAL] [--fault KIND RATE] [--burst N] [--slow-s S] [--page-size N]\n"
    "         [--tell]  a line with method and path of every request when it comes\n";

/// Options, and folders whose files become objects.
struct Arguments {
  FaultServerOptions options;
  std::vector<std::pair<std::string, std::string>> folders;  // path, prefix
};

void tell(const storage::testing::HttpRequest& request) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  std::printf("%s %s\n", request.method.c_str(), request.path.c_str());
  std::fflush(stdout);
}

bool parse(Arguments& out, std::vector<std::string> words) {
  FaultServerOptions& options = out.options;
  std::string key_id;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& flag = words[i];
    const auto has = [&](std::size_t values) { return i + values < words.size(); };
    const auto next = [&] { return words[++i]; };
    if (flag == "--tell") {
      options.seen = tell;
    } else if (flag == "--anonymous") {
      options.signature.anonymous = true;
    } else if (flag == "--bucket" && has(1)) {
      options.bucket = next();
    } else if (flag == "--region" && has(1)) {
      options.signature.region = next();
    } else if (flag == "--key" && has(2)) {
      key_id = next();
      options.signature.keys[key_id].secret = next();
    } else if (flag == "--token" && has(1) && !key_id.empty()) {
      options.signature.keys[key_id].session_token = next();
    } else if (flag == "--folder" && has(2)) {
      out.folders.emplace_back(words[i + 1], words[i + 2]);
      i += 2;
    } else if (flag == "--generate" && has(4)) {
      options.generated.prefix = next();
      options.generated.suffix = next();
      options.generated.count = std::stoull(next());
      options.generated.size = std::stoull(next());
    } else if (flag == "--seed" && has(1)) {
      options.faults.seed = std::stoull(next());
    } else if (flag == "--burst" && has(1)) {
      options.faults.burst = std::stoi(next());
    } else if (flag == "--slow-s" && has(1)) {
      options.faults.slow_s = std::stod(next());
    } else if (flag == "--page-size" && has(1)) {
      options.page_size = std::stoull(next());
    } else if (flag == "--fault-rate" && has(1)) {
      options.faults.rate = storage::testing::FaultPlan::uniform(std::stod(next()), 0).rate;
    } else if (flag == "--fault" && has(2)) {
      const auto fault = storage::testing::parse_fault(next());
      if (!fault) return false;
      options.faults.rate[static_cast<std::size_t>(*fault)] = std::stod(next());
    } else {
      return false;
    }
  }
  return true;
}

bool put_folder(FaultServer& server, const std::filesystem::path& folder,
                const std::string& prefix) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    auto content = read_text_file(entry.path());
    if (!content) return false;
    server.put(prefix + entry.path().lexically_relative(folder).generic_string(),
               std::move(*content));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments;
  if (!parse(arguments, {argv + 1, argv + argc})) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  FaultServer server(arguments.options);
  for (const auto& [folder, prefix] : arguments.folders)
    if (!put_folder(server, folder, prefix)) return 1;
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  char bytes[256];
  while (::read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
  }
  std::printf("%s\n", dump_json(server.counters(), -1).c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fault_server: %s\n", error.what());
  return 1;
}
