// python/native/raise.cpp - which exception an error becomes.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/raise.h"

#include <nanobind/nanobind.h>

namespace sluice::python {
namespace {

PyObject* exception_of(Errc code) {
  switch (code) {
    case Errc::usage:
    case Errc::invalid_config:
    case Errc::invalid_input:
      return PyExc_ValueError;
    case Errc::not_found:
      return PyExc_FileNotFoundError;
    case Errc::io:
      return PyExc_OSError;
    case Errc::timeout:
      return PyExc_TimeoutError;
    default:
      return PyExc_RuntimeError;
  }
}

}  // namespace

void raise(const Error& error) {
  PyErr_SetString(exception_of(error.code), error.message.c_str());
  throw nanobind::python_error();
}

}  // namespace sluice::python
