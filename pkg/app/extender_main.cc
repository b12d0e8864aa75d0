// The flags of yardmaster-extender.
#include <CLI/CLI.hpp>

#include "pkg/app/extender_app.h"
#include "pkg/app/runtime.h"
#include "pkg/app/tracing.h"
#include "pkg/base/strings.h"
#include "pkg/base/version.h"

namespace yardmaster::app {

namespace {

void AddWebhookFlags(CLI::App& app, WebhookServerOptions& options) {
  app.add_option("--bind-address", options.bind_address, "host:port of the webhook (TLS)");
  app.add_option("--tls-cert-file", options.tls_cert_file, "certificate of the webhook, PEM")
      ->required();
  app.add_option("--tls-key-file", options.tls_key_file, "its key, PEM")->required();
  app.add_option("--client-ca-file", options.client_ca_file,
                 "authority of client certificates; empty: none are asked for");
  app.add_option_function<std::string>(
         "--client-names",
         [&options](const std::string& names) { options.client_names = Split(names, ','); },
         "common or DNS names of client certificates that may call, separated by commas; "
         "*: every one that the authority vouches for")
      ->default_str(Join(options.client_names, ","));
  app.add_option("--gate-bind-address", options.gate_bind_address,
                 "host:port of the admission webhook that puts pods behind the gate (TLS); empty: "
                 "none, the API server does it by a policy");
}

// A flag in seconds whose limit the step that keeps it has in milliseconds.
void AddSeconds(CLI::App& app, const std::string& name, std::int64_t& limit_ms, int min, int max,
                const std::string& help) {
  app.add_option_function<std::int64_t>(
         name, [&limit_ms](std::int64_t seconds) { limit_ms = seconds * 1000; }, help)
      ->check(CLI::Range(min, max))
      ->default_str(StrCat(limit_ms / 1000));
}

void AddTimeLimitFlags(CLI::App& app, extender::ClusterPlanner::Options& options) {
  constexpr int kYear = 31'536'000;
  AddSeconds(app, "--gate-timeout", options.gates.gate_timeout_ms, 0, kYear,
             "seconds that a gang may wait for a place; 0: for ever");
  app.add_option_function<std::string>(
         "--gate-timeout-action",
         [&options](const std::string& action) {
           options.gates.gate_action = action == "Fail" ? extender::GateTimeoutAction::kFail
                                                        : extender::GateTimeoutAction::kRelease;
         },
         "what becomes of its pods then: Release to the scheduler, or Fail")
      ->check(CLI::IsMember({"Release", "Fail"}))
      ->default_str("Release");
  AddSeconds(app, "--network-plan-wait", options.release.network_wait_ms, 0, 3'600,
             "seconds that the pods of a placed gang wait behind the gate for their network plan "
             "at most; 0: they do not wait");
  AddSeconds(app, "--ready-timeout", options.gates.ready_timeout_ms, 0, kYear,
             "seconds in which a placed gang has to run in full; 0: for ever");
  AddSeconds(app, "--max-eviction-grace", options.gates.max_grace_ms, 1, kYear,
             "seconds that a pod has to end after its gang is stopped, at most, whatever its own "
             "grace period is");
  AddSeconds(app, "--unbound-timeout", options.gates.unbound_timeout_ms, 0, kYear,
             "seconds after which a placed gang of which no pod could be bound gives its hosts "
             "back; 0: it keeps them for ever");
  options.await_limit_ms = 30'000;
  AddSeconds(app, "--wait-for-leaving", options.await_limit_ms, 0, 3'600,
             "seconds that a gang may wait for hosts which come free soon, where they make its "
             "place, or a better one; 0: it takes what is there");
  options.taints.unbound_after_ms = 30'000;
  AddSeconds(app, "--taint-after", options.taints.unbound_after_ms, 0, 86'400,
             "seconds after which a promised host is tainted while its pods are not bound; 0: at "
             "once, until the gang is gone");
}

}  // namespace

int ExtenderMain(int argc, char** argv) {
  ExtenderOptions options;
  options.leader.resource_name = "yardmaster-extender";
  CLI::App app("Places gangs and answers kube-scheduler.", "yardmaster-extender");
  AddCommonFlags(app, options.common);
  AddLeaderFlags(app, options.leader);
  AddModeFlag(app, options.common);
  AddTraceFlags(app, options.traces);
  app.set_version_flag("--version", VersionText());
  AddWebhookFlags(app, options.webhook);
  extender::ClusterPlanner::Options& planner = options.planner;
  app.add_flag("--preemption,!--no-preemption", planner.preemption.enabled,
               "stop gangs of lower priority for those that wait");
  app.add_flag("--taint-promised-hosts,!--no-taint-promised-hosts", planner.taints.enabled,
               "keep the taint yardmaster.dev/promised on hosts promised to gangs");
  bool avoid_contention = false;
  app.add_flag("--avoid-contention,!--no-avoid-contention", avoid_contention,
               "among places that are equal otherwise, take the one at which jobs are predicted to "
               "wait least for each other's traffic");
  bool gated_only = false;
  app.add_flag("--gated-pods-only,!--no-gated-pods-only", gated_only,
               "leave pods that say their parallelism and came without the gate to kube-scheduler; "
               "for a gate that only some namespaces have");
  AddTimeLimitFlags(app, planner);
  FinishFlags(app);
  CLI11_PARSE(app, argc, argv);
  planner.preemption.max_grace_ms = planner.gates.max_grace_ms;
  if (gated_only) planner.ungated = gather::Ungated::kLeave;
  // A process that only observes puts no pod behind the gate either.
  if (options.common.observes) options.webhook.gate_bind_address.clear();
  if (avoid_contention) planner.plan.policies = {plan::AvoidContention()};
  return ExitCodeOf("yardmaster-extender", RunExtender(options));
}

}  // namespace yardmaster::app
