// tests/config/config_fuzz.cpp - any bytes: no crash, and what is accepted survives being written
// and read again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/emit.h"
#include "sluice/config/override.h"
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace sluice::config;  // NOLINT(google-build-using-namespace): a program of one function

enum class Mode { fast, exact };

void read_everything(const Node& node) {
  double number = 0;
  double timeout_s = 0;
  double limit = 0;
  int count = 0;
  std::uint64_t memory = 0;
  bool flag = false;
  std::string name;
  std::vector<double> list;
  std::optional<int> maybe;
  Mode mode = Mode::fast;
  Reader reader(node, "fuzz");
  reader.read("number", number, open_interval(0.0, 1.0), "doc");
  reader.read("timeout", timeout_s, seconds());
  reader.read("limit", limit, share());
  reader.read("count", count, at_least(1));
  reader.read("memory", memory, bytes());
  reader.read("flag", flag);
  reader.require("name", name);
  reader.read("list", list, list_of(closed_interval(0, 5), 1));
  reader.read("maybe", maybe);
  reader.read("mode", mode, names<Mode>({{"fast", Mode::fast}, {"exact", Mode::exact}}));
  for (Reader& job : reader.children("jobs"))
    job.read("count", count);
  Reader child = reader.child("child");
  child.read("name", name);
  const sluice::Status status = reader.finish();
  if (!status && status.error().message.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto node = parse(text, "fuzz.yaml");
  if (!node) {
    if (node.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string emitted = to_yaml(*node);
  if (emitted.size() <= kMaxFileBytes) {
    const auto again = parse(emitted, "emitted.yaml");
    if (!again || !again->same_content(*node)) std::abort();
  }
  Schema schema;
  node->attach(&schema);
  read_everything(*node);
  if (!apply_override(*node, text.substr(0, text.find('\n')))) return 0;
  read_everything(*node);
  return 0;
}
