// sluice/peers/environment.cpp - finding environments, and which one is wanted.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/environment.h"

#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/peers/library.h"
#include "sluice/peers/marker.h"

#include <fmt/format.h>

#include <sys/utsname.h>

namespace sluice::peers {

std::string this_machine() {
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) : std::string("unknown");
}

std::filesystem::path requirements_file(const Places& places, std::string_view group) {
  return places.adapters / "python" / "requirements" / fmt::format("{}.txt", group);
}

Result<Venv> find_environment(const Places& places, std::string_view group) {
  if (places.adapters.empty())
    return Error{Errc::unsupported, "no adapters: there is no folder adapters/python above " +
                                        printable(places.program.string()) +
                                        "; name it with SLUICE_ADAPTERS"};
  const auto file = requirements_file(places, group);
  const auto requirements = read_text_file(file, 1 << 20);
  if (!requirements)
    return Error{Errc::unsupported, fmt::format("environment '{}' has no requirements: {}", group,
                                                requirements.error().message)};
  const std::string wanted = sha256_hex(*requirements);
  const char* state = "is not installed";
  for (const auto& folder : folders_of_group(places, group)) {
    auto found = read_marker(folder);
    if (!found) {
      state = "is only half installed";
      continue;
    }
    if (found->architecture != this_machine()) continue;
    if (found->requirements_hash == wanted) return found;
    state = "is out of date";
  }
  return Error{Errc::unsupported, fmt::format("environment '{}' {}", group, state)};
}

}  // namespace sluice::peers
