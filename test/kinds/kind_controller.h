// The real controller of a job kind beside a control plane, for the length of a test: Kueue, JobSet
// and the others that `test/controlplane/build controllers` makes, with their own CRDs, webhooks
// and roles.
//
//   auto kueue = KindController::Start(cluster.plane(), "kueue", R"({"waitForPodsReady": {...}})");
//
// Programs and charts come from the folder that YARDMASTER_CONTROLLERS names; by hand that is
// export YARDMASTER_CONTROLLERS=$(test/controlplane/build controllers all). The destructor ends the
// process; its objects stay in the control plane, whose webhooks then answer nobody. The log is
// beside the control plane's own. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "test/integration/control_plane.h"
#include "test/integration/process.h"

namespace yardmaster::testing {

class KindController {
 public:
  // Returns when the controller says that it is ready and its webhooks answer. `config` is JSON
  // that is merged into the controller's own configuration. One of each name to a control plane.
  // Errors: the reason, with the end of its log.
  static absl::StatusOr<std::unique_ptr<KindController>> Start(const ControlPlane& plane,
                                                               const std::string& name,
                                                               const std::string& config = "{}");
  // Ends it with kill -9 and starts it again.
  absl::Status Restart();

 private:
  KindController(std::string name, std::string log)
      : name_(std::move(name)), log_(std::move(log)) {}
  absl::Status Run();
  bool IsReady() const;

  std::string name_;
  std::string log_;
  Command command_;
  std::string health_;    // addresses
  std::string webhooks_;  // none when empty
  std::unique_ptr<Process> process_;
};

}  // namespace yardmaster::testing
