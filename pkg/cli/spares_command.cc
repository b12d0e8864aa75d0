#include <algorithm>
#include <cmath>
#include <iomanip>
#include <istream>
#include <optional>
#include <ostream>
#include <sstream>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/capacity/overhead.h"
#include "pkg/capacity/spare_hosts.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_input.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/fabric/spec.h"
#include "pkg/plan/backup_pool.h"
#include "pkg/state/host_failures.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

constexpr int kMaxSpares = 8;

struct SparesFlags {
  std::vector<std::string> files;
  // Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, HPCA
  // 2025: 6.5 failures in 1,000 node days on the larger of two clusters.
  double failures_per_host_day = 0.0065;
  bool measured = false;
  double repair_hours = 24;
  double inside = 0.99;
  std::string output = "table";
};

constexpr char kFooter[] =
    "Without a TrainingJob in the files, one gang has all other hosts of the place.\n\n"
    "Example:\n"
    "  kubectl yardmaster spares -f fabric.yaml -f job.yaml --host-failures-per-day 0.01\n\n"
    "Exit code: 0 answered; 1: the input is wrong; 2: usage.";

void Declare(SparesFlags& flags, CLI::App& app) {
  app.add_option("-f,--filename", flags.files,
                 "a Fabric, its Nodes and TrainingJobs: files, - or folders")
      ->required();
  CLI::Option* rate = app.add_option("--host-failures-per-day", flags.failures_per_host_day,
                                     "how often one host fails a day")
                          ->check(NumberBetween(1e-6, 100));
  app.add_flag("--measured", flags.measured,
               "that rate from the incidents of the TrainingJobs in the files")
      ->excludes(rate);
  app.add_option("--repair-hours", flags.repair_hours, "until a failed host is back, on average")
      ->check(NumberBetween(0.01, 87'600));
  app.add_option("--inside", flags.inside,
                 "the probability of a replacement inside for which spares are chosen")
      ->check(NumberBetween(0, 1));
  app.add_option("-o,--output", flags.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}));
}

// A segment or a domain.
struct Place {
  const char* name;
  const char* suffix;  // of the answer's fields
  const char* rows;    // the answer's field
  int hosts = 0;       // of the largest; 0: the Fabric has no such places
  int kept = 0;        // by the Fabric's policy
};

struct SparesInput {
  std::vector<Place> places;
  std::vector<capacity::GangTiming> gangs;  // empty: one that has the place to itself
};

template <typename Ids>
int HostsOfLargest(const fabric::Places& places, const Ids& ids) {
  int most = 0;
  for (const auto id : ids) most = std::max(most, places.hosts_of(id).size());
  return most;
}

// Of the Nodes, where there are any.
absl::StatusOr<std::vector<Place>> PlacesOf(const state::ClusterState& cluster,
                                            const std::string& name) {
  if (cluster.fabrics.empty()) {
    return absl::InvalidArgumentError(
        StrCat(name, ": holds no Fabric; write one with kubectl yardmaster fabric render"));
  }
  const fabric::FabricSpec& spec = state::UsedFabric(cluster.fabrics)->spec;
  Place segment{"segment", "PerSegment", "perSegment", spec.hosts_per_segment};
  Place domain{"domain", "PerDomain", "perDomain", spec.scale_up.hosts_per_domain};
  if (!cluster.nodes.empty()) {
    YM_ASSIGN_OR_RETURN(const FabricInput input, FabricInputOf(cluster, name));
    const fabric::Places& places = input.network->places();
    segment.hosts = HostsOfLargest(places, places.segments());
    domain.hosts = places.has_domains() ? HostsOfLargest(places, places.domains()) : 0;
  }
  segment.kept = plan::BackupHostsOf(spec.backup, segment.hosts, spec.hosts_per_segment);
  std::vector<Place> places = {segment};
  if (domain.hosts > 0) {
    domain.kept = plan::BackupHostsOf(spec.scale_up, domain.hosts);
    places.push_back(domain);
  }
  return places;
}

// The job's own interval between checkpoints, else the one that loses least.
void SetInterval(double failures_per_host_day, capacity::GangTiming& gang) {
  if (gang.interval_seconds > 0) return;
  gang.interval_seconds = capacity::BestIntervalSeconds(std::max(1.0, gang.checkpoint_seconds),
                                                        gang.hosts * failures_per_host_day / 24);
}

capacity::GangTiming TimingOf(const api::TrainingJob& job, int gpus_per_host) {
  const std::int64_t gpus = std::int64_t{job.job.workers} * job.job.gpus_per_worker;
  const std::int64_t hosts =
      gpus > 0 ? (gpus + gpus_per_host - 1) / gpus_per_host : job.job.workers;
  capacity::GangTiming gang;
  gang.hosts = static_cast<int>(std::max<std::int64_t>(1, hosts));
  gang.checkpoint_seconds = job.checkpoint_seconds();
  gang.interval_seconds = job.checkpoint.interval_seconds;
  gang.restart_seconds = job.capacity.restart_seconds;
  return gang;
}

