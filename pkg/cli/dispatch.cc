#include "pkg/cli/dispatch.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <sstream>

#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_commands.h"
#include "pkg/cli/completion.h"
#include "pkg/cli/connect.h"
#include "pkg/cli/cost_command.h"
#include "pkg/cli/crux_command.h"
#include "pkg/cli/drain_command.h"
#include "pkg/cli/fabric_command.h"
#include "pkg/cli/fabric_import_command.h"
#include "pkg/cli/fabric_show.h"
#include "pkg/cli/hash_command.h"
#include "pkg/cli/path_command.h"
#include "pkg/cli/plan_command.h"
#include "pkg/cli/release_command.h"
#include "pkg/cli/simulate_command.h"
#include "pkg/cli/support_bundle.h"
#include "pkg/cli/top_command.h"
#include "pkg/cli/trace_command.h"
#include "pkg/cli/ui_command.h"
#include "pkg/cli/verify_command.h"

namespace yardmaster::cli {

namespace {

using Args = std::vector<std::string>;

int RunVersion(const Args& args, std::istream& /*in*/, std::ostream& out, std::ostream& err) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    out << (args.empty() ? "kubectl-yardmaster " YARDMASTER_VERSION "\n"
                         : "usage: kubectl yardmaster version\n");
    return 0;
  }
  err << "kubectl yardmaster version: takes no arguments\n";
  return 2;
}

using ClusterCommand = int (*)(const Args&, const Connector&, std::ostream&, std::ostream&);

// A verb that asks the cluster which the flags name.
template <ClusterCommand command>
int InCluster(const Args& args, std::istream& /*in*/, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  return command(args, ClusterConnector(clock, sleeper), out, err);
}

int RunCompletion(const Args& args, std::istream& /*in*/, std::ostream& out, std::ostream& err) {
  return RunCompletionCommand(args, out, err);
}

int RunPlan(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  return RunPlanCommand(args, ClusterConnector(clock, sleeper), in, out, err);
}

int RunCost(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  return RunCostCommand(args, ClusterConnector(clock, sleeper), in, out, err);
}

int RunSimulate(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  return RunSimulateCommand(args, ClusterConnector(clock, sleeper), in, out, err);
}

struct Verb {
  Args words;
  const char* summary;
  int (*run)(const Args&, std::istream&, std::ostream&, std::ostream&);
};

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> verbs = {
      {{"get"}, "jobs and segments of a cluster", InCluster<RunGetCommand>},
      {{"explain"}, "the state of a job, pod or node, and its cause", InCluster<RunExplainCommand>},
      {{"why"}, "what holds a host, and since when", InCluster<RunWhyCommand>},
      {{"top"}, "jobs, segments or links by their load", InCluster<RunTopCommand>},
      {{"trace"}, "what each process did for a job", InCluster<RunTraceCommand>},
      {{"ui"}, "the operator's page in a browser", InCluster<RunUiCommand>},
      {{"plan"}, "what the planner would do in a cluster, or with manifests alone", RunPlan},
      {{"drain"}, "takes hosts, segments or ToRs out of use", InCluster<RunDrainCommand>},
      {{"cost"}, "what hosts a job would rent and what they cost", RunCost},
      {{"backup", "list"}, "backup hosts", InCluster<RunBackupListCommand>},
      {{"backup", "set"}, "marks backup hosts", InCluster<RunBackupSetCommand>},
      {{"release"}, "opens the gate of a job's pods, or of all", InCluster<RunReleaseCommand>},
      {{"fabric", "show"}, "the fabric as text, a letter a host", InCluster<RunFabricShowCommand>},
      {{"fabric", "render"}, "a Fabric and its Nodes as manifests", RunFabricRenderCommand},
      {{"fabric", "import"},
       "a Fabric from SimAI's topology or topograph's labels",
       RunFabricImportCommand},
      {{"fabric", "verify"},
       "cables that are not where the Fabric has them",
       RunFabricVerifyCommand},
      {{"fabric", "trust"},
       "whether packets go where the Fabric's hashes say",
       RunFabricTrustCommand},
      {{"crux"}, "intensity, paths, priorities and levels of a case file", RunCruxCommand},
      {{"hash"}, "the hash and index that a switch gives to packets", RunHashCommand},
      {{"path"}, "the path that a packet takes", RunPathCommand},
      {{"simulate"}, "a trace replayed on a fabric", RunSimulate},
      {{"support-bundle"},
       "objects, logs and metrics for the search of a fault",
       InCluster<RunSupportBundleCommand>},
      {{"completion"}, "a completion script for bash, zsh or fish", RunCompletion},
      {{"version"}, "the version of this program", RunVersion},
  };
  return verbs;
}

bool StartsWith(const Args& args, const Args& words) {
  return args.size() >= words.size() && std::equal(words.begin(), words.end(), args.begin());
}

void PrintHelp(std::ostream& out) {
  out << "Plans training jobs on the network of a Kubernetes cluster.\n\n"
         "usage: kubectl yardmaster VERB [FLAGS]     (VERB --help says more)\n\n";
  for (const Verb& verb : Verbs()) {
    const std::string words = Join(verb.words, " ");
    out << "  " << words << std::string(words.size() < 16 ? 16 - words.size() : 1, ' ')
        << verb.summary << "\n";
  }
}

// What `verb --help` prints.
std::string HelpOf(const Args& words) {
  std::istringstream in;
  std::ostringstream out, err;
  for (const Verb& verb : Verbs()) {
    if (verb.words == words) verb.run({"--help"}, in, out, err);
  }
  return out.str();
}

int Unknown(const Args& args, std::ostream& err) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    names.push_back(Join(verb.words, " "));
    if (verb.words.size() > 1 && verb.words[0] == args[0]) {
      err << "kubectl yardmaster " << args[0] << ": missing subcommand, for example "
          << names.back() << "\n";
      return 2;
    }
  }
  const std::string meant = api::Nearest(args[0], names);
  err << "kubectl yardmaster: there is no verb " << args[0]
      << (meant.empty() ? "" : "; did you mean " + meant + "?") << "\nVerbs: " << Join(names, ", ")
      << "\n";
  return 2;
}

}  // namespace

int Dispatch(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  if (args.empty()) {
    PrintHelp(err);
    return 2;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintHelp(out);
    return 0;
  }
  if (args[0] == "__complete") {
    std::vector<Args> verbs;
    for (const Verb& verb : Verbs()) verbs.push_back(verb.words);
    out << Complete(verbs, HelpOf, Args(args.begin() + 1, args.end()));
    return 0;
  }
  if (args[0] == "--version") return RunVersion({}, in, out, err);
  for (const Verb& verb : Verbs()) {
    if (!StartsWith(args, verb.words)) continue;
    return verb.run(Args(args.begin() + static_cast<std::ptrdiff_t>(verb.words.size()), args.end()),
                    in, out, err);
  }
  return Unknown(args, err);
}

}  // namespace yardmaster::cli
