// The shape of every loop of a process: RunOnce does what is due, and returns what it did, when it
// has to run again, and what failed.
//
// One object that cannot be handled stops neither the loop nor the other objects. Handling of one
// object is a call of Contain: an exception there is a defect of this program or a lack of memory,
// and becomes a failure of that object. Who owns the loop reports failures and tries the object
// again with back-off (metrics/loop.h).
//
// Thread safety: values and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

#include "pkg/base/strings.h"

namespace yardmaster {

struct RunFailure {
  std::string object = {};  // "namespace/name", or a name; empty: the run as a whole
  absl::Status error = {};
};

struct RunResult {
  std::int64_t done = 0;  // objects handled, or writes made
  std::optional<std::int64_t> again_ms =
      {};                                 // run again after this time although nothing has changed
  std::vector<RunFailure> failures = {};  // what could not be done; everything else was

  bool ok() const { return failures.empty(); }
  // The earliest of several times counts.
  void Again(std::int64_t in_ms) { again_ms = std::min(again_ms.value_or(in_ms), in_ms); }
  // An error that is OK is none.
  void Fail(std::string object, absl::Status error) {
    if (!error.ok()) failures.push_back({std::move(object), std::move(error)});
  }
};

inline constexpr char kDefect[] = "yardmaster.dev/defect";
// Whether Contain made it of an exception.
inline bool IsDefect(const absl::Status& status) { return status.GetPayload(kDefect).has_value(); }
inline absl::Status DefectError(const char* what) {
  absl::Status status = absl::InternalError(StrCat("this program failed: ", what));
  status.SetPayload(kDefect, absl::Cord());
  return status;
}

// Calls `work`, which returns nothing or a status. What it throws becomes an error that IsDefect.
template <typename Work>
absl::Status Contain(Work&& work) {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return absl::OkStatus();
    } else {
      return work();
    }
  } catch (const std::exception& error) {
    return DefectError(error.what());
  } catch (...) {
    return DefectError("an unknown exception");
  }
}

}  // namespace yardmaster
