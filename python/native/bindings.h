// python/native/bindings.h - what each file of the extension adds to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

void bind_loader(nanobind::module_& module);
void bind_mixture(nanobind::module_& module);
void bind_augment(nanobind::module_& module);
void bind_decode(nanobind::module_& module);
void bind_exchange(nanobind::module_& module);

}  // namespace sluice::python
