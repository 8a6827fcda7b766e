// tests/train/write_kernel_trace.cpp - a recorded list of kernels, as CUPTI gives them, written as
// the traces of a profile, for the test with TensorBoard's own plugin.
// SPDX-License-Identifier: Apache-2.0
//
// usage: write_kernel_trace RECORDS DIR
// RECORDS, a line each: STEP START_NS END_NS STREAM kernel|copy|clear BYTES OP NAME; "-": no op.
// A step lasts from its first record to its last.
#include "sluice/core/file.h"
#include "sluice/train/profile/trace.h"

#include <cstdio>
#include <sstream>

namespace {

using namespace sluice;

Result<train::StepProfile> read_records(const std::string& path) {
  SLUICE_TRY(const std::string text, read_text_file(path));
  train::StepProfile profile{"vit5-tiny", "cuda:0 NVIDIA H200", "cuBLASLt", "bf16", 8, 1, {}, {},
                             {}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::size_t step = 0;
    std::string work;
    train::DeviceRecord record;
    words >> step >> record.start_ns >> record.end_ns >> record.stream >> work >> record.bytes >>
        record.op >> std::ws;
    std::getline(words, record.name);
    if (!words || record.name.empty()) return Error{Errc::invalid_input, "cannot read: " + line};
    record.work = work == "copy"    ? train::DeviceWork::copy
                  : work == "clear" ? train::DeviceWork::clear
                                    : train::DeviceWork::kernel;
    if (record.op == "-") record.op.clear();
    record.in_graph = record.work == train::DeviceWork::kernel;
    auto& steps = profile.device_steps;
    if (steps.size() <= step) steps.resize(step + 1);
    if (steps[step].records.empty()) steps[step].start_ns = record.start_ns;
    steps[step].end_ns = std::max(steps[step].end_ns, record.end_ns);
    steps[step].records.push_back(std::move(record));
  }
  return profile;
}

Status write(const std::string& records, const std::filesystem::path& folder) {
  SLUICE_TRY(const train::StepProfile profile, read_records(records));
  SLUICE_CHECK(write_file_atomic(folder / "trace.json", train::chrome_trace(profile)));
  return write_file_atomic(folder / "sluice_kernels.1763400000000.pt.trace.json",
                           train::kineto_kernels(profile));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: write_kernel_trace RECORDS DIR\n", stderr);
    return 2;
  }
  const Status written = write(argv[1], argv[2]);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written ? 0 : 2;
}
