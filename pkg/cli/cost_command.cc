#include <iomanip>
#include <istream>
#include <optional>
#include <ostream>
#include <sstream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/job_cost.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/print_objects.h"

namespace yardmaster::cli {

namespace {

using nlohmann::ordered_json;

struct CostFlags {
  std::vector<std::string> files;
  ClusterFlags cluster;
  std::string output = "table";
};

constexpr char kFooter[] =
    "Example:\n"
    "  kubectl yardmaster cost -f job.yaml -f pools.yaml\n\n"
    "Exit code: 0 answered, also for a job whose hosts cannot be rented; 1: the input is wrong; 2: "
    "usage.";

absl::StatusOr<std::vector<api::CapacityPool>> PoolsOfCluster(const CostFlags& flags,
                                                              const Connector& connect,
                                                              std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const ClusterConnection connection, connect(flags.cluster));
  state::ClusterState cluster;
  YM_RETURN_IF_ERROR(ReadPools(*connection.client, cluster));
  PrintWarnings(cluster.problems, err);
  return PoolsOf(cluster);
}

void PrintAnswers(const ordered_json& answers, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {{"JOB", "PRICE/H", "USEFUL/H", "LOST", "HOSTS"}};
  for (const ordered_json& answer : answers) {
    const std::string job =
        StrCat(answer["namespace"].get<std::string>(), "/", answer["name"].get<std::string>());
    if (!answer["feasible"].get<bool>()) {
      rows.push_back({job, "-", "-", "-", answer["message"].get<std::string>()});
      continue;
    }
    std::vector<std::string> hosts;
    for (const ordered_json& rented : answer["hosts"]) {
      hosts.push_back(StrCat(rented["hosts"].get<int>(), " x ", rented["pool"].get<std::string>(),
                             " (", rented["type"].get<std::string>(), ")"));
    }
    std::ostringstream lost;
    lost << std::fixed << std::setprecision(1) << 100 * answer["lostShare"].get<double>() << " %";
    rows.push_back({job, answer["pricePerHour"].get<std::string>(),
                    answer["usefulPricePerHour"].get<std::string>(), lost.str(),
                    Join(hosts, ", ")});
  }
  PrintTable(rows, out);
}

absl::StatusOr<ordered_json> AnswerAll(const CostFlags& flags, const Connector& connect,
                                       std::istream& in, std::ostream& err) {
  YM_ASSIGN_OR_RETURN(Manifests manifests, ReadManifests(flags.files, in));
  if (manifests.cluster.jobs.size() == 0) {
    return absl::InvalidArgumentError(
        StrCat(InputNames(flags.files),
               ": holds no TrainingJob; name the file of the job whose cost you want to know"));
  }
  std::vector<api::CapacityPool> pools = std::move(manifests.pools);
  if (pools.empty()) {
    absl::StatusOr<std::vector<api::CapacityPool>> of_cluster = PoolsOfCluster(flags, connect, err);
    if (!of_cluster.ok()) {
      return Annotate(of_cluster.status(),
                      StrCat(InputNames(flags.files),
                             ": holds no CapacityPool, and the cluster does not answer"));
    }
    pools = *std::move(of_cluster);
  }
  ordered_json answers = ordered_json::array();
  for (const auto& job : manifests.cluster.jobs) {
    YM_ASSIGN_OR_RETURN(ordered_json answer, CostOf(*job, pools));
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace

int RunCostCommand(const Args& args, const Connector& connect, std::istream& in, std::ostream& out,
                   std::ostream& err) {
  CostFlags flags;
  CLI::App app("What hosts a TrainingJob would rent below its cost caps, and what they cost",
               "kubectl yardmaster cost");
  app.add_option("-f,--filename", flags.files,
                 "TrainingJobs and CapacityPools: files, - or folders")
      ->required();
  app.add_option("-o,--output", flags.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
  DeclareCluster(flags.cluster, app);
  app.footer(kFooter);
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ordered_json> answers = AnswerAll(flags, connect, in, err);
  if (!answers.ok()) return Fail(answers.status(), err);
  if (flags.output == "table") {
    PrintAnswers(*answers, out);
  } else {
    PrintAnswer({{"jobs", *answers}}, flags.output, out);
  }
  return 0;
}

}  // namespace yardmaster::cli
