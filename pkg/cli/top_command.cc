#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/output/terminal.h"
#include "pkg/cli/top_reader.h"

namespace yardmaster::cli {

namespace {

constexpr int kRefreshSeconds = 5;

struct TopFlags {
  ClusterFlags cluster;
  std::string jobs_of;  // the namespace given; empty: all
  std::string what = "jobs";
  std::string output;
  int limit = 20;
  bool watch = false;
};

std::string Tenths(double value) {
  const auto tenths = static_cast<std::int64_t>(std::llround(value * 10));
  return StrCat(tenths / 10, ".", std::abs(tenths % 10));
}

std::string Percent(double part) {
  return StrCat(static_cast<std::int64_t>(std::llround(part * 100)), "%");
}

// Gangs by what they send, largest first. Loads are in Gb/s. `ns`: of this namespace; empty: of
// all.
Table TopJobs(const plan::Snapshot& snapshot, const page::NetworkPicture& picture,
              const std::string& ns) {
  std::vector<std::pair<double, const plan::JobState*>> order;
  for (const plan::JobState& job : snapshot.jobs) {
    if (!job.assignment || (!ns.empty() && job.job.key.namespace_name != ns)) continue;
    const auto found = picture.jobs.find(job.job.key);
    order.emplace_back(found == picture.jobs.end() ? 0 : found->second.gbps, &job);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Table rows = {{"GANG", "HOSTS", "GPUS", "SEGMENTS", "GBPS", "FLOWS", "WITHOUT PORT"}};
  constexpr int kDomains = 4;  // after SEGMENTS, where hosts have domains
  const bool has_domains = snapshot.places->has_domains();
  for (const auto& [gbps, job] : order) {
    std::vector<std::int32_t> segments;
    for (fabric::HostId host : job->assignment->host_of_rank) {
      if (host.valid()) segments.push_back(snapshot.places->segment_of(host).value);
    }
    std::sort(segments.begin(), segments.end());
    const auto distinct = std::unique(segments.begin(), segments.end()) - segments.begin();
    std::set<fabric::DomainId> domains;
    for (fabric::HostId host : job->assignment->host_of_rank) {
      if (host.valid()) domains.insert(snapshot.places->domain_of(host));
    }
    const auto found = picture.jobs.find(job->job.key);
    const page::JobPaths none;
    const page::JobPaths& paths = found == picture.jobs.end() ? none : found->second;
    rows.push_back({job->job.key.text(), StrCat(job->job.workers), StrCat(job->job.gpus()),
                    StrCat(static_cast<std::int64_t>(distinct)), Tenths(gbps), StrCat(paths.flows),
                    StrCat(paths.unplanned)});
    if (has_domains) rows.back().insert(rows.back().begin() + kDomains, StrCat(domains.size()));
  }
  if (has_domains) rows[0].insert(rows[0].begin() + kDomains, "DOMAINS");
  return rows;
}

bool IsInUse(const plan::Snapshot& snapshot, fabric::DomainId domain) {
  for (fabric::HostId host : snapshot.places->hosts_of(domain)) {
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    if (state.free_gpus < state.gpus) return true;
  }
  return false;
}

int DomainsInUse(const plan::Snapshot& snapshot, fabric::SegmentId segment) {
  int used = 0;
  for (fabric::DomainId domain : snapshot.places->domains_of(segment)) {
    used += IsInUse(snapshot, domain) ? 1 : 0;
  }
  return used;
}

// Segments by the load of their busiest uplink.
Table TopSegments(const plan::Snapshot& snapshot, const page::NetworkPicture& picture) {
  const fabric::Places& places = *snapshot.places;
  std::vector<std::pair<double, fabric::SegmentId>> order;
  for (fabric::SegmentId segment : places.segments()) {
    const bool known = segment.index() < picture.segments.size();
    order.emplace_back(known ? -picture.segments[segment.index()].peak : 0, segment);
  }
  std::sort(order.begin(), order.end());
  Table rows = {{"SEGMENT", "HOSTS", "IN USE", "UPLINKS USED", "SHARED", "GBPS", "PEAK"}};
  constexpr int kDomains = 3;  // after IN USE, where hosts have domains
  for (const auto& [peak, segment] : order) {
    int used = 0;
    for (fabric::HostId host : places.hosts_of(segment)) {
      const placement::HostState& state = snapshot.cluster.hosts[host.index()];
      used += state.free_gpus < state.gpus ? 1 : 0;
    }
    const page::SegmentLoad load = segment.index() < picture.segments.size()
                                       ? picture.segments[segment.index()]
                                       : page::SegmentLoad{};
    rows.push_back({StrCat(places.name(places.fabric_pod_of(segment)), "/", places.name(segment)),
                    StrCat(places.hosts_of(segment).size()), StrCat(used), StrCat(load.uplinks),
                    StrCat(load.shared_uplinks), Tenths(load.gbps), Percent(load.peak)});
    if (!places.has_domains()) continue;
    rows.back().insert(rows.back().begin() + kDomains, StrCat(places.domains_of(segment).size()));
    rows.back().insert(rows.back().begin() + kDomains + 1, StrCat(DomainsInUse(snapshot, segment)));
  }
  if (places.has_domains()) {
    rows[0].insert(rows[0].begin() + kDomains, {"DOMAINS", "DOMAINS IN USE"});
  }
  return rows;
}

// At most page::kMaxBusiest links between switches, by load over capacity, with their jobs and, in
// parentheses, levels.
Table TopLinks(const page::NetworkPicture& picture) {
  Table rows = {{"LINK", "GBPS", "LOAD", "JOBS"}};
  for (const page::LinkPicture& link : picture.busiest) {
    std::vector<std::string> jobs;
    for (const page::JobOnLink& job : link.jobs) {
      jobs.push_back(StrCat(job.job.text(), " (", job.level, ")"));
    }
    rows.push_back(
        {link.shown, Tenths(link.gbps), Percent(link.gbps / link.capacity_gbps), Join(jobs, ", ")});
  }
  return rows;
}

Table AllRows(const TopFlags& flags, const TopLoad& load) {
  if (flags.what == "jobs") return TopJobs(load.snapshot, load.picture, flags.jobs_of);
  if (flags.what == "segments") return TopSegments(load.snapshot, load.picture);
  return TopLinks(load.picture);
}

Table TableOf(const TopFlags& flags, const TopLoad& load) {
  Table table = AllRows(flags, load);
  if (table.size() > static_cast<std::size_t>(flags.limit) + 1) {
    table.resize(static_cast<std::size_t>(flags.limit) + 1);
  }
  return table;
}

}  // namespace

int RunTopCommand(const Args& args, const Connector& connect, std::ostream& out,
                  std::ostream& err) {
  TopFlags flags;
  CLI::App app("Jobs, segments or links by their load on the network", "kubectl yardmaster top");
  app.add_option("what", flags.what, "jobs, segments or links")
      ->check(CLI::IsMember({"jobs", "segments", "links"}));
  app.add_option("--limit", flags.limit, "maximum number of rows")->check(CLI::Range(1, 100000));
  app.add_flag("-w,--watch", flags.watch, "read and print again every 5 seconds");
  app.add_option("-o,--output", flags.output, "json or yaml")
      ->check(CLI::IsMember({"json", "yaml"}));
  app.add_option("-n,--namespace", flags.jobs_of, "namespace of jobs (default: every one)");
  DeclareCluster(flags.cluster, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster top links\n"
      "  kubectl yardmaster top segments --limit 5 -w");
  if (const std::optional<int> code = ParseFlags(app, args, out, err)) return *code;
  absl::StatusOr<ClusterConnection> connection = connect(flags.cluster);
  if (!connection.ok()) return Fail(connection.status(), err);
  const RealClock clock;
  TopReader reader(*std::move(connection), clock);
  do {
    const absl::StatusOr<TopLoad> load = reader.Read(err);
    if (!load.ok()) return Fail(load.status(), err);
    const Table table = TableOf(flags, *load);
    // A terminal shows the newest table alone, a pipe gets them one after the other.
    if (flags.watch && isatty(STDOUT_FILENO) != 0) WriteControl(out, "\033[H\033[2J");
    if (flags.output.empty()) {
      PrintTable(table, out);
    } else {
      PrintAnswer({{flags.what, RowsAsJson(table)}}, flags.output, out);
    }
    out << std::flush;
    if (flags.watch) std::this_thread::sleep_for(std::chrono::seconds(kRefreshSeconds));
  } while (flags.watch);
  return 0;
}

}  // namespace yardmaster::cli
