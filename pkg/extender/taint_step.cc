#include "pkg/extender/taint_step.h"

#include "nlohmann/json.hpp"

#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/extender/host_taints.h"

namespace yardmaster::extender {

void TaintStep::Run(PassState& pass) {
  TaintChanges taints = HostTaintChanges(*pass.snapshot, pass.world, options_.enabled);
  pass.report.tainted_hosts = taints.promised;
  if (taints.changes.size() > options_.changes_per_pass) {
    taints.changes.resize(options_.changes_per_pass);
    pass.report.more_to_do = true;
  }
  Mutex mutex;
  ParallelFor(taints.changes.size(), options_.threads, [&](std::size_t i) {
    if (!ledger_.may_write()) return;
    const TaintChange& change = taints.changes[i];
    auto node = client_.Patch({kube::Nodes(), "", change.node, ""}, kube::JsonPatch(change.patch),
                              {kFieldManager, false, false});
    if (node.ok()) cache_.Assume(state::Kind::kNode, *node);
    MutexLock lock(mutex);
    if (node.ok()) {
      ++pass.report.taint_changes;
    } else if (absl::IsFailedPrecondition(node.status()) || absl::IsAborted(node.status())) {
      pass.report.more_to_do = true;  // the Node is newer than what we have seen of it
    } else if (!absl::IsNotFound(node.status())) {
      pass.report.errors.push_back(MessageOf(node.status()));
    }
  });
}

}  // namespace yardmaster::extender
