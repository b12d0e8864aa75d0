#include "pkg/api/time_field.h"

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"

namespace yardmaster::api {

void EncodeTime(const char* key, std::int64_t time_ms, nlohmann::json& out) {
  if (time_ms != 0) out[key] = FormatTime(time_ms);
}

}  // namespace yardmaster::api
