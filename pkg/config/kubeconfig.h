// From kubeconfig files, or the files Kubernetes gives a pod, to kube::ClientConfig.
//
// The configuration is read from the first of these places that is set. If the flag or $KUBECONFIG
// is set and its files do not exist, the error is NotFound, and the later places are not tried.
//   our processes:  the file named by flag, $KUBECONFIG, in-cluster, ~/.kube/config
//   kubectl:        the file named by flag, $KUBECONFIG, ~/.kube/config, in-cluster
// $KUBECONFIG may be a list of files ("a:b"); files of it that do not exist are left out. Of
// several clusters, users or contexts of the same name, and of several current-contexts, the first
// wins. Relative paths count from the file they stand in.
//
// All keys of a kubeconfig that say how to connect are understood, exec plugins (v1, v1beta1)
// included; `auth-provider`, which Kubernetes has removed, is an error that says so;
// `disable-compression` changes nothing, since no answer is asked for compressed; keys not known
// are passed over, as kubectl does. Errors name the file, the entry and the field:
// `/home/me/.kube/config: users[me].user.exec.command: is missing; ...`.
//
// Thread safety: any thread. The functions read files of at most 4 MiB each, and
// SurroundingsOfThisProcess reads the environment.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "pkg/kube/client_config.h"

namespace yardmaster::config {

struct ClientConfigRequest {
  // As the flags --kubeconfig, --context, --cluster, --user, --namespace; empty: not given.
  std::string kubeconfig = {};
  std::string context = {};
  std::string cluster = {};
  std::string user = {};
  std::string ns = {};
  // Prefer the home file to in-cluster.
  bool kubectl_order = false;
};

// What is taken from outside of files.
struct Surroundings {
  std::string kubeconfig_variable = {};  // $KUBECONFIG
  std::string home = {};
  std::string service_host = {};  // $KUBERNETES_SERVICE_HOST
  std::string service_port = {};  // $KUBERNETES_SERVICE_PORT
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Surroundings SurroundingsOfThisProcess();

// Errors: NotFound if no configuration exists, or a named file does not exist; PermissionDenied or
// Unavailable if a file cannot be opened or read; InvalidArgument for what is wrong in one. The
// result passes kube::ValidateClientConfig.
absl::StatusOr<kube::ClientConfig> LoadClientConfig(
    const ClientConfigRequest& request,
    const Surroundings& surroundings = SurroundingsOfThisProcess());

// The configuration of a pod: its ServiceAccount's token and authority, read again as they rotate.
// Errors: NotFound outside of a cluster or without the token's file; else as LoadClientConfig.
absl::StatusOr<kube::ClientConfig> InClusterConfig(const Surroundings& surroundings);

}  // namespace yardmaster::config
