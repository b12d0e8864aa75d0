#include <ostream>
#include <set>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/explain.h"
#include "pkg/cli/output/host_description.h"
#include "pkg/cli/output/hosts_table.h"
#include "pkg/cli/output/json_path.h"
#include "pkg/cli/output/label_selector.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/watch_rows.h"

namespace yardmaster::cli {

namespace {

constexpr char kJsonPath[] = "jsonpath=";

struct GetFlags {
  ReadFlags read;
  std::string what;
  std::string selector;
  std::string output;
  bool all_namespaces = false;
  bool watch = false;

  bool jobs() const { return what.empty() || what == "jobs"; }
  bool segments() const { return what.empty() || what == "segments"; }
  bool hosts() const { return what == "hosts"; }
  bool wide() const { return !output.empty() && output != "name"; }
};

// What `get` shows of a cluster.
struct Tables {
  Table jobs;
  Table segments;
  Table hosts;
};

Tables TablesOf(const GetFlags& flags, const LabelSelector& selector, const std::string& ns,
                const state::ClusterState& cluster, std::int64_t now_ms) {
  Tables tables;
  if (flags.hosts()) {
    tables.hosts = HostsTable(cluster, now_ms);
    if (flags.output.empty() && !flags.watch) tables.hosts = GroupedHosts(tables.hosts);
  }
  if (flags.jobs()) tables.jobs = JobsTable(cluster, ns, now_ms, flags.wide(), selector);
  if (flags.segments()) tables.segments = SegmentsTable(cluster);
  return tables;
}

nlohmann::json AsJson(const GetFlags& flags, const Tables& tables) {
  nlohmann::json answer = nlohmann::json::object();
  if (flags.jobs()) answer["jobs"] = RowsAsJson(tables.jobs);
  if (flags.segments()) answer["segments"] = RowsAsJson(tables.segments);
  if (flags.hosts()) answer["hosts"] = RowsAsJson(tables.hosts);
  return answer;
}

// "trainingjob.yardmaster.dev/gpt", "job/NAME" for jobs of other kinds, "segment/p00/p00s00".
void PrintNames(const Tables& tables, std::ostream& out) {
  for (std::size_t r = 1; r < tables.jobs.size(); ++r) {
    const bool ours = tables.jobs[r][2] == api::kTrainingJobKind;
    out << (ours ? "trainingjob.yardmaster.dev/" : "job/") << tables.jobs[r][1] << "\n";
  }
  for (std::size_t r = 1; r < tables.segments.size(); ++r) {
    out << "segment/" << tables.segments[r][0] << "/" << tables.segments[r][1] << "\n";
  }
  for (std::size_t r = 1; r < tables.hosts.size(); ++r)
    out << "node/" << tables.hosts[r][0] << "\n";
}

int Print(const GetFlags& flags, const Tables& tables, std::ostream& out, std::ostream& err) {
  if (flags.output == "json" || flags.output == "yaml") {
    PrintAnswer(AsJson(flags, tables), flags.output, out);
  } else if (flags.output.starts_with(kJsonPath)) {
    const auto text =
        EvaluateJsonPath(flags.output.substr(sizeof kJsonPath - 1), AsJson(flags, tables));
    if (!text.ok()) return Fail(text.status(), err);
    out << *text;
  } else if (flags.output == "name") {
    PrintNames(tables, out);
  } else {
    PrintTable(tables.jobs, out, WantsColour(out));
    if (flags.what.empty()) out << "\n";
    PrintTable(tables.segments, out);
    PrintTable(tables.hosts, out, WantsColour(out));
  }
  return 0;
}

std::string CheckOutput(const std::string& output) {
  static const std::set<std::string> formats = {"wide", "json", "yaml", "name"};
  if (formats.count(output) != 0 || output.starts_with(kJsonPath)) return "";
  return "\"" + output + "\" is not wide, json, yaml, name or jsonpath=TEMPLATE";
}

void DeclareGet(GetFlags& flags, CLI::App& app) {
  app.add_option("what", flags.what, "jobs, segments or hosts; jobs and segments when left out")
      ->check(CLI::IsMember({"jobs", "segments", "hosts"}));
  DeclareRead(flags.read, app);
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "jobs of all namespaces");
  app.add_option("-l,--selector", flags.selector, "jobs whose labels match, for example team=nlp");
  app.add_flag("-w,--watch", flags.watch, "go on, and print rows that change");
  app.add_option("-o,--output", flags.output,
                 "wide, json, yaml, name or jsonpath=TEMPLATE; a table when left out")
      ->check(CLI::Validator(CheckOutput, "FORMAT"));
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster get\n"
      "  kubectl yardmaster get jobs -n research -l team=nlp -w\n"
      "  kubectl yardmaster get jobs -A -o jsonpath='{range "
      ".jobs[*]}{.name}{\"\\t\"}{.state}{\"\\n\"}{end}'");
}

