// python/native/exchange.h - sluice.Array: memory on a GPU, or of the host, for who speaks DLPack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python/native/array.h"
#include <nanobind/nanobind.h>

namespace sluice::python {

/// A sluice.Array; of torch and jax what they make of it. With the interpreter's lock held.
nb::object exchanged(Memory memory, Tensors tensors);

}  // namespace sluice::python
