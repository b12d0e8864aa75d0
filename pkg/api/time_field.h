// A field of an object that is a time, such as "2026-01-31T08:00:00Z". Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::api {

// Both take 0 for a time that is not known. EncodeTime leaves the field out then; EncodeTimeOrNull writes null, which
// takes the field away in a merge patch.
void EncodeTime(const char* key, std::int64_t time_ms, nlohmann::json& out);
void EncodeTimeOrNull(const char* key, std::int64_t time_ms, nlohmann::json& out);

}  // namespace yardmaster::api
