// The flags of yardmaster-operator.
#include <CLI/CLI.hpp>
#include <fstream>
#include <malloc.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/app/operator_app.h"
#include "pkg/app/runtime.h"
#include "pkg/app/tracing.h"
#include "pkg/base/strings.h"
#include "pkg/base/version.h"

namespace yardmaster::app {

namespace {

void AddNetworkFlags(CLI::App& app, op::NetworkController::Options& options) {
  app.add_option("--network-writes-per-second", options.writes.writes_per_second,
                 "pods whose network annotations are written per second")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--network-write-burst", options.writes.burst, "Maximum write burst")
      ->check(CLI::Range(1.0, 1e6));
  app.add_option("--reconverge-ms", options.reconverge_ms,
                 "how long switches need to stop using a lost link")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--link-hold-ms", options.damping.hold_ms,
                 "how long a link that came back is not used; doubles with every loss")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--link-max-hold-ms", options.damping.max_hold_ms, "Upper bound of the hold time")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--crux-budget,--judge-events", options.crux_budget,
                 "simulated events that a round may spend on the search for a better network plan; "
                 "0: no search")
      ->check(CLI::NonNegativeNumber);
}

void AddHostLossFlags(CLI::App& app, op::HostLossLimits& limits) {
  const CLI::Range share(0.0, 1.0);
  const CLI::Range hosts(0, 1'000'000);
  app.add_option("--disruption-share", limits.disruption_share,
                 "No host is treated as lost while a larger share of all Nodes is not Ready")
      ->check(share);
  app.add_option("--disruption-hosts", limits.disruption_hosts,
                 "and at least this many Nodes are not Ready")
      ->check(hosts);
  app.add_option("--replace-segment-share", limits.segment_share,
                 "Largest share of a segment's hosts that is replaced at a time")
      ->check(share);
  app.add_option("--replace-segment-hosts", limits.segment_hosts,
                 "Hosts of a segment that may be replaced at a time where the share is less")
      ->check(hosts);
  app.add_option("--replace-share", limits.fabric_share,
                 "Largest share of all hosts that is replaced at a time")
      ->check(share);
  app.add_option("--replace-hosts", limits.fabric_hosts,
                 "Hosts that may be replaced at a time where the share is less")
      ->check(hosts);
  app.add_option("--replace-share-per-minute", limits.per_minute_share,
                 "Largest share of all hosts that is replaced within a minute")
      ->check(share);
  app.add_option("--replace-hosts-per-minute", limits.per_minute,
                 "Hosts that may be replaced within a minute where the share is less")
      ->check(hosts);
  app.add_option(
         "--segment-loss-share", limits.loss.share,
         "Share of a segment's hosts that, lost or faulty together, is the loss of the segment")
      ->check(CLI::Range(0.5, 1.0));
  app.add_option("--segment-loss-hosts", limits.loss.hosts, "and at least this many hosts")
      ->check(CLI::Range(2, 1'000'000));
  app.add_option("--segment-loss-grace-ms", limits.loss.grace_ms,
                 "A segment is lost when it has looked so for this long")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--bandwidth-loss-share", limits.bandwidth.share,
                 "A host with less than this share of its bandwidth holds a job back")
      ->check(share);
  app.add_option("--bandwidth-loss-grace-ms", limits.bandwidth.grace_ms,
                 "A job may leave a host that has held it back for this long")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--slow-host-share", limits.slow.share,
                 "A host whose worker computes at less than this share of the speed of its like "
                 "holds a job back")
      ->check(CLI::Range(0.1, 0.95));
  app.add_option("--slow-host-warm-up-ms", limits.slow.warm_up_ms,
                 "No job leaves a slow host before its workers have been running for this long")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--slow-host-grace-ms", limits.slow.grace_ms,
                 "A job may leave a host that has been slow for this long")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--lost-segments", limits.loss.segments,
                 "Lost segments that jobs may leave at a time; 0: none")
      ->check(hosts);
  app.add_option("--lost-domains", limits.loss.domains,
                 "Lost domains that jobs may leave at a time where the share is less; 0: none")
      ->check(hosts);
  app.add_option("--lost-domains-share", limits.loss.domain_share,
                 "Largest share of all domains that jobs may leave at a time")
      ->check(share);
}

