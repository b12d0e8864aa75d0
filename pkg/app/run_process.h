// Implements what extender and operator have in common: connect to the cluster, start, wait for a
// signal, and stop in order.
//
// Thread safety: called once, from main.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "pkg/app/kube_access.h"
#include "pkg/app/runtime.h"
#include "pkg/app/staleness.h"
#include "pkg/base/status.h"
#include "pkg/metrics/log.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::app {

// Runs `Process` until SIGTERM or SIGINT, which may also come during the start. `Process` is
// constructed from (options, runtime, clients) and has Start(access) and Stop(). Errors: what could
// not be started.
template <typename Process, typename Options>
absl::Status RunProcess(const char* name, const Options& options) {
  Runtime runtime(options.common, name);
  YM_ASSIGN_OR_RETURN(auto access, KubeAccess::Open(options.common, name, runtime));
  YM_ASSIGN_OR_RETURN(Clients clients, NewClients(*access, options.common));
  Process process(options, runtime, std::move(clients));
  const absl::Status started = process.Start(*access);
  if (started.ok()) runtime.WaitForSignal();
  access->End();
  process.Stop();
  runtime.Stop();
  const bool asked = runtime.stopping().stop_requested();
  return asked && absl::IsCancelled(started) ? absl::OkStatus() : started;
}

// Adds a readiness check that fails if the cluster has not answered for too long, and a metric of
// the age of the process's knowledge. Only with leader election do calls return every few seconds.
// `access` and `feed` outlive the runtime's servers.
inline void AddStalenessCheck(Runtime& runtime, const KubeAccess& access,
                              const state::ClusterFeed& feed, bool leader_election) {
  const auto contact = [&runtime, &access, &feed, leader_election] {
    return LastContact{leader_election ? access.LastAnswerMs() : runtime.clock().SteadyMs(),
                       feed.LastContactMs()};
  };
  runtime.health().AddReadiness("contact", [&runtime, contact] {
    return CheckStaleness(contact(), StalenessLimits{}, runtime.clock().SteadyMs());
  });
  runtime.registry().AddGaugeSource(
      "yardmaster_api_silence_seconds",
      "time since the API server's last answer, and since the last word of the quietest watch; "
      "before the first since the start of the process",
      [&runtime, contact, began_ms = runtime.clock().SteadyMs()] {
        const LastContact last = contact();
        const auto age = [&](std::int64_t last_ms) {
          return SilenceSeconds(last_ms, began_ms, runtime.clock().SteadyMs());
        };
        return std::vector<metrics::Sample>{{{{"of", "answer"}}, age(last.answer_ms)},
                                            {{{"of", "watch"}}, age(last.watch_ms)}};
      });
}

// Logs every failed list or watch.
inline state::ClusterFeed::Handlers LogFailures(Runtime& runtime) {
  return {.failed = [&runtime](state::Kind kind, const absl::Status& status) {
    runtime.log().Warn("watch", {{"resource", state::ResourceOf(kind).GroupResource()},
                                 {"error", MessageOf(status)}});
  }};
}

}  // namespace yardmaster::app
