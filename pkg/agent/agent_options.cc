#include "pkg/agent/agent_options.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

absl::Status CheckOptions(const AgentOptions& options) {
  if (options.nodes.empty() == options.nodes_matching.empty()) {
    return FieldError(
        "--node", "does not say which nodes the agent serves",
        "give --node (or NODE_NAME in the environment), or --nodes-matching, not both");
  }
  if (options.plan_dir.empty() || options.plan_dir.front() != '/') {
    return FieldError("--plan-dir", StrCat("\"", options.plan_dir, "\" is not an absolute path"),
                      "give a folder such as /run/yardmaster/plans");
  }
  if (options.link_poll_ms < 50) {
    return FieldError("--link-poll-ms", StrCat(options.link_poll_ms, " is too often"),
                      "give at least 50");
  }
  if (!(options.loss.share >= 0 && options.loss.share <= 1)) {
    return FieldError("--lossy-port-share", StrCat(options.loss.share, " is not a share"),
                      "give a number from 0 to 1; 0 finds no port");
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::agent