void AddHostMarkFlags(CLI::App& app, op::HostMarker::Options& options, std::string& faults_file) {
  app.add_option(
      "--node-faults-file", faults_file,
      "Table of what taints and conditions of Nodes mean, in place of the one that ships");
  const std::map<std::string, op::FencePolicy> policies = {
      {"None", op::FencePolicy::kNone},
      {"OutOfService", op::FencePolicy::kOutOfService},
      {"Await", op::FencePolicy::kAwait}};
  app.add_option("--fence", options.fence,
                 "What precedes removing pods of a lost host by force: None; OutOfService sets the "
                 "taint node.kubernetes.io/out-of-service; Await waits until it is set by others")
      ->transform(CLI::CheckedTransformer(policies))
      ->default_str("None");
  app.add_option(
         "--fence-after-ms", options.fence_after_ms,
         "With --fence=OutOfService: a Node is NotReady for at least this long before it gets the "
         "taint, also where a job's recovery.hostGraceSeconds is less")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--quarantine-failures", options.quarantine.failures,
                 "Worker failures after which a host is quarantined; 0: never")
      ->check(CLI::Range(0, 16));
  app.add_option("--quarantine-window-ms", options.quarantine.window_ms,
                 "Age at which a worker failure is forgotten")
      ->check(CLI::PositiveNumber);
  app.add_option("--quarantine-ms", options.quarantine.first_ms,
                 "Length of a host's first quarantine; doubles with every one in a row")
      ->check(CLI::PositiveNumber);
  app.add_option("--quarantine-max-ms", options.quarantine.max_ms, "Longest quarantine")
      ->check(CLI::PositiveNumber);
}

void AddMoveFlags(CLI::App& app, OperatorOptions& options) {
  const std::map<std::string, op::MovesMode> modes = {{"Off", op::MovesMode::kOff},
                                                      {"Propose", op::MovesMode::kPropose},
                                                      {"Auto", op::MovesMode::kAuto}};
  op::MovePolicyOptions& moves = options.moves;
  app.add_option("--moves", moves.mode,
                 "moves of running TrainingJobs to better places: Off; Propose counts them in "
                 "metrics; Auto makes them, too, within the bounds below")
      ->transform(CLI::CheckedTransformer(modes))
      ->default_str("Propose");
  app.add_option_function<double>(
         "--moves-gpu-seconds-per-day",
         [&moves](double seconds) { moves.gpu_seconds_per_day = seconds; },
         "With --moves=Auto: GPU seconds that moves may cost in a day; when left out, 1 % of the "
         "GPU time of all hosts; 0: only moves that cost nothing are made")
      ->check(CLI::Range(0.0, 1e12));
  app.add_option("--moves-min-gain", moves.min_gain,
                 "With --moves=Auto: GPU seconds that a move gains at least for each that it costs")
      ->check(CLI::Range(1.0, 1e9));
  app.add_option_function<std::int64_t>(
         "--moves-after", [&moves](std::int64_t seconds) { moves.least_run_ms = seconds * 1000; },
         "seconds that all workers of a TrainingJob have run before it is moved, by whomever")
      ->check(CLI::Range(0, 1'000'000))
      ->default_str(StrCat(moves.least_run_ms / 1000));
  app.add_option_function<std::int64_t>(
         "--moves-every",
         [&options](std::int64_t seconds) { options.moves_every_ms = seconds * 1000; },
         "seconds between two searches for moves")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str(StrCat(options.moves_every_ms / 1000));
}

void AddReportFlags(CLI::App& app, OperatorOptions& options) {
  app.add_option("--reports-bind-address", options.reports.address,
                 "address of the agents' streams, for example :9443; none when left out");
  app.add_option("--reports-tls-cert-file", options.reports.tls.certificate,
                 "certificate for the agents");
  app.add_option("--reports-tls-key-file", options.reports.tls.key, "its key");
  app.add_option("--reports-client-ca-file", options.reports.tls.authority,
                 "authority of the agents'");
  app.add_option("--reports-service-account", options.reports_account,
                 "namespace:name of the agents' ServiceAccount, whose tokens count");
}

