// A field of an object that is a time, such as "2026-01-31T08:00:00Z". Thread safety: pure
// functions.
#pragma once

#include <cstdint>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::api {

// Leaves the field out for 0, a time that is not known.
void EncodeTime(const char* key, std::int64_t time_ms, nlohmann::json& out);

}  // namespace yardmaster::api
