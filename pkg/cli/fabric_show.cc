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
#include "pkg/cli/output/print_objects.h"
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

const char* StateName(char letter) {
  for (const auto& [known, text] : kLegend) {
    if (known == letter) return text;
  }
  return "";
}

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

// `states` with a space before the first host of each further domain.
std::string ApartByDomain(const fabric::Places& places, fabric::SegmentId segment,
                          const std::string& states) {
  if (!places.has_domains()) return states;
  std::string out;
  for (fabric::DomainId domain : places.domains_of(segment)) {
    const auto hosts = places.hosts_of(domain);
    const auto first = hosts[0].value - places.hosts_of(segment)[0].value;
    if (!out.empty()) out += ' ';
    out += states.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(hosts.size()));
  }
  return out;
}

// Cut after every `columns` letters; spaces are not counted, and do not begin a line.
std::vector<std::string> Wrapped(const std::string& letters, int columns) {
  std::vector<std::string> lines = {""};
  int count = 0;
  for (const char letter : letters) {
    if (count == columns) {
      while (!lines.back().empty() && lines.back().back() == ' ') lines.back().pop_back();
      lines.emplace_back();
      count = 0;
    }
    if (letter == ' ' && lines.back().empty()) continue;
    lines.back() += letter;
    count += letter == ' ' ? 0 : 1;
  }
  return lines;
}

// One line a segment, hosts by name, domains apart, wrapped at `columns` letters; then the legend
// of letters that occur. `job` ("namespace/name", or empty): its hosts are upper case.
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
    bool first = true;
    for (const std::string& line : Wrapped(ApartByDomain(places, segment, states), columns)) {
      out += (first ? name + "  " : indent) + line + "\n";
      first = false;
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

// {segments: [{fabricPod, segment, hosts: [{name, domain, state, ofJob}]}]}; domain only where
// Nodes have one, ofJob only with a job.
nlohmann::json FabricAsJson(const state::ClusterState& cluster, const std::string& job) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::Places& places = *snapshot.places;
  const page::Blocks blocks = page::BlocksOf(cluster, snapshot, nullptr);
  const std::set<std::string> mine = HostsOfJob(cluster, job);
  nlohmann::json segments = nlohmann::json::array();
  for (fabric::SegmentId segment : places.segments()) {
    const std::string states =
        nlohmann::json::parse(*blocks.at(StrCat("hosts/", segment.value)))["states"];
    nlohmann::json hosts = nlohmann::json::array();
    for (fabric::HostId host : places.hosts_of(segment)) {
      const std::string& name = places.name(host);
      nlohmann::json entry = {{"name", name}, {"state", StateName(states[hosts.size()])}};
      if (places.has_domains()) entry["domain"] = places.name(places.domain_of(host));
      if (!job.empty()) entry["ofJob"] = mine.count(name) != 0;
      hosts.push_back(std::move(entry));
    }
    segments.push_back({{"fabricPod", places.name(places.fabric_pod_of(segment))},
                        {"segment", places.name(segment)},
                        {"hosts", std::move(hosts)}});
  }
  return {{"segments", std::move(segments)}};
}

}  // namespace

int RunFabricShowCommand(const Args& args, const Connector& connect, std::ostream& out,
                         std::ostream& err) {
  ReadFlags flags;
  std::string job;
  std::string output;
  int columns = 68;
  CLI::App app("The fabric as text: one letter per host", "kubectl yardmaster fabric show");
  app.add_option("--job", job, "job whose hosts are shown in upper case");
  app.add_option("--columns", columns, "hosts per line")->check(CLI::Range(1, 1000));
  app.add_option("-o,--output", output, "json or yaml; a map when left out")
      ->check(CLI::IsMember({"json", "yaml"}));
  DeclareRead(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster fabric show\n"
      "  kubectl yardmaster fabric show --job gpt -n demo");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<ConnectedCluster> cluster = ConnectAndRead(flags, connect, err);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  const std::string key = job.empty() ? "" : StrCat(flags.namespace_name, "/", job);
  if (output.empty()) {
    out << FabricMap(cluster->state, key, columns);
  } else {
    PrintAnswer(FabricAsJson(cluster->state, key), output, out);
  }
  return 0;
}

}  // namespace yardmaster::cli
