#include <climits>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/api/outcome_json.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/extender/observe/observer.h"

namespace yardmaster::cli {

namespace {

using extender::ObservedGang;
using extender::ObservedPlace;

struct ObserveFlags {
  ReadFlags read;
  bool all_namespaces = false;
  std::string output;
};

// Of groups over segments and domains.
std::string Splits(const std::optional<ObservedPlace>& place) {
  if (!place) return "-";
  const placement::Objective& o = place->objective;
  return StrCat(o.tensor_split_domains + o.tensor_split_segments + o.data_split_segments);
}

std::string Segments(const std::optional<ObservedPlace>& place) {
  return place ? StrCat(place->objective.segments) : "-";
}

std::string Contention(const std::optional<ObservedPlace>& place) {
  if (!place || !place->contention) return "-";
  return StrCat(static_cast<std::int64_t>(std::llround(*place->contention * 100)), "%");
}

std::string NoteOf(const ObservedGang& gang) {
  std::vector<std::string> notes;
  if (gang.is_better_planned()) notes.emplace_back("a better place was there");
  if (gang.lost_ranks > 0) {
    notes.push_back(StrCat(Count(gang.lost_ranks, "rank"), " lost, ", gang.replaceable_ranks,
                           " would get another host"));
  }
  if (!gang.planned && !gang.message.empty()) notes.push_back(gang.message);
  if (gang.guessed) notes.emplace_back("parallelism guessed: one data-parallel group");
  return Join(notes, "; ");
}

Table TableOf(const std::vector<ObservedGang>& gangs) {
  Table rows = {{"NAMESPACE", "NAME", "KIND", "STATE", "WORKERS", "GPUS", "SEGMENTS",
                 "PLANNED SEGMENTS", "SPLITS", "PLANNED SPLITS", "CONTENTION", "PLANNED CONTENTION",
                 "NOTE"}};
  for (const ObservedGang& gang : gangs) {
    rows.push_back({gang.namespace_name, gang.name, gang.kind, gang.actual ? "Running" : "Waiting",
                    StrCat(gang.workers), StrCat(gang.gpus), Segments(gang.actual),
                    Segments(gang.planned), Splits(gang.actual), Splits(gang.planned),
                    Contention(gang.actual), Contention(gang.planned), NoteOf(gang)});
  }
  return rows;
}

nlohmann::json PlaceJson(const std::optional<ObservedPlace>& place) {
  if (!place) return nullptr;
  nlohmann::json out = {{"objective", api::EncodeObjective(place->objective)},
                        {"contention", nullptr}};
  if (place->contention) out["contention"] = *place->contention;
  return out;
}

nlohmann::json AsJson(const std::vector<ObservedGang>& gangs) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const ObservedGang& gang : gangs) {
    jobs.push_back({{"namespace", gang.namespace_name},
                    {"name", gang.name},
                    {"kind", gang.kind},
                    {"workers", gang.workers},
                    {"gpus", gang.gpus},
                    {"guessed", gang.guessed},
                    {"actual", PlaceJson(gang.actual)},
                    {"planned", PlaceJson(gang.planned)},
                    {"outcome", api::EncodeOutcome(gang.outcome)},
                    {"better", gang.is_better_planned()},
                    {"lostRanks", gang.lost_ranks},
                    {"replaceableRanks", gang.replaceable_ranks},
                    {"message", gang.message}});
  }
  return {{"jobs", std::move(jobs)}};
}

std::string SummaryOf(const std::vector<ObservedGang>& gangs) {
  int running = 0, better = 0, waiting = 0, fits = 0;
  for (const ObservedGang& gang : gangs) {
    (gang.actual ? running : waiting) += 1;
    better += gang.is_better_planned() ? 1 : 0;
    fits += !gang.actual && gang.planned ? 1 : 0;
  }
  return StrCat("for ", better, " of ", Count(running, "running job"), " a better place is there, ",
                "with all others where they are; ", fits, " of ", waiting, " that wait would fit");
}

}  // namespace

int RunObserveCommand(const Args& args, const Connector& connect, std::ostream& out,
                      std::ostream& err) {
  ObserveFlags flags;
  CLI::App app(
      "Where jobs of other kinds run, and where each would be placed now with all others where "
      "they "
      "are.\nNothing has to be installed for it, and nothing is written.",
      "kubectl yardmaster observe");
  DeclareRead(flags.read, app);
  app.add_flag("-A,--all-namespaces", flags.all_namespaces,
               "jobs of all namespaces, as without -n");
  app.add_option("-o,--output", flags.output, "json or yaml; a table when left out")
      ->check(CLI::IsMember({"json", "yaml"}));
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster observe\n"
      "  kubectl yardmaster observe -n research -o json");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const std::string ns = flags.all_namespaces ? "" : flags.read.namespace_name;
  const absl::StatusOr<ConnectedCluster> cluster =
      ConnectAndRead(flags.read, connect, err, OurKinds::kMayBeMissing);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  extender::Observer observer(INT_MAX);
  extender::Observation seen = observer.Observe(cluster->state);
  std::erase_if(seen.gangs,
                [&](const ObservedGang& gang) { return !ns.empty() && gang.namespace_name != ns; });
  PrintWarnings(seen.notes, err);
  if (!flags.output.empty()) {
    PrintAnswer(AsJson(seen.gangs), flags.output, out);
    return 0;
  }
  PrintTable(TableOf(seen.gangs), out, WantsColour(out));
  out << "\n" << SummaryOf(seen.gangs) << "\n";
  return 0;
}

}  // namespace yardmaster::cli
