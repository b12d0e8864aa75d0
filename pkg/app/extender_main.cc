// The flags of yardmaster-extender.
#include <CLI/CLI.hpp>

#include "pkg/app/extender_app.h"
#include "pkg/app/runtime.h"
#include "pkg/base/strings.h"

namespace yardmaster::app {

namespace {

void AddWebhookFlags(CLI::App& app, WebhookServerOptions& options) {
  app.add_option("--bind-address", options.bind_address, "host:port of the webhook (TLS)")
      ->capture_default_str();
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

void AddTimeLimitFlags(CLI::App& app, ExtenderOptions& options) {
  app.add_option("--gate-timeout", options.gate_timeout_seconds,
                 "seconds that a gang may wait for a place; 0: for ever")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  app.add_option("--gate-timeout-action", options.gate_timeout_action,
                 "what becomes of its pods then: Release to the scheduler, or Fail")
      ->check(CLI::IsMember({"Release", "Fail"}))
      ->capture_default_str();
  app.add_option("--network-plan-wait", options.network_plan_wait_seconds,
                 "seconds that the pods of a placed gang wait behind the gate for their network "
                 "plan at most; 0: they do not wait")
      ->check(CLI::Range(0, 3'600))
      ->capture_default_str();
  app.add_option("--ready-timeout", options.ready_timeout_seconds,
                 "seconds in which a placed gang has to run in full; 0: for ever")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  app.add_option(
         "--max-eviction-grace", options.max_eviction_grace_seconds,
         "seconds that a pod has to end after its gang is stopped, at most, whatever its own "
         "grace period is")
      ->check(CLI::Range(1, 31'536'000))
      ->capture_default_str();
  app.add_option("--unbound-timeout", options.unbound_timeout_seconds,
                 "seconds after which a placed gang of which no pod could be bound gives its hosts "
                 "back; 0: it keeps them for ever")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  app.add_option(
         "--taint-after", options.taint_after_seconds,
         "seconds after which a promised host is tainted while its pods are not bound; 0: at "
         "once, until the gang is gone")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
}

}  // namespace

int ExtenderMain(int argc, char** argv) {
  ExtenderOptions options;
  options.leader.resource_name = "yardmaster-extender";
  CLI::App app("Places gangs and answers kube-scheduler.", "yardmaster-extender");
  AddCommonFlags(app, options.common);
  AddLeaderFlags(app, options.leader);
  app.set_version_flag("--version", YARDMASTER_VERSION);
  AddWebhookFlags(app, options.webhook);
  app.add_flag("--preemption,!--no-preemption", options.preemption,
               "stop gangs of lower priority for those that wait")
      ->capture_default_str();
  app.add_flag("--taint-promised-hosts,!--no-taint-promised-hosts", options.taint_promised_hosts,
               "keep the taint yardmaster.dev/promised on hosts promised to gangs")
      ->capture_default_str();
  app.add_flag("--avoid-contention,!--no-avoid-contention", options.avoid_contention,
               "among places that are equal otherwise, take the one at which jobs are predicted to "
               "wait least for each other's traffic")
      ->capture_default_str();
  AddTimeLimitFlags(app, options);
  FinishFlags(app);
  CLI11_PARSE(app, argc, argv);
  return ExitCodeOf("yardmaster-extender", RunExtender(options));
}

}  // namespace yardmaster::app
