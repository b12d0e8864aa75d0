#include <array>
#include <cctype>
#include <ostream>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/page/cluster_page.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

namespace {

constexpr std::array<std::pair<char, const char*>, 9> kLegend = {{{'f', "free"},
                                                                  {'r', "running"},
                                                                  {'p', "promised"},
                                                                  {'o', "other pods"},
                                                                  {'b', "backup"},
                                                                  {'d', "draining"},
                                                                  {'c', "cordoned"},
                                                                  {'t', "tainted"},
                                                                  {'x', "not ready"}}};

std::set<std::string> HostsOfJob(const state::ClusterState& cluster, const std::string& job) {
  std::set<std::string> hosts;
  for (const state::Subject& subject : state::SubjectsOf(cluster)) {
    if (subject.gang == nullptr || StrCat(subject.namespace_name, "/", subject.name) != job)
      continue;
    for (const api::AssignmentEntry& entry : subject.gang->status.assignments) {
      hosts.insert(entry.host);
    }
  }
  return hosts;
}

// One line a segment, hosts by name, wrapped at `columns` letters; then the legend of letters that
// occur. `job` ("namespace/name", or empty): its hosts are upper case.
std::string FabricMap(const state::ClusterState& cluster, const std::string& job, int columns) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::Places& places = *snapshot.places;
  const page::Blocks blocks = page::BlocksOf(cluster, snapshot, nullptr);
  const std::set<std::string> mine = HostsOfJob(cluster, job);
  std::string out;
  std::set<char> letters;
  for (fabric::SegmentId segment : places.segments()) {
    const std::string name =
        StrCat(places.name(places.fabric_pod_of(segment)), "/", places.name(segment));
    std::string states =
        nlohmann::json::parse(*blocks.at(StrCat("hosts/", segment.value)))["states"];
    letters.insert(states.begin(), states.end());
    for (int i = 0; i < places.hosts_of(segment).size(); ++i) {
      if (mine.count(places.name(places.hosts_of(segment)[i])) == 0) continue;
      char& letter = states[static_cast<std::size_t>(i)];
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    const std::string indent(name.size() + 2, ' ');
    for (std::size_t at = 0; at < states.size(); at += static_cast<std::size_t>(columns)) {
      out += (at == 0 ? name + "  " : indent) +
             states.substr(at, static_cast<std::size_t>(columns)) + "\n";
    }
  }
  if (places.num_hosts() == 0) return "no Node has a place in the fabric\n";
  out += "\n";
  for (const auto& [letter, text] : kLegend) {
    if (letters.count(letter) != 0) out += StrCat(std::string(1, letter), " ", text, "   ");
  }
  while (out.back() == ' ') out.pop_back();
  out += "\n";
  if (!job.empty()) {
    out += StrCat("upper case: ", Count(static_cast<std::int64_t>(mine.size()), "host"), " of ",
                  job, "\n");
  }
  return out;
}

}  // namespace

int RunFabricShowCommand(const Args& args, const Connector& connect, std::ostream& out,
                         std::ostream& err) {
  ReadFlags flags;
  std::string job;
  int columns = 68;
  CLI::App app("The fabric as text: one letter per host", "kubectl yardmaster fabric show");
  app.add_option("--job", job, "job whose hosts are shown in upper case");
  app.add_option("--columns", columns, "hosts per line")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  DeclareRead(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster fabric show\n"
      "  kubectl yardmaster fabric show --job gpt -n demo");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  out << FabricMap(cluster->state, job.empty() ? "" : StrCat(flags.namespace_name, "/", job),
                   columns);
  return 0;
}

}  // namespace yardmaster::cli
