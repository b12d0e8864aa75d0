#include "pkg/cli/cluster_commands.h"

#include <ostream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/cli/cluster_reader.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/hosts_table.h"
#include "pkg/cli/overview.h"
#include "pkg/cli/print_objects.h"

namespace yardmaster::cli {

namespace {

struct Flags {
  ClusterFlags cluster;
  std::string what;
  std::string namespace_name;
  bool all_namespaces = false;
  std::string output;
  std::int64_t now_ms = 0;  // wall time of the connection
};

void DeclareCommon(Flags& flags, CLI::App& app) {
  app.add_option("-n,--namespace", flags.namespace_name, "namespace (default: the context's)");
  app.add_option("--kubeconfig", flags.cluster.kubeconfig, "kubeconfig file");
  app.add_option("--context", flags.cluster.context, "context of the kubeconfig");
}

// Connects and reads; what could not be read is said on `err`.
absl::StatusOr<state::ClusterState> ReadWorld(Flags& flags, const Connector& connect,
                                              std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const Connection connection, connect(flags.cluster));
  if (flags.namespace_name.empty()) flags.namespace_name = connection.default_namespace;
  flags.now_ms = connection.now_ms;
  YM_ASSIGN_OR_RETURN(state::ClusterState world, ReadCluster(*connection.client));
  for (const std::string& problem : world.problems) err << "warning: " << problem << "\n";
  return world;
}

int Fail(const absl::Status& status, std::ostream& err) {
  err << MessageOf(status) << "\n";
  return 1;
}

}  // namespace

int RunGetCommand(const std::vector<std::string>& args, const Connector& connect, std::ostream& out,
                  std::ostream& err) {
  Flags flags;
  CLI::App app("Jobs and where they stand, segments and how full they are, or hosts",
               "kubectl yardmaster get");
  app.add_option("what", flags.what, "jobs, segments or hosts; jobs and segments when left out")
      ->check(CLI::IsMember({"jobs", "segments", "hosts"}));
  DeclareCommon(flags, app);
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "jobs of all namespaces");
  app.add_option("-o,--output", flags.output, "wide, json or yaml; a table when left out")
      ->check(CLI::IsMember({"wide", "json", "yaml"}));
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  // The overview of everything is of all namespaces unless one is asked for.
  const bool everywhere =
      flags.all_namespaces || (flags.what.empty() && flags.namespace_name.empty());
  const absl::StatusOr<state::ClusterState> world = ReadWorld(flags, connect, err);
  if (!world.ok()) return Fail(world.status(), err);
  if (flags.what == "hosts") {
    const Table hosts = HostsTable(*world, flags.now_ms);
    if (flags.output == "json" || flags.output == "yaml") {
      PrintAnswer({{"hosts", RowsAsJson(hosts)}}, flags.output, out);
    } else {
      PrintTable(hosts, out);
    }
    return 0;
  }
  const bool whole = !flags.output.empty();
  Table jobs, segments;
  if (flags.what != "segments") {
    jobs = JobsTable(*world, everywhere ? "" : flags.namespace_name, whole);
  }
  if (flags.what != "jobs") segments = SegmentsTable(*world);
  if (flags.output == "json" || flags.output == "yaml") {
    nlohmann::json answer = nlohmann::json::object();
    if (flags.what != "segments") answer["jobs"] = RowsAsJson(jobs);
    if (flags.what != "jobs") answer["segments"] = RowsAsJson(segments);
    PrintAnswer(answer, flags.output, out);
    return 0;
  }
  PrintTable(jobs, out);
  if (flags.what.empty()) out << "\n";
  PrintTable(segments, out);
  return 0;
}

int RunExplainCommand(const std::vector<std::string>& args, const Connector& connect,
                      std::ostream& out, std::ostream& err) {
  Flags flags;
  CLI::App app("Where a job stands and why", "kubectl yardmaster explain");
  app.add_option("job", flags.what, "name of a TrainingJob, or of a Gang")->required();
  DeclareCommon(flags, app);
  app.add_option("-o,--output", flags.output, "json or yaml; text when left out")
      ->check(CLI::IsMember({"json", "yaml"}));
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<state::ClusterState> world = ReadWorld(flags, connect, err);
  if (!world.ok()) return Fail(world.status(), err);
  if (!flags.output.empty()) {
    const auto answer = ExplainAsJson(*world, flags.namespace_name, flags.what);
    if (!answer.ok()) return Fail(answer.status(), err);
    PrintAnswer(*answer, flags.output, out);
    return 0;
  }
  const absl::StatusOr<std::string> text = Explain(*world, flags.namespace_name, flags.what);
  if (!text.ok()) return Fail(text.status(), err);
  out << *text;
  return 0;
}

}  // namespace yardmaster::cli
