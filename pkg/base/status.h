// Status vocabulary of the whole program: absl::Status and absl::StatusOr, two macros, and one way
// to say that an input is wrong. Thread safety: everything here is a value or a pure function.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace yardmaster {

// "<field>: <what is wrong>; <how to mend it>". `field` is a path into the object the user wrote,
// for example `spec.parallelism.tensor`. Always InvalidArgument: the caller must change its input.
inline absl::Status FieldError(std::string_view field, std::string_view problem,
                               std::string_view fix) {
  std::string text(field);
  text.append(": ").append(problem);
  if (!fix.empty()) text.append("; ").append(fix);
  return absl::InvalidArgumentError(text);
}

// The message as a standard string (absl's own string_view does not convert by itself).
inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// The same status with `prefix` before its message: "n0001: spec.x: ..." .
inline absl::Status Annotate(const absl::Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  std::string text(prefix);
  text.append(": ").append(MessageOf(status));
  return absl::Status(status.code(), text);
}

}  // namespace yardmaster

#define YM_CONCAT_INNER_(a, b) a##b
#define YM_CONCAT_(a, b) YM_CONCAT_INNER_(a, b)

#define YM_RETURN_IF_ERROR(expr)                                            \
  do {                                                                      \
    if (absl::Status ym_status = (expr); !ym_status.ok()) return ym_status; \
  } while (false)

#define YM_ASSIGN_OR_RETURN_IMPL_(var, lhs, expr) \
  auto var = (expr);                              \
  if (!var.ok()) return std::move(var).status();  \
  lhs = std::move(var).value()

// YM_ASSIGN_OR_RETURN(auto x, F()): x = F()'s value, or return its status from this function.
#define YM_ASSIGN_OR_RETURN(lhs, expr) \
  YM_ASSIGN_OR_RETURN_IMPL_(YM_CONCAT_(ym_statusor_, __LINE__), lhs, expr)