absl::StatusOr<double> MeasuredRate(const state::ClusterState& cluster, int gpus_per_host) {
  const RealClock clock;
  const state::HostFailures seen =
      state::SeenHostFailures(cluster.jobs, gpus_per_host, clock.WallMs());
  if (seen.enough()) return seen.per_host_day();
  return absl::FailedPreconditionError(
      StrCat("--measured: the TrainingJobs of the files have lost ", Count(seen.failures, "host"),
             " in ", std::round(seen.host_days), " host days, and ", state::HostFailures::kEnough,
             " at least say something about a rate; give --host-failures-per-day"));
}

absl::StatusOr<SparesInput> ReadSparesInput(SparesFlags& flags, std::istream& in) {
  YM_ASSIGN_OR_RETURN(const Manifests manifests, ReadManifests(flags.files, in));
  SparesInput input;
  YM_ASSIGN_OR_RETURN(input.places, PlacesOf(manifests.cluster, InputNames(flags.files)));
  const int gpus_per_host =
      std::max(1, state::UsedFabric(manifests.cluster.fabrics)->spec.gpus_per_host);
  if (flags.measured) {
    YM_ASSIGN_OR_RETURN(flags.failures_per_host_day,
                        MeasuredRate(manifests.cluster, gpus_per_host));
  }
  for (const auto& job : manifests.cluster.jobs) {
    input.gangs.push_back(TimingOf(*job, gpus_per_host));
  }
  return input;
}

// The mean over the gangs, by their hosts.
double GoodputOf(const capacity::SparePool& pool, std::vector<capacity::GangTiming> gangs) {
  if (gangs.empty()) {
    const api::TrainingJob usual;
    capacity::GangTiming gang = TimingOf(usual, 1);
    gang.hosts = pool.hosts - pool.spares;
    gangs.push_back(gang);
  }
  double sum = 0, hosts = 0;
  for (capacity::GangTiming& gang : gangs) {
    SetInterval(pool.failures_per_host_day, gang);
    sum += gang.hosts * capacity::GoodputShare(pool, gang);
    hosts += gang.hosts;
  }
  return sum / hosts;
}

// One row for each number of spares.
json RowsOf(const SparesFlags& flags, const SparesInput& input, const Place& place) {
  json rows = json::array();
  for (int spares = 0; spares <= std::min(kMaxSpares, place.hosts - 1); ++spares) {
    const capacity::SparePool pool{place.hosts, spares, flags.failures_per_host_day,
                                   flags.repair_hours / 24};
    const double goodput = GoodputOf(pool, input.gangs);
    rows.push_back({{"spares", spares},
                    {"inside", capacity::InsideShare(pool)},
                    {"goodput", goodput},
                    {"goodputOfAllHosts", goodput * (place.hosts - spares) / place.hosts}});
  }
  return rows;
}

// The fewest spares whose row has that probability; null: none of them.
json EnoughOf(const json& rows, double inside) {
  for (const json& row : rows) {
    if (row["inside"].get<double>() >= inside) return row["spares"];
  }
  return nullptr;
}

json AnswerOf(const SparesFlags& flags, const SparesInput& input) {
  json answer = {{"hostFailuresPerDay", flags.failures_per_host_day},
                 {"repairHours", flags.repair_hours},
                 {"wantedInside", flags.inside}};
  for (const Place& place : input.places) {
    const std::string suffix = place.suffix;
    json rows = RowsOf(flags, input, place);
    answer["hosts" + suffix] = place.hosts;
    answer["kept" + suffix] = place.kept;
    answer["enough" + suffix] = EnoughOf(rows, flags.inside);
    answer[place.rows] = std::move(rows);
  }
  return answer;
}

std::string Percent(const json& share) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << 100 * share.get<double>() << " %";
  return text.str();
}

std::string NoteOf(const json& spares, const json& kept, const json& enough) {
  std::vector<std::string> notes;
  if (spares == enough) notes.push_back("enough");
  if (spares == kept) notes.push_back("kept by the Fabric");
  return Join(notes, ", ");
}

void PrintSpares(const SparesInput& input, const json& answer, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {
      {"PLACE", "HOSTS", "SPARES", "INSIDE", "GOODPUT", "OF ALL HOSTS", "NOTE"}};
  for (const Place& place : input.places) {
    const std::string suffix = place.suffix;
    for (const json& row : answer[place.rows]) {
      rows.push_back({place.name, std::to_string(place.hosts),
                      std::to_string(row["spares"].get<int>()), Percent(row["inside"]),
                      Percent(row["goodput"]), Percent(row["goodputOfAllHosts"]),
                      NoteOf(row["spares"], answer["kept" + suffix], answer["enough" + suffix])});
    }
  }
  PrintTable(rows, out);
}

}  // namespace

int RunSparesCommand(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
  SparesFlags flags;
  CLI::App app("What 0 to 8 spare hosts in a segment or domain bring", "kubectl yardmaster spares");
  Declare(flags, app);
  app.footer(kFooter);
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<SparesInput> input = ReadSparesInput(flags, in);
  if (!input.ok()) return Fail(input.status(), err);
  const json answer = AnswerOf(flags, *input);
  if (flags.output == "table") {
    PrintSpares(*input, answer, out);
  } else {
    PrintAnswer(answer, flags.output, out);
  }
  return 0;
}

}  // namespace yardmaster::cli
