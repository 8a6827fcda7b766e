// sluice/core/module.cpp - finds and loads modules with dlopen.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/module.h"

#include "sluice/core/text.h"
#include "sluice/core/version.h"

#include <fmt/format.h>

#include <cstdlib>
#include <dlfcn.h>
#include <system_error>

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Why dlopen or dlsym failed. The text names what is missing ("libavcodec.so.59: cannot open
/// ...").
std::string loader_error() {
  const char* text = ::dlerror();
  return text != nullptr ? printable(text) : "unknown reason";
}

/// Empty: those of the program.
std::vector<fs::path>& own_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

/// For who builds the program, and for who unpacked an archive of it (`make dist`).
std::string what_brings(std::string_view name) {
  if (name == "cuda" || name == "nvjpeg") return "`make build` builds it where nvcc is found";
  if (name == "mpi") return "`make build` builds it where Open MPI is (package libopenmpi-dev)";
  if (name == "video")
    return fmt::format("`make build` builds it, the archive sluice-video-{} has it",
                       version::kProgram);
  return "`make build` builds it";
}

}  // namespace

std::vector<fs::path> module_folders() {
  if (const char* chosen = std::getenv("SLUICE_MODULE_DIR"); chosen != nullptr && *chosen != '\0')
    return {chosen};
  if (!own_folders().empty()) return own_folders();
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  if (code) return {};
  const fs::path folder = program.parent_path();
  return {folder, folder.parent_path() / "lib" / "sluice"};
}

void set_module_folders(std::vector<fs::path> folders) {
  own_folders() = std::move(folders);
}

Result<void*> load_module(std::string_view name, const std::string& symbol,
                          const std::vector<fs::path>& folders) {
  const std::string file = fmt::format("libsluice_{}.so", name);
  for (const fs::path& folder : folders) {
    std::error_code code;
    const fs::path path = fs::absolute(folder / file, code);  // a bare name would be searched for
    if (code || !fs::exists(path, code)) continue;
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr)
      return Error{Errc::unsupported, fmt::format("{} cannot be loaded: {}", file, loader_error())};
    void* address = ::dlsym(module, symbol.c_str());
    if (address == nullptr)
      return Error{Errc::unsupported, fmt::format("{} is not ours: {}", file, loader_error())};
    return address;
  }
  return Error{Errc::unsupported, fmt::format("{} is not installed; {}", file, what_brings(name))};
}

}  // namespace sluice
