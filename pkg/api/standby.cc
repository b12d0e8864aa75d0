#include "pkg/api/standby.h"

#include <string_view>

namespace yardmaster::api {

namespace {

constexpr std::string_view kStateNames[] = {"NoHost", "Pulling", "Ready", "Refused"};

}  // namespace

void Standby::Describe(FieldVisitor& fields) {
  fields.Word("state", state, kStateNames, StandbyState::kPulling,
              Required("NoHost: no host is free that a replacement would use; Pulling: images are "
                       "being pulled there; Ready: the host has them; Refused: the pod that pulls "
                       "them is not accepted, or does not get them, and is tried again."));
  fields.Text("host", host, kObjectName, "Name of the Node.");
  fields.Text("pod", pod, kObjectName, "The pod that has the images pulled there.");
  fields.Text("message", message, kMessage, "For people.");
}

}  // namespace yardmaster::api
