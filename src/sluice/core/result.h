// sluice/core/result.h - Result<T>: a value, or the Error that explains its absence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace sluice {

/// Why something failed. exit_code_of in cli/command.h maps each to the exit code of the program.
enum class Errc {
  usage,           // a flag or argument that is not accepted
  invalid_config,  // a configuration file that does not say what we accept
  invalid_input,   // data that exists but is not what it should be
  not_found,       // a path, case or key that does not exist
  io,              // the operating system refused: permissions, full disk, broken pipe
  unsupported,     // understood, but this build or machine cannot do it
  measurement,     // a measurement that must not be believed
  timeout,         // a time limit passed
  interrupted,     // the user asked to stop
  internal,        // our own bug
};

struct Error {
  Errc code;
  std::string message;  // one line: the thing, the offending value, what would be accepted
};

/// An error in what the user asked for.
inline Error usage_error(std::string text) {
  return Error{Errc::usage, std::move(text)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that `return value;` and `return Error{...};` both read well.
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Precondition: has_value().
  T& value() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Precondition: !has_value().
  const Error& error() const& {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
inline constexpr std::monostate ok{};  // `return ok;` from a function that returns Status

}  // namespace sluice

#define SLUICE_CONCAT_INNER_(a, b) a##b
#define SLUICE_CONCAT_(a, b) SLUICE_CONCAT_INNER_(a, b)
#define SLUICE_TRY_(temporary, declaration, ...)                   \
  auto temporary = (__VA_ARGS__);                                  \
  if (!temporary.has_value()) return std::move(temporary).error(); \
  declaration = std::move(temporary).value() /* NOLINT(bugprone-macro-parentheses) */

/// SLUICE_TRY(auto x, f()): binds the value of f(), or returns its Error from this function.
#define SLUICE_TRY(declaration, ...) \
  SLUICE_TRY_(SLUICE_CONCAT_(sluice_try_, __LINE__), declaration, __VA_ARGS__)

/// SLUICE_CHECK(f()): returns the Error of f() from this function, if there is one.
#define SLUICE_CHECK(...)                                               \
  do {                                                                  \
    if (auto sluice_check_ = (__VA_ARGS__); !sluice_check_.has_value()) \
      return std::move(sluice_check_).error();                          \
  } while (false)
