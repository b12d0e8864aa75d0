// kube-scheduler's extender protocol v1: ExtenderArgs in, filter / prioritize / preempt results
// out.
//
// Keys are Go field names; old schedulers send them in lower case, so reading ignores case. Both
// forms of a node list are read, NodeNames (nodeCacheCapable) and full Nodes, and answered in kind.
// A list that is null is an empty one; a body with neither is refused. Node lists are always
// written as arrays, because the scheduler takes null for "no node".
//
// simdjson reads (a request may hold 16,000 node names), plain appending writes. What a reader has
// returned points into it and is valid until its next call. Thread safety: an ArgsReader belongs to
// one thread; the encoders are pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/extender/webhook/decisions.h"
#include "pkg/json/json_view.h"

namespace yardmaster::extender {

struct ExtenderArgs {
  JsonView pod;  // a v1.Pod
  std::vector<std::string_view> node_names;
  bool nodes_were_objects = false;  // the scheduler is not nodeCacheCapable
  std::vector<JsonView> nodes;      // then: the v1.Nodes
};

// One candidate of a preemption: the node and the pods that would go.
struct PreemptCandidate {
  std::string node;
  std::vector<std::string> victim_uids;
  long pdb_violations = 0;
};

struct PreemptArgs {
  JsonView pod;
  std::vector<PreemptCandidate> candidates;
};

// ExtenderBindingArgs.
struct BindArgs {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string node;
};

class ArgsReader {
 public:
  // Errors: InvalidArgument that names the key which is missing or of the wrong type.
  absl::StatusOr<ExtenderArgs> Read(std::string_view body);
  absl::StatusOr<PreemptArgs> ReadPreempt(std::string_view body);
  absl::StatusOr<BindArgs> ReadBind(std::string_view body);

 private:
  absl::StatusOr<JsonView> Parse(std::string_view body);

  JsonParser parser_;
};

// The answer to `args`; `verdicts` by position in its node_names. A scheduler that sent Nodes gets
// those that fit back.
std::string EncodeFilterAnswer(const ExtenderArgs& args, const std::vector<NodeVerdict>& verdicts);
// Empty: the pod is bound.
std::string EncodeBindResult(std::string_view error);
// A result that fails the pod's scheduling attempt with a message.
std::string EncodeFilterError(std::string_view message);
std::string EncodeHostPriorities(const std::vector<std::string_view>& names,
                                 const std::vector<int>& scores);
std::string EncodePreemptResult(const std::vector<PreemptCandidate>& kept);

}  // namespace yardmaster::extender
