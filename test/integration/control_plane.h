// A real Kubernetes control plane for the length of a test: etcd, kube-apiserver and
// kube-controller-manager, and on request kube-scheduler and kwok, on free loopback ports.
//
//   auto plane = ControlPlane::Start({.kwok = true}); ASSERT_TRUE(plane.ok());
//
// It takes about four seconds to start and two to stop; a suite of tests shares one when its tests
// use namespaces of their own. The destructor stops everything and waits. When the test process
// dies in any other way the control plane stops by itself. Logs stay in folder()/logs until the
// same test runs again. The programs come from the folder that YARDMASTER_CONTROLPLANE_BIN names.
// Thread safety: Start may run in several threads at once; an object is used by one at a time, its
// accessors and Kubectl by any number.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "pkg/base/status.h"
#include "test/integration/process.h"

namespace yardmaster::testing {

class ControlPlane {
 public:
  struct Options {
    bool scheduler = false;
    bool kwok = false;
    // A KubeSchedulerConfiguration, as YAML text; what reaches the API server is filled in.
    std::string scheduler_config = {};
    // MutatingAdmissionPolicy also where it is off by default, which is before Kubernetes 1.36.
    bool mutating_policies = false;
    // More flags, "name=value".
    std::vector<std::string> apiserver_args = {};
    std::vector<std::string> controller_manager_args = {};
  };

  // Returns when everything answers; else an error with the end of the failing component's log.
  static absl::StatusOr<std::unique_ptr<ControlPlane>> Start(const Options& options);
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // Stops everything and waits for it. Returns the starter's exit code; later calls do too.
  int Stop();

  const std::string& folder() const { return description_.folder; }
  // The administrator's. Only tests use it; our own programs run with ServiceAccount tokens.
  const std::string& kubeconfig() const { return description_.kubeconfig; }
  const std::string& api_server() const { return description_.api_server; }  // https://host:port
  const std::string& etcd() const { return description_.etcd; }              // http://host:port
  const std::string& scheduler() const { return description_.scheduler; }    // https://, or empty
  const std::string& ca_file() const { return description_.ca_file; }
  const std::string& ca_key_file() const { return description_.ca_key_file; }
  const std::string& admin_cert_file() const { return description_.admin_cert_file; }
  const std::string& admin_key_file() const { return description_.admin_key_file; }
  const std::string& bin() const { return description_.bin; }
  int kubernetes_minor() const { return kubernetes_minor_; }  // 36 of 1.36.3

  pid_t starter_pid() const { return starter_->pid(); }
  const std::map<std::string, pid_t>& component_pids() const { return description_.pids; }

  // The text of a kubeconfig for a process with the token of a ServiceAccount, which is in that
  // file.
  std::string KubeconfigWithToken(const std::string& token_file) const;
  // Runs kubectl as the administrator and returns its standard output.
  absl::StatusOr<std::string> Kubectl(const std::vector<std::string>& arguments,
                                      const std::string& input = "") const;
  // kubectl apply of manifests in YAML or JSON.
  absl::Status Apply(const std::string& manifests) const;
  // Makes etcd forget every state before the present one. A watch or a list that goes on from an
  // older resourceVersion then gets 410 Expired, provided that the API server was started with
  // "watch-cache=false" and so does not remember by itself.
  absl::Status ForgetHistory() const;

 private:
  struct Description {
    std::string folder, kubeconfig, api_server, etcd, scheduler, bin;
    std::string ca_file, ca_key_file, admin_cert_file, admin_key_file;
    std::map<std::string, pid_t> pids;
  };

  ControlPlane(std::unique_ptr<Process> starter, Description description, int minor)
      : starter_(std::move(starter)),
        description_(std::move(description)),
        kubernetes_minor_(minor) {}
  static absl::StatusOr<Description> Parse(const std::string& line);

  std::unique_ptr<Process> starter_;
  Description description_;
  int kubernetes_minor_;
};

}  // namespace yardmaster::testing
