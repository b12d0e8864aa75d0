// What extender and operator have in common around their own object graphs: reach the cluster,
// start, wait for a signal, stop in order. Thread safety: called once, from main.
#pragma once

#include <utility>

#include "absl/status/status.h"

#include "pkg/app/kube_access.h"
#include "pkg/app/runtime.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/metrics/log.h"
#include "pkg/state/world_feed.h"

namespace yardmaster::app {

// `Process` is made from (options, runtime, clients) and has Start(access) and Stop(). Runs until
// SIGTERM or SIGINT. Errors: what could not be started.
template <typename Process, typename Options>
absl::Status RunProcess(const char* name, const Options& options) {
  Runtime runtime(options.common, name);
  YM_ASSIGN_OR_RETURN(auto access, KubeAccess::Open(options.common, name, runtime));
  YM_ASSIGN_OR_RETURN(Clients clients, NewClients(*access, options.common));
  Process process(options, runtime, std::move(clients));
  const absl::Status started = process.Start(*access);
  if (started.ok()) runtime.WaitForSignal();
  process.Stop();
  runtime.Stop();
  return started;
}

// Every failed list or watch becomes one line of the log.
inline void LogFailures(Runtime& runtime, state::ClusterFeed::Handlers& handlers) {
  handlers.failed = [&runtime](state::Kind kind, const absl::Status& status) {
    runtime.log().Warn("watch", {{"resource", state::ResourceOf(kind).GroupResource()},
                                 {"error", MessageOf(status)}});
  };
}

}  // namespace yardmaster::app
