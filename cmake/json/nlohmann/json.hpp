// nlohmann/json.hpp with assertions that throw.
//
// Of a constant object the library asserts that it has the key that it is asked for. What it is
// asked about often comes from outside, and assert ends the process; an exception is a failure of
// that object alone (pkg/base/run_once.h). What the library asserts in functions that are noexcept
// still ends it.
//
// All targets that link nlohmann_json::nlohmann_json find this header first
// (cmake/dependencies.cmake): one definition for a program.
#pragma once
// The body of a macro of this header counts as the library's, in which throwing from noexcept is no
// warning.
#pragma GCC system_header
#include <stdexcept>
#define JSON_ASSERT(condition)        \
  ((condition) ? static_cast<void>(0) \
               : throw std::logic_error("nlohmann::json asserts that " #condition))
#include_next <nlohmann/json.hpp>
