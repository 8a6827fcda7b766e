// sluice/peers/python.cpp - candidates, one question to each, advice when none will do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/python.h"

#include "sluice/core/process/child.h"
#include "sluice/core/process/process.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMinor = 11;  // what the pinned versions are published for
constexpr double kAnswerTimeoutS = 30;

// Written so that Python 2 and 3.0 can answer too. Debian ships venv without ensurepip, and says so
// only when an environment is made.
constexpr const char* kQuestion = R"(import sys, platform
print("sluice-python %d.%d.%d %s" % (tuple(sys.version_info[:3]) + (platform.machine(),)))
for module in ("venv", "ensurepip"):
    try:
        __import__(module)
    except ImportError:
        print("sluice-missing " + module)
)";

std::string answer(std::string_view output, std::string_view key) {
  for (const std::string& line : split(output, '\n')) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return "";
}

int number(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<fs::path> candidates(const Places& places) {
  std::vector<fs::path> found;
  if (is_program(places.system_python)) found.emplace_back(places.system_python);
  for (const std::string& folder : split(places.search_path, ':')) {
    const fs::path program = fs::path(folder) / "python3";
    if (!folder.empty() && program != places.system_python && is_program(program))
      found.push_back(program);
  }
  return found;
}

}  // namespace

Result<Python> ask_python(const fs::path& program) {
  const std::string name = printable(program.string());
  ChildOptions child;
  child.command = {program.string(), "-c", kQuestion};
  child.environment = {{"PYTHONPATH", std::nullopt}, {"PYTHONHOME", std::nullopt}};
  child.timeout_s = kAnswerTimeoutS;
  SLUICE_TRY(const ChildResult said, run_child(child));
  const std::vector<std::string> facts = split(answer(said.output, "sluice-python "), ' ');
  const std::vector<std::string> version =
      facts.size() == 2 ? split(facts[0], '.') : std::vector<std::string>();
  if (said.status != 0 || version.size() != 3)
    return Error{Errc::unsupported,
                 fmt::format("{}: is no Python that works; name one with SLUICE_PYTHON", name)};
  if (number(version[0]) < 3 || (number(version[0]) == 3 && number(version[1]) < kOldestMinor))
    return Error{Errc::unsupported,
                 fmt::format("{}: is Python {}; 3.{} or newer is needed: install one and name it "
                             "with SLUICE_PYTHON",
                             name, printable(facts[0]), kOldestMinor)};
  if (const std::string missing = answer(said.output, "sluice-missing "); !missing.empty())
    return Error{Errc::unsupported,
                 fmt::format("{}: has no module '{}', so it cannot make environments; run: apt-get "
                             "install python3-venv",
                             name, printable(missing))};
  return Python{program, facts[0], facts[1]};
}

Result<fs::path> named_python(const Places& places, std::string_view variable,
                              const std::string& value) {
  if (const auto found = find_command(value, places.search_path)) return fs::path(*found);
  return Error{Errc::not_found, fmt::format("{} {}: is no program; expected a Python 3.{} or newer",
                                            variable, printable(value), kOldestMinor)};
}

Result<Python> find_python(const Places& places) {
  if (!places.python.empty()) {
    SLUICE_TRY(const fs::path program, named_python(places, "SLUICE_PYTHON", places.python));
    return ask_python(program);
  }
  std::optional<Error> first;
  for (const fs::path& program : candidates(places)) {
    auto asked = ask_python(program);
    if (asked) return asked;
    if (!first) first = asked.error();
  }
  if (first) return *first;
  return Error{Errc::not_found,
               "python3: not found in PATH; run: apt-get install python3 python3-venv"};
}

}  // namespace sluice::peers
