// sluice/peers/launch.cpp - programs and variables of workers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/launch.h"

#include "sluice/core/file.h"
#include "sluice/core/process/process.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/core/version.h"
#include "sluice/env/variables.h"
#include "sluice/peers/environment.h"
#include "sluice/peers/library.h"
#include "sluice/peers/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace sluice::peers {
namespace {

namespace fs = std::filesystem;

constexpr std::array kPolicies = {"micro-single", "micro-threads", "pipeline-default",
                                  "pipeline-single-worker", "loader-all-cores"};
constexpr const char* kThreadsPolicy = "micro-threads";  // as many as `configure` says
constexpr const char* kOwnPackage = "sluice-python";     // our package, not one of the environment
// As the authors ship it: no variable is set.
constexpr std::array<std::string_view, 2> kDefaultPolicies = {"pipeline-default",
                                                              "loader-all-cores"};

// Read when a library loads: too late once it runs.
constexpr std::array kThreadVariables = {
    "OMP_NUM_THREADS",        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",  "RAYON_NUM_THREADS",  // of Rust: kornia-rs
    "VIPS_CONCURRENCY"};

struct Setting {
  const char* name;
  const char* value;
};
// A worker speaks to its supervisor and to nobody else. torch, torchvision, Kornia, Pillow, PyAV,
// OpenCV and DALI send nothing; what they would download, they ask Hugging Face's client for.
constexpr std::array<Setting, 7> kSilence = {{
    {"ALBUMENTATIONS_NO_TELEMETRY", "1"},  // AlbumentationsX: usage statistics
    {"ALBUMENTATIONS_OFFLINE", "1"},       // AlbumentationsX: any connection
    {"NO_ALBUMENTATIONS_UPDATE", "1"},     // AlbumentationsX: version check at import
    {"HF_HUB_DISABLE_TELEMETRY", "1"},
    {"HF_HUB_OFFLINE", "1"},
    {"DO_NOT_TRACK", "1"},  // honoured by several
    {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
}};
constexpr std::array<Setting, 4> kPython = {{
    {"PYTHONNOUSERSITE", "1"},  // packages of the environment and no others
    {"PYTHONHASHSEED", "0"},    // the same order of sets in every process
    {"PYTHONDONTWRITEBYTECODE",
     "1"},                      // pip compiled the packages; the adapters' folder stays clean
    {"PYTHONUNBUFFERED", "1"},  // last words reach the log
}};
constexpr std::array kSecretParts = {"TOKEN",      "SECRET",     "PASSWORD",   "PASSWD",
                                     "PASSPHRASE", "CREDENTIAL", "API_KEY",    "APIKEY",
                                     "AUTH",       "COOKIE",     "ACCESS_KEY", "PRIVATE_KEY"};

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

bool holds_secret(const std::string& name, const std::string& value) {
  const std::string loud = upper(name);
  const auto in_name = [&](const char* part) { return loud.find(part) != std::string::npos; };
  if (std::any_of(kSecretParts.begin(), kSecretParts.end(), in_name)) return true;
  const std::size_t address = value.find("://");  // https://user:word@host
  return address != std::string::npos && value.find('@', address) != std::string::npos;
}

Result<WorkerCommand> native_command(const Places& places, const Way& way) {
  WorkerCommand worker;
  if (way.program == "sluice") {
    worker.command = places.worker();
    worker.lock_hash = sha256_hex(fmt::format("sluice {} {}", version::kProgram, version::git()));
    return worker;
  }
  const fs::path program = find_native_worker(places, way.program);
  if (program.empty())
    return Error{
        Errc::unsupported,
        fmt::format("worker program '{}' is not built; run: tools/setup --with bench && make build",
                    way.program)};
  SLUICE_TRY(const auto bytes, read_binary_file(program));
  worker.command = {program.string()};
  worker.lock_hash = sha256_hex(bytes);
  return worker;
}

struct Interpreter {
  fs::path program;
  std::string lock_hash;
};

/// One that somebody else equipped. What is in it is not known here: a worker tells its versions.
Result<Interpreter> own_interpreter(const Places& places, const std::string& group) {
  auto program = named_python(places, python_variable(group), places.own_pythons.at(group));
  if (!program) return Error{Errc::unsupported, program.error().message};
  // Links stay: the python of a virtual environment is one, and finds its packages by its own
  // place.
  const fs::path absolute = fs::absolute(*program);
  return Interpreter{absolute, sha256_hex("python " + absolute.string())};
}

Result<Interpreter> interpreter_of(const Places& places, const Library& library, const Way& way) {
  if (std::string missing = no_package(library, this_machine()); !missing.empty())
    return Error{Errc::unsupported, std::move(missing)};
  const std::string group(way.group);
  if (places.own_pythons.contains(group)) return own_interpreter(places, group);
  auto environment = find_environment(places, way.group);
  if (!environment) {
    std::error_code none;
    if (!fs::exists(requirements_file(places, way.group), none)) return environment.error();
    const bool home = library.home_group() == way.group;
    return Error{Errc::unsupported,
                 fmt::format("{}; run: sluice peers install {}", environment.error().message,
                             home ? library.name : way.group)};
  }
  return Interpreter{environment->python(), environment->lock_hash};
}

Result<WorkerCommand> python_command(const Places& places, const Library& library, const Way& way) {
  SLUICE_TRY(const Interpreter python, interpreter_of(places, library, way));
  const fs::path adapter = places.adapters / "python" / way.program;
  std::error_code problem;
  if (!fs::is_regular_file(adapter, problem))
    return Error{Errc::unsupported,
                 fmt::format("{}: there is no adapter for '{}' in mode '{}'",
                             printable(adapter.string()), library.name, way.mode)};
  WorkerCommand worker;
  worker.command = {python.program.string(), adapter.string(), std::string(library.name),
                    std::string(way.mode)};
  worker.lock_hash = python.lock_hash;
  return worker;
}

/// The package `sluice`: beside the program in a build tree, around it in a wheel; empty: nowhere.
fs::path package_folder(const Places& places) {
  const fs::path beside = places.program.parent_path();
  std::error_code problem;
  for (const fs::path& folder : {beside / "python", beside.parent_path().parent_path()})
    if (fs::is_regular_file(folder / "sluice" / "__init__.py", problem)) return folder;
  return {};
}

/// glibc gives the top of the heap back when a large block there is freed, and whether an image
/// lies there is luck: the same work took up to 3.7 times as long, in page faults. Kept instead.
constexpr std::array<Setting, 2> kHeap = {
    {{"MALLOC_TRIM_THRESHOLD_", "268435456"}, {"MALLOC_MMAP_THRESHOLD_", "33554432"}}};

}  // namespace

std::map<std::string, std::string> worker_variables(const std::vector<std::string>& inherited,
                                                    std::string_view thread_policy, bool python) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : inherited) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    // To Python a variable without text is one that is not set.
    if (name.starts_with("PYTHON") || holds_secret(name, entry.substr(equals + 1)))
      variables[name] = "";
  }
  variables["PYTHONPATH"] = "";
  for (const Setting& setting : kSilence)
    variables[setting.name] = setting.value;
  if (python) {
    for (const Setting& setting : kPython)
      variables[setting.name] = setting.value;
  }
  if (std::find(kDefaultPolicies.begin(), kDefaultPolicies.end(), thread_policy) ==
      kDefaultPolicies.end()) {
    for (const char* name : kThreadVariables)
      if (thread_policy != kThreadsPolicy) variables[name] = "1";
    for (const Setting& setting : kHeap)
      variables[setting.name] = setting.value;
  }
  return variables;
}