void AddCertificateFlags(CLI::App& app, CertificateOptions& options) {
  app.add_option("--certificate", options.certificates,
                 "Certificate that the leader makes and renews after two thirds of its life, as "
                 "SECRET/server/COMMON-NAME/NAME,ADDRESS, or client in place of server; may be "
                 "repeated; none: no certificates are made");
  app.add_option("--certificate-authority-secret", options.secrets.authority,
                 "Secret with the certificate and key that sign them, made where it is absent");
  app.add_option("--certificate-namespace", options.secrets.namespace_name,
                 "namespace of these Secrets");
  app.add_option("--certificate-webhook", options.secrets.webhook,
                 "MutatingWebhookConfiguration whose caBundle is the ca.crt of the first one");
  app.add_option("--certificate-life-days", options.life_days, "Life of a certificate")
      ->check(CLI::Range(1, 36'500));
  app.add_option("--certificate-authority-life-days", options.authority_life_days,
                 "Life of the authority")
      ->check(CLI::Range(1, 36'500));
  app.add_option("--certificate-check-ms", options.check_ms, "How often they are looked at")
      ->check(CLI::Range(100, 86'400'000));
}

absl::StatusOr<std::vector<op::FaultRule>> ReadFaultRules(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text, '\0');  // of a folder the iterator of the stream's buffer would throw
  if (!in.is_open() || in.bad()) {
    return absl::NotFoundError(StrCat("--node-faults-file: ", file, " cannot be read"));
  }
  return op::ParseFaultRules(text, file);
}

}  // namespace

int OperatorMain(int argc, char** argv) {
  // Informers, workers and the planner would each fill an arena of their own with what lives as
  // long as the cluster's objects: a tenth of the process's memory.
  ::mallopt(M_ARENA_MAX, 2);
  OperatorOptions options;
  options.leader.resource_name = "yardmaster-operator";
  CLI::App app("Runs TrainingJobs and plans their network.", "yardmaster-operator");
  AddCommonFlags(app, options.common);
  AddLeaderFlags(app, options.leader);
  AddModeFlag(app, options.common);
  AddTraceFlags(app, options.traces);
  app.set_version_flag("--version", VersionText());
  app.add_option("--job-workers", options.job_workers, "TrainingJobs reconciled concurrently")
      ->check(CLI::Range(1, 64));
  app.add_option("--plan-min-delay-ms", options.plan_min_delay_ms,
                 "quiet time before the network is planned");
  app.add_option("--plan-max-delay-ms", options.plan_max_delay_ms,
                 "longest wait under constant change");
  app.add_option("--page-bind-address", options.page_address,
                 "address of the read-only web page, for example :8082; none when left out");
  app.add_flag("--rent-hosts,!--no-rent-hosts", options.rent_hosts,
               "rent hosts of CapacityPools for TrainingJobs with a cost cap");
  app.add_flag("--kueue,!--no-kueue", options.follow_kueue,
               "ask Kueue for quota for TrainingJobs that name a queue");
  app.add_flag("--wait-suspended,!--no-wait-suspended", options.wait_suspended,
               "let Jobs and JobSets with the label yardmaster.dev/wait: Suspended wait for their "
               "place suspended, and resume them when they have one");
  app.add_flag("--place-first,!--no-place-first", options.place_first,
               "make the pods of a TrainingJob once it has its hosts, each with its host and its "
               "network plan; without, before and behind the gate");
  app.add_option_function<std::int64_t>(
         "--network-plan-wait",
         [&options](std::int64_t seconds) { options.network_wait_ms = seconds * 1000; },
         "seconds that the pods of a placed TrainingJob are not made without their network plan; "
         "0: they do not wait")
      ->check(CLI::Range(0, 3'600))
      ->default_str(StrCat(options.network_wait_ms / 1000));
  AddNetworkFlags(app, options.network);
  AddMoveFlags(app, options);
  AddReportFlags(app, options);
  AddHostLossFlags(app, options.host_loss);
  std::string faults_file;
  AddHostMarkFlags(app, options.hosts, faults_file);
  AddCertificateFlags(app, options.certificates);
  FinishFlags(app);
  CLI11_PARSE(app, argc, argv);
  if (!faults_file.empty()) {
    auto rules = ReadFaultRules(faults_file);
    if (!rules.ok()) return ExitCodeOf("yardmaster-operator", rules.status());
    options.hosts.faults = *std::move(rules);
  }
  return ExitCodeOf("yardmaster-operator", RunOperator(options));
}

}  // namespace yardmaster::app
