// python/native/raise.h - an Error as the Python exception that says the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <utility>

namespace sluice::python {

/// usage, invalid_config, invalid_input: ValueError. not_found: FileNotFoundError. io: OSError.
/// timeout: TimeoutError. The rest: RuntimeError. The text is the error's one line. With the
/// interpreter's lock held.
[[noreturn]] void raise(const Error& error);

/// The value, or the exception.
template <class T>
T value_or_raise(Result<T>&& result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}
inline void check_or_raise(const Status& status) {
  if (!status) raise(status.error());
}

}  // namespace sluice::python
