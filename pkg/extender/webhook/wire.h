// Reads and writes the messages of kube-scheduler's extender protocol v1: ExtenderArgs, and the
// results of filter, prioritize, preempt and bind.
//
//   - Keys are Go field names. Old schedulers send them in lower case, so reading ignores case.
//   - Node lists are read as NodeNames (nodeCacheCapable) or as Nodes, and answered in the same
//     form.
//   - A list that is null counts as empty. A body with neither list is rejected.
//   - Results have arrays, never null, for node lists that were requested: the scheduler takes null
//     for "no node".
//
// Bodies are read with simdjson, because a request may have 16,000 node names. Results are appended
// to a string.
//
// Thread safety: an ArgsReader belongs to one thread; the encoders are pure functions. Lifetimes:
// what a reader returns points into the reader and is valid until its next call.
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
  std::vector<JsonView> nodes;      // the v1.Nodes, if so
};

// A candidate of a preemption: the node and the pods that would be evicted.
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
  // Errors: InvalidArgument, with the key that is missing or has the wrong type.
  absl::StatusOr<ExtenderArgs> Read(std::string_view body);
  absl::StatusOr<PreemptArgs> ReadPreempt(std::string_view body);
  absl::StatusOr<BindArgs> ReadBind(std::string_view body);

 private:
  absl::StatusOr<JsonView> Parse(std::string_view body);

  JsonParser parser_;
};

// Encodes the answer to `args`. `verdicts`: by position in node_names. A scheduler that sent Nodes
// gets the accepted Nodes.
std::string EncodeFilterAnswer(const ExtenderArgs& args, const std::vector<NodeVerdict>& verdicts);
// `error`: empty if the pod is bound.
std::string EncodeBindResult(std::string_view error);
// Encodes a result that fails the scheduling attempt of the pod with this message.
std::string EncodeFilterError(std::string_view message);
std::string EncodeHostPriorities(const std::vector<std::string_view>& names,
                                 const std::vector<int>& scores);
std::string EncodePreemptResult(const std::vector<PreemptCandidate>& kept);

}  // namespace yardmaster::extender
