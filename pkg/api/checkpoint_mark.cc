#include "pkg/api/checkpoint_mark.h"

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

std::string EncodeCheckpointMark(const CheckpointMark& mark) {
  nlohmann::ordered_json out = {{"version", 1}, {"time", FormatTime(mark.time_ms)}};
  if (mark.seconds > 0) out["seconds"] = mark.seconds;
  if (mark.last) out["last"] = true;
  return out.dump();
}

absl::StatusOr<CheckpointMark> DecodeCheckpointMark(std::string_view text) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  CheckpointMark mark;
  mark.time_ms = in.TimeMs("time");
  if (mark.time_ms == 0) errors.Add("time", "is missing", "say when the checkpoint was begun");
  mark.seconds = in.Number("seconds", 0, 0, 86'400);
  mark.last = in.Bool("last", false);
  if (!errors.empty()) return errors.status();
  return mark;
}

}  // namespace yardmaster::api
