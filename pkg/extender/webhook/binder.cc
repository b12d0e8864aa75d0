#include "pkg/extender/webhook/binder.h"

#include "nlohmann/json.hpp"

#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/extender/webhook/decisions.h"

namespace yardmaster::extender {

namespace {

// A pod that the view does not know was not there at the last pass, so no gang counts it.
absl::Status CheckSlot(const View& view, const BindArgs& args) {
  const api::Pod* pod = view.FindPod(args.uid);
  if (pod == nullptr || !api::WantsGang(*pod)) return absl::OkStatus();
  const NodeVerdict verdict = CheckNode(view, QueryOfGangPod(view, *pod), args.node);
  if (verdict == NodeVerdict::kFits) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat("pod ", args.namespace_name, "/", args.name,
                                              " does not go to node ", args.node, ": ",
                                              Phrase(verdict)));
}

}  // namespace

absl::Status Binder::Bind(const View* view, const BindArgs& args) {
  if (view == nullptr) {
    return absl::UnavailableError("yardmaster-extender has not read the cluster yet");
  }
  if (absl::Status slot = CheckSlot(*view, args); !slot.ok()) return slot;
  const nlohmann::json binding = {
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", {{"name", args.name}, {"namespace", args.namespace_name}, {"uid", args.uid}}},
      {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", args.node}}}};
  return client_.Create({kube::Pods(), args.namespace_name, args.name, "binding"}, binding, {})
      .status();
}

}  // namespace yardmaster::extender
