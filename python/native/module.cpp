// python/native/module.cpp - sluice._native: the rooms that Python may use, bound thinly.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/module.h"

#include "sluice/core/version.h"

#include "python/native/bindings.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

// What the package promises is written in python/sluice/*.py; this module is private to it.
NB_MODULE(_native, module) {
  namespace python = sluice::python;
  module.attr("version") = std::string(sluice::version::kProgram);
  module.def(
      "set_module_folder", [](const std::string& folder) { sluice::set_module_folders({folder}); },
      "Where libsluice_<name>.so lie; once, by __init__.py.");
  python::bind_loader(module);
  python::bind_mixture(module);
  python::bind_augment(module);
  python::bind_decode(module);
  python::bind_exchange(module);
}
