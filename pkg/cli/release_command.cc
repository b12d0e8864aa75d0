#include <ostream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/pin_patch.h"
#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/print_objects.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

struct ReleaseFlags {
  ClusterFlags cluster;
  std::string job;
  std::string namespace_name;
  bool all = false;
  bool dry_run = false;
  std::string output;
};

bool IsOfJob(const api::Pod& pod, const std::string& job) {
  const auto membership = api::ResolveMembership(pod);
  if (membership.ok() && *membership) {
    return (*membership)->owner.name == job || (*membership)->gang_name == job;
  }
  const api::OwnerReference* controller = pod.metadata.controller();
  return controller != nullptr && controller->name == job;
}

// Pods behind our gate that the flags mean.
absl::StatusOr<std::vector<json>> WaitingPods(kube::Client& client, const ReleaseFlags& flags,
                                              const std::string& ns) {
  YM_ASSIGN_OR_RETURN(const std::vector<kube::ObjectPtr> objects,
                      kube::ListAll(client, {kube::Pods(), ns, "", ""}));
  std::vector<json> pods;
  for (const kube::ObjectPtr& object : objects) {
    const auto pod = api::DecodePod(*object, api::Decoding::kLenient);
    if (!pod.ok() || !pod->gated() || pod->metadata.deleted_ms) continue;
    if (flags.all || IsOfJob(*pod, flags.job)) pods.push_back(*object);
  }
  return pods;
}

absl::Status Release(kube::Client& client, const json& pod) {
  YM_ASSIGN_OR_RETURN(const json patch,
                      api::OpenGatePatch(pod, "released with kubectl yardmaster release"));
  const kube::Target target{kube::Pods(), pod["metadata"]["namespace"], pod["metadata"]["name"],
                            ""};
  return client.Patch(target, kube::JsonPatch(patch), {kFieldManager}).status();
}

int ReleaseAll(kube::Client& client, const ReleaseFlags& flags, const std::vector<json>& pods,
               std::ostream& out, std::ostream& err) {
  json released = json::array();
  int failed = 0;
  for (const json& pod : pods) {
    const std::string who = StrCat(pod["metadata"]["namespace"].get<std::string>(), "/",
                                   pod["metadata"]["name"].get<std::string>());
    const absl::Status done = flags.dry_run ? absl::OkStatus() : Release(client, pod);
    if (absl::IsNotFound(done)) continue;
    if (!done.ok()) {
      err << "pod " << who << ": " << MessageOf(done) << "\n";
      ++failed;
      continue;
    }
    released.push_back(
        {{"namespace", pod["metadata"]["namespace"]}, {"name", pod["metadata"]["name"]}});
    if (flags.output.empty()) {
      out << "pod " << who << (flags.dry_run ? " would be released\n" : " released\n");
    }
  }
  if (!flags.output.empty()) PrintAnswer({{"released", std::move(released)}}, flags.output, out);
  if (failed > 0) err << Count(failed, "pod") << " could not be released; try again\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace

int RunReleaseCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err) {
  ReleaseFlags flags;
  CLI::App app("Opens the gate of pods: they go to the scheduler as they are, without a place",
               "kubectl yardmaster release");
  CLI::Option* job = app.add_option("job", flags.job, "name of a job, of any kind, or of a Gang");
  app.add_flag("--all", flags.all, "every pod that waits behind the gate")->excludes(job);
  app.add_option("-n,--namespace", flags.namespace_name,
                 "namespace (default: the context's; with --all: every one)");
  app.add_flag("--dry-run", flags.dry_run, "only say what would be released");
  app.add_option("-o,--output", flags.output, "json or yaml; text when left out")
      ->check(CLI::IsMember({"json", "yaml"}));
  DeclareCluster(flags.cluster, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster release gpt -n demo --dry-run\n"
      "  kubectl yardmaster release --all");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  if (flags.all == !flags.job.empty()) {
    err << "kubectl yardmaster release: name a job, or say --all\n";
    return 2;
  }
  const absl::StatusOr<ClusterConnection> connection = connect(flags.cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  std::string ns = flags.namespace_name;
  if (ns.empty() && !flags.all) ns = connection->default_namespace;
  const auto pods = WaitingPods(*connection->client, flags, ns);
  if (!pods.ok()) return Fail(pods.status(), err);
  if (pods->empty()) {
    if (flags.all) {
      err << "no pod waits behind the gate\n";
      return 0;
    }
    err << "no pod of job " << flags.job << " in namespace " << ns
        << " waits behind the gate; kubectl yardmaster get jobs -n " << ns << " lists the jobs\n";
    return 1;
  }
  return ReleaseAll(*connection->client, flags, *pods, out, err);
}

}  // namespace yardmaster::cli
