#include "pkg/cli/dispatch.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <sstream>
#include <type_traits>

#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/base/version.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/completion.h"
#include "pkg/cli/connect.h"
#include "pkg/cli/man_page.h"
#include "pkg/cli/output/terminal.h"

namespace yardmaster::cli {

namespace {

int RunVersion(const Args& args, std::istream& /*in*/, std::ostream& out, std::ostream& err) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    out << (args.empty() ? StrCat("kubectl-yardmaster ", VersionText(), "\n")
                         : "usage: kubectl yardmaster version\n");
    return 0;
  }
  err << "kubectl yardmaster version: takes no arguments\n";
  return 2;
}

int RunMan(const Args& args, std::istream& in, std::ostream& out, std::ostream& err);

// A verb that asks the cluster which the flags name; some of them read standard input, too.
template <auto command>
int InCluster(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  kube::RealSleeper sleeper;
  const Connector connect = ClusterConnector(clock, sleeper);
  if constexpr (std::is_invocable_v<decltype(command), const Args&, const Connector&, std::istream&,
                                    std::ostream&, std::ostream&>) {
    return command(args, connect, in, out, err);
  } else {
    return command(args, connect, out, err);
  }
}

struct Verb {
  Args words;
  const char* summary;
  int (*run)(const Args&, std::istream&, std::ostream&, std::ostream&);
};

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> verbs = {
      {{"get"}, "jobs, segments or hosts of a cluster", InCluster<RunGetCommand>},
      {{"explain"}, "the state of a job, pod or node, and its cause", InCluster<RunExplainCommand>},
      {{"why"}, "what holds a host, and since when", InCluster<RunWhyCommand>},
      {{"top"}, "jobs, segments or links by their load", InCluster<RunTopCommand>},
      {{"observe"},
       "where jobs of other kinds run, and where they would be placed",
       InCluster<RunObserveCommand>},
      {{"trace"}, "what each process did for a job", InCluster<RunTraceCommand>},
      {{"ui"}, "the operator's page in a browser", InCluster<RunUiCommand>},
      {{"plan"},
       "what the planner would do in a cluster, or with manifests alone",
       InCluster<RunPlanCommand>},
      {{"rebalance"}, "moves of running jobs, and what they gain", InCluster<RunRebalanceCommand>},
      {{"drain"}, "takes hosts, segments or ToRs out of use", InCluster<RunDrainCommand>},
      {{"cost"}, "what hosts a job would rent and what they cost", InCluster<RunCostCommand>},
      {{"spares"}, "what spare hosts in a segment or domain bring", RunSparesCommand},
      {{"backup", "list"}, "backup hosts", InCluster<RunBackupListCommand>},
      {{"backup", "set"}, "marks backup hosts", InCluster<RunBackupSetCommand>},
      {{"release"}, "opens the gate of a job's pods, or of all", InCluster<RunReleaseCommand>},
      {{"fabric", "show"}, "the fabric as text, a letter a host", InCluster<RunFabricShowCommand>},
      {{"fabric", "render"}, "a Fabric and its Nodes as manifests", RunFabricRenderCommand},
      {{"fabric", "import"},
       "a Fabric from SimAI's topology or topograph's labels",
       RunFabricImportCommand},
      {{"fabric", "names"},
       "what operators call the switches, as their hosts see it",
       InCluster<RunFabricNamesCommand>},
      {{"fabric", "verify"},
       "cables that are not where the Fabric has them",
       RunFabricVerifyCommand},
      {{"fabric", "trust"},
       "whether packets go where the Fabric's hashes say",
       RunFabricTrustCommand},
      {{"crux"}, "intensity, paths, priorities and levels of a case file", RunCruxCommand},
      {{"hash"}, "the hash and index that a switch gives to packets", RunHashCommand},
      {{"path"}, "the path that a packet takes", RunPathCommand},
      {{"simulate"}, "a trace replayed on a fabric", InCluster<RunSimulateCommand>},
      {{"support-bundle"},
       "objects, logs and metrics, to diagnose a fault elsewhere",
       InCluster<RunSupportBundleCommand>},
      {{"selftest"},
       "whether an installation plans, answers and has a page",
       InCluster<RunSelftestCommand>},
      {{"completion"}, "a completion script for bash, zsh or fish", RunCompletionCommand},
      {{"man"}, "the man page", RunMan},
      {{"version"}, "the version of this program", RunVersion},
  };
  return verbs;
}