fs::path find_native_worker(const Places& places, std::string_view name) {
  const fs::path beside = places.program.parent_path();
  for (const fs::path& folder :
       {beside / "bench", beside, beside.parent_path() / "libexec" / "sluice"}) {
    if (is_program(folder / name)) return folder / name;
  }
  return {};
}

Result<WorkerCommand> worker_command(const Places& places, const std::string& library,
                                     const std::string& mode, const std::string& thread_policy) {
  SLUICE_TRY(const Library* const found, require_library(library));
  if (std::find(kPolicies.begin(), kPolicies.end(), thread_policy) == kPolicies.end())
    return Error{Errc::usage,
                 fmt::format("thread policy '{}' is not known; accepted: {}",
                             printable(thread_policy), join({kPolicies.begin(), kPolicies.end()}))};
  const Way* way = found->way(mode);
  if (way == nullptr)
    return Error{Errc::unsupported, fmt::format("library '{}' is not measured in mode '{}'",
                                                library, printable(mode))};
  const bool python = !way->group.empty();
  SLUICE_TRY(WorkerCommand worker,
             python ? python_command(places, *found, *way) : native_command(places, *way));
  worker.environment = worker_variables(env::process_variables(), thread_policy, python);
  if (library == kOwnPackage) {
    const fs::path folder = package_folder(places);
    if (folder.empty())
      return Error{Errc::unsupported, "the Python package is not built; run: make wheel"};
    worker.environment["PYTHONPATH"] = folder.string();
  }
  return worker;
}

Result<WorkerCommand> worker_command(const std::string& library, const std::string& mode,
                                     const std::string& thread_policy) {
  SLUICE_TRY(const Places places, find_places());
  return worker_command(places, library, mode, thread_policy);
}

}  // namespace sluice::peers