void PrintDescription(const Description& description, const std::string& output,
                      std::ostream& out) {
  if (output.empty()) {
    for (const auto& [label, text] : description) {
      out << label << ":" << std::string(label.size() < 15 ? 15 - label.size() : 1, ' ')
          << OneLine(text) << "\n";
    }
    return;
  }
  nlohmann::json answer = nlohmann::json::object();
  for (const auto& [label, text] : description) {
    if (!answer.contains(label)) answer[label] = nlohmann::json::array();
    answer[label].push_back(text);
  }
  PrintAnswer(answer, output, out);
}

struct ExplainFlags {
  ReadFlags read;
  std::string what;
  std::string output;
};

void DeclareExplain(ExplainFlags& flags, CLI::App& app) {
  DeclareRead(flags.read, app);
  app.add_option("-o,--output", flags.output, "json or yaml; text when left out")
      ->check(CLI::IsMember({"json", "yaml"}));
}

// `what` without "kind/" if it begins with one of these kinds.
std::optional<std::string> NameOf(const std::string& what,
                                  std::initializer_list<const char*> kinds) {
  for (const std::string kind : kinds) {
    if (what.starts_with(kind + "/")) return what.substr(kind.size() + 1);
  }
  return std::nullopt;
}

int PrintJob(const ExplainFlags& flags, const state::ClusterState& cluster, std::ostream& out,
             std::ostream& err) {
  if (!flags.output.empty()) {
    const auto answer = ExplainAsJson(cluster, flags.read.namespace_name, flags.what);
    if (!answer.ok()) return Fail(answer.status(), err);
    PrintAnswer(*answer, flags.output, out);
    return 0;
  }
  const auto text = Explain(cluster, flags.read.namespace_name, flags.what);
  if (!text.ok()) return Fail(text.status(), err);
  out << *text;
  return 0;
}

int PrintDescriptionOrFail(const absl::StatusOr<Description>& description,
                           const std::string& output, std::ostream& out, std::ostream& err) {
  if (!description.ok()) return Fail(description.status(), err);
  PrintDescription(*description, output, out);
  return 0;
}

}  // namespace

int RunGetCommand(const Args& args, const Connector& connect, std::ostream& out,
                  std::ostream& err) {
  GetFlags flags;
  CLI::App app("Jobs and where they stand, segments and how full they are, or hosts",
               "kubectl yardmaster get");
  DeclareGet(flags, app);
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const auto selector = LabelSelector::Parse(flags.selector);
  if (!selector.ok()) {
    Fail(selector.status(), err);
    return 2;
  }
  const bool as_table = flags.output.empty() || flags.output == "wide";
  if (flags.watch && !as_table) {
    err << "kubectl yardmaster get: -w prints tables; leave -o out or say -o wide\n";
    return 2;
  }
  // The overview of everything is of all namespaces unless one is asked for.
  const bool everywhere =
      flags.all_namespaces || (flags.what.empty() && flags.read.namespace_name.empty());
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags.read, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const std::string ns = everywhere ? "" : flags.read.namespace_name;
  const std::int64_t now_ms = cluster->connection.now_ms;
  if (!flags.watch)
    return Print(flags, TablesOf(flags, *selector, ns, cluster->state, now_ms), out, err);
  return WatchRows(
      *cluster->connection.client,
      [&](const state::ClusterState& cluster) {
        const Tables tables = TablesOf(flags, *selector, ns, cluster, now_ms);
        return std::vector<Table>{tables.jobs, tables.segments, tables.hosts};
      },
      out, err);
}

int RunExplainCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err) {
  ExplainFlags flags;
  CLI::App app("The state of a job and its cause; what holds a node; what a pod waits for",
               "kubectl yardmaster explain");
  app.add_option("job", flags.what, "a job: NAME or KIND/NAME; node/NAME or pod/NAME")->required();
  DeclareExplain(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster explain gpt -n demo\n"
      "  kubectl yardmaster explain pytorchjob/bert -n demo\n"
      "  kubectl yardmaster explain pod/gpt-3 -n demo\n"
      "  kubectl yardmaster explain node/p00s00h003");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags.read, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const std::int64_t now_ms = cluster->connection.now_ms;
  if (const auto node = NameOf(flags.what, {"node", "nodes", "no"})) {
    return PrintDescriptionOrFail(DescribeHost(cluster->state, *node, now_ms), flags.output, out,
                                  err);
  }
  if (const auto pod = NameOf(flags.what, {"pod", "pods", "po"})) {
    return PrintDescriptionOrFail(
        DescribePod(cluster->state, flags.read.namespace_name, *pod, now_ms), flags.output, out,
        err);
  }
  // A job of any kind is found by its name alone.
  flags.what = flags.what.substr(flags.what.find('/') + 1);
  return PrintJob(flags, cluster->state, out, err);
}

int RunWhyCommand(const Args& args, const Connector& connect, std::ostream& out,
                  std::ostream& err) {
  ExplainFlags flags;
  CLI::App app("What holds a host, since when, and why it gets no worker",
               "kubectl yardmaster why");
  app.add_option("host", flags.what, "name of a Node")->required();
  DeclareExplain(flags, app);
  app.footer("Example:\n  kubectl yardmaster why p00s00h003");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags.read, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  return PrintDescriptionOrFail(
      DescribeHost(cluster->state, flags.what, cluster->connection.now_ms), flags.output, out, err);
}

}  // namespace yardmaster::cli