bool StartsWith(const Args& args, const Args& words) {
  return args.size() >= words.size() && std::equal(words.begin(), words.end(), args.begin());
}

bool IsHelp(const std::string& word) { return word == "--help" || word == "-h" || word == "help"; }

// `first`: of the verbs that begin with this word; empty: of all.
void PrintHelp(const std::string& first, std::ostream& out) {
  out << "Plans training jobs on the network of a Kubernetes cluster.\n\n"
         "usage: kubectl yardmaster VERB [FLAGS]     (VERB --help says more)\n\n";
  for (const Verb& verb : Verbs()) {
    if (!first.empty() && verb.words[0] != first) continue;
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

int RunMan(const Args& args, std::istream& /*in*/, std::ostream& out, std::ostream& err) {
  if (!args.empty() && IsHelp(args[0])) {
    out << "Prints the man page, which has the flags of every verb\n"
           "Usage: kubectl yardmaster man\n\n"
           "Examples:\n"
           "  kubectl yardmaster man | man -l -\n"
           "  kubectl yardmaster man > /usr/local/share/man/man1/kubectl-yardmaster.1\n";
    return 0;
  }
  if (!args.empty()) {
    err << "kubectl yardmaster man: takes no arguments\n";
    return 2;
  }
  std::vector<ManVerb> verbs;
  for (const Verb& verb : Verbs()) {
    verbs.push_back({Join(verb.words, " "), verb.summary, HelpOf(verb.words)});
  }
  out << ManPage(Version(), verbs);
  return 0;
}

// Arguments that begin with no verb: help for verbs of two words, or an error.
int RunWithoutVerb(const Args& args, std::ostream& out, std::ostream& err) {
  if (args[0].starts_with("-")) {
    err << "kubectl yardmaster: the verb comes first, its flags after it: kubectl yardmaster VERB "
        << args[0] << "\nRun with --help for the verbs.\n";
    return 2;
  }
  std::vector<std::string> names;
  std::vector<std::string> second_words;  // of verbs that begin with args[0]
  for (const Verb& verb : Verbs()) {
    names.push_back(Join(verb.words, " "));
    if (verb.words[0] == args[0]) second_words.push_back(verb.words[1]);
  }
  if (!second_words.empty()) {
    if (args.size() > 1 && IsHelp(args[1])) {
      PrintHelp(args[0], out);
      return 0;
    }
    err << "kubectl yardmaster " << args[0] << ": "
        << (args.size() > 1 ? "unknown subcommand " + args[1] : "missing subcommand") << "; use "
        << Join(second_words, " or ") << "\n";
    return 2;
  }
  const std::string meant = api::Nearest(args[0], names);
  err << "kubectl yardmaster: there is no verb " << args[0]
      << (meant.empty() ? "" : "; did you mean " + meant + "?") << "\nVerbs: " << Join(names, ", ")
      << "\n";
  return 2;
}

}  // namespace

int Dispatch(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  const TerminalGuard out_guard(out), err_guard(err);
  if (args.empty()) {
    PrintHelp("", err);
    return 2;
  }
  if (IsHelp(args[0])) {
    if (args.size() > 1 && !args[1].starts_with("-")) {
      Args verb(args.begin() + 1, args.end());
      verb.emplace_back("--help");
      return Dispatch(verb, in, out, err);
    }
    PrintHelp("", out);
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
  return RunWithoutVerb(args, out, err);
}

}  // namespace yardmaster::cli
