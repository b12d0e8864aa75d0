#include "pkg/api/slot.h"

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"

namespace yardmaster::api {

std::string EncodeSlot(const Slot& slot) {
  nlohmann::ordered_json out = {{"version", 1},
                                {"gang", slot.gang},
                                {"rank", slot.rank},
                                {"fabricPod", slot.fabric_pod},
                                {"segment", slot.segment},
                                {"stages", slot.stages}};
  return out.dump();
}

absl::StatusOr<Slot> DecodeSlot(std::string_view text) {
  FieldErrors errors;
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, ParseAnnotation(text, 1));
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  Slot slot;
  slot.gang = in.RequiredString("gang");
  slot.rank = in.Int("rank", 0, 0, 1'000'000);
  slot.fabric_pod = in.String("fabricPod");
  slot.segment = in.String("segment");
  slot.stages = in.Ints("stages", 0, 1'000'000);
  if (!errors.empty()) return errors.status();
  return slot;
}

}  // namespace yardmaster::api
