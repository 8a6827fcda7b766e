// tests/gate/baseline_fuzz.cpp - no text in the store crashes who reads it. The input is
// metrics.json, eval.json and a history, one after the other, with a 0 byte between them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/gate/decide.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

/// Removed when the fuzzer ends.
struct Store {
  fs::path folder =
      fs::temp_directory_path() / ("sluice-baseline-fuzz-" + std::to_string(getpid()));
  Store() { fs::create_directories(folder); }
  ~Store() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  void put(const char* name, const std::string& text) const {
    std::error_code ignored;
    if (text.empty()) fs::remove(folder / name, ignored);
    if (!text.empty() && !sluice::write_file_atomic(folder / name, text, sluice::Flush::later))
      std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace gate = sluice::gate;
  static const Store store;
  std::string parts[3];
  std::size_t part = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0 && part < 2)
      ++part;
    else
      parts[part].push_back(static_cast<char>(data[i]));
  }
  store.put("cpu.metrics.json", parts[0]);
  store.put("cpu.eval.json", parts[1]);
  store.put("cpu.history.jsonl", parts[2]);
  const auto baseline = gate::read_baseline(store.folder, "cpu");
  if (!baseline && baseline.error().message.find('\n') != std::string::npos) std::abort();
  if (!gate::list_baselines(store.folder)) std::abort();
  if (!baseline) return 0;
  const gate::Decision decision = gate::decide({baseline->files, *baseline}, {});
  if (decision.report.lines.empty()) std::abort();
  return 0;
}
