#include "pkg/cli/output/overview.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/extender/ledger/free_places.h"
#include "pkg/gather/incomplete_gang.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/subject.h"

namespace yardmaster::cli {

namespace {

using gather::IncompleteGang;
using state::SegmentsOf;
using state::StateOf;
using state::Subject;
using state::SubjectsOf;

std::string Shortened(const std::string& text) {
  constexpr std::size_t kMax = 80;
  return text.size() <= kMax ? text : StrCat(CutAtCharacter(text, kMax - 3), "...");
}

// Sets of pods that are not a whole gang, by the name that their Gang has or will have.
using IncompleteGangs = std::map<NamespacedName, IncompleteGang>;

IncompleteGangs IncompleteIn(const state::ClusterState& cluster) {
  IncompleteGangs out;
  for (IncompleteGang& gang : gather::IncompleteGangsOf(cluster)) {
    NamespacedName key = gang.gang;
    out.emplace(std::move(key), std::move(gang));
  }
  return out;
}

// The columns of JobsTable that are filled in after the row is made.
enum JobColumn : std::size_t { kState = 3, kSegments = 7, kLevel = 8, kReason = 10 };

// "45s", "12m", "5h", "3d": as kubectl shows an age.
std::string Age(std::int64_t created_ms, std::int64_t now_ms) {
  if (created_ms <= 0 || now_ms <= 0) return "-";
  const std::int64_t seconds = std::max<std::int64_t>(0, (now_ms - created_ms) / 1000);
  if (seconds < 120) return StrCat(seconds, "s");
  if (seconds < 7'200) return StrCat(seconds / 60, "m");
  if (seconds < 172'800) return StrCat(seconds / 3'600, "h");
  return StrCat(seconds / 86'400, "d");
}

// Of a set of pods without a Gang.
std::vector<std::string> IncompleteRow(const IncompleteGang& gang, bool wide) {
  std::vector<std::string> row = {gang.gang.namespace_name,
                                  gang.owner.name,
                                  gang.owner.kind,
                                  std::string(Name(gang.cause)),
                                  StrCat(gang.wanted.value_or(gang.there)),
                                  "-",
                                  "-",
                                  "-",
                                  "-",
                                  "-",
                                  wide ? gang.text : Shortened(gang.text)};
  if (wide) row.insert(row.end(), {StrCat(gang.priority), "-", "-", "-"});
  return row;
}

// Of all workers together.
std::int64_t TotalGpus(const Subject& subject) {
  const api::JobSpec& job = subject.spec();
  if (subject.gang == nullptr || subject.gang->roles.empty()) {
    return std::int64_t{job.workers} * job.gpus_per_worker;
  }
  const std::vector<api::GangRole>& roles = subject.gang->roles;
  std::int64_t gpus = 0;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const int end = i + 1 < roles.size() ? roles[i + 1].first_rank : job.workers;
    const int workers = std::max(0, end - roles[i].first_rank);
    gpus += std::int64_t{workers} * roles[i].gpus.value_or(job.gpus_per_worker);
  }
  return gpus;
}

std::vector<std::string> JobRow(const Subject& subject, std::int64_t now_ms, bool wide) {
  const api::JobSpec& job = subject.spec();
  const api::ObjectMeta& metadata =
      subject.job != nullptr ? subject.job->metadata : subject.gang->metadata;
  std::vector<std::string> row = {
      subject.namespace_name,
      subject.name,
      subject.kind,
      StateOf(subject),
      StrCat(job.workers),
      StrCat(TotalGpus(subject)),
      subject.job != nullptr ? StrCat(subject.job->status.ready_workers) : "-",
      "-",
      "-",
      Age(metadata.created_ms, now_ms),
      ""};
  if (wide) {
    row.push_back(StrCat(job.priority));
    row.push_back(subject.gang != nullptr ? StrCat(subject.gang->status.plan_generation) : "-");
    const api::CapacityStatus none;
    const auto& rented = subject.job != nullptr ? subject.job->status.capacity : none;
    const auto money = [&](capacity::Micros micros) {
      return rented.currency.empty() ? "-" : capacity::FormatMoney({micros, rented.currency});
    };
    row.push_back(money(rented.rate));
    row.push_back(money(rented.spent));
  }
  if (subject.gang == nullptr) return row;
  const api::GangStatus& status = subject.gang->status;
  std::vector<std::string> segments;
  for (const auto& [name, count] : SegmentsOf(*subject.gang)) segments.push_back(name);
  if (segments.size() > 3) segments = {StrCat(segments.size(), " segments")};
  if (!segments.empty()) row[kSegments] = Join(segments, ",");
  if (status.network) row[kLevel] = StrCat(status.network->level);
  if (!status.committed() && !status.reasons.empty()) {
    const std::string& reason = status.reasons[0].message;
    row[kReason] = wide ? reason : Shortened(reason);
  }
  return row;
}

struct SegmentCounts {
  int hosts = 0;
  int free = 0;
  int held = 0;
  int out = 0;
  int backup = 0;
  int free_backup = 0;
};

SegmentCounts CountSegment(const plan::Snapshot& snapshot, fabric::SegmentId segment) {
  SegmentCounts counts;
  for (fabric::HostId host : snapshot.places->hosts_of(segment)) {
    const placement::HostState& state = snapshot.cluster.hosts[host.index()];
    const bool usable = state.unavailable == placement::Unavailability::kNo;
    const bool whole = state.free_gpus == state.gpus;
    ++counts.hosts;
    if (state.backup) ++counts.backup;
    if (!usable) {
      ++counts.out;
    } else if (!whole) {
      ++counts.held;
    } else if (state.backup) {
      ++counts.free_backup;
    } else {
      ++counts.free;
    }
  }
  return counts;
}

// Domains of the segment, and of these the ones whose ordinary hosts are all free.
struct DomainCounts {
  int all = 0;
  int free = 0;
};

DomainCounts CountDomains(const plan::Snapshot& snapshot, fabric::SegmentId segment) {
  DomainCounts counts;
  for (fabric::DomainId domain : snapshot.places->domains_of(segment)) {
    const auto hosts = snapshot.places->hosts_of(domain);
    ++counts.all;
    counts.free += extender::OrdinaryHostsOf(snapshot.cluster, hosts).AllFree() ? 1 : 0;
  }
  return counts;
}

// "FABRIC POD" -> "fabricPod".
std::string FieldName(const std::string& header) {
  std::string out;
  bool next_upper = false;
  for (char c : header) {
    if (c == ' ') {
      next_upper = true;
      continue;
    }
    out += next_upper ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    next_upper = false;
  }
  return out;
}

}  // namespace

Table JobsTable(const state::ClusterState& cluster, const std::string& namespace_name,
                std::int64_t now_ms, bool wide, const LabelSelector& selector) {
  Table rows = {{"NAMESPACE", "NAME", "KIND", "STATE", "WORKERS", "GPUS", "READY", "SEGMENTS",
                 "LEVEL", "AGE", "REASON"}};
  if (wide) rows[0].insert(rows[0].end(), {"PRIORITY", "PLAN", "COST PER HOUR", "SPENT"});
  const auto is_shown = [&](const std::string& ns) {
    return namespace_name.empty() || ns == namespace_name;
  };
  IncompleteGangs incomplete = IncompleteIn(cluster);
  for (const Subject& subject : SubjectsOf(cluster)) {
    const auto pods = incomplete.extract(subject.key());
    if (!is_shown(subject.namespace_name)) continue;
    const api::ObjectMeta& metadata =
        subject.job != nullptr ? subject.job->metadata : subject.gang->metadata;
    if (!selector.Matches(metadata.labels)) continue;
    rows.push_back(JobRow(subject, now_ms, wide));
    if (pods.empty()) continue;
    rows.back()[kState] = Name(pods.mapped().cause);
    rows.back()[kReason] = wide ? pods.mapped().text : Shortened(pods.mapped().text);
  }
  for (const auto& [key, gang] : incomplete) {
    if (is_shown(key.namespace_name) && selector.Matches({})) {
      rows.push_back(IncompleteRow(gang, wide));
    }
  }
  std::stable_sort(rows.begin() + 1, rows.end(), [](const auto& a, const auto& b) {
    return std::tie(a[0], a[1], a[2]) < std::tie(b[0], b[1], b[2]);
  });
  return rows;
}

Table SegmentsTable(const state::ClusterState& cluster) {
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const fabric::Places& places = *snapshot.places;
  Table rows = {{"FABRIC POD", "SEGMENT", "HOSTS", "FREE", "HELD", "OUT", "BACKUP"}};
  for (fabric::SegmentId segment : places.segments()) {
    const SegmentCounts c = CountSegment(snapshot, segment);
    rows.push_back({places.name(places.fabric_pod_of(segment)), places.name(segment),
                    StrCat(c.hosts), StrCat(c.free), StrCat(c.held), StrCat(c.out),
                    StrCat(c.free_backup, " of ", c.backup, " free")});
    if (!places.has_domains()) continue;
    const DomainCounts domains = CountDomains(snapshot, segment);
    rows.back().insert(rows.back().end(), {StrCat(domains.all), StrCat(domains.free)});
  }
  if (places.has_domains()) rows[0].insert(rows[0].end(), {"DOMAINS", "FREE DOMAINS"});
  return rows;
}

nlohmann::json RowsAsJson(const Table& table) {
  // Columns of names and texts, which may look like numbers.
  static const std::set<std::string> texts = {"NAMESPACE",  "NAME",    "KIND",  "HOST",
                                              "FABRIC POD", "SEGMENT", "STATE", "REASON",
                                              "GANG",       "LINK",    "DOMAIN"};
  nlohmann::json out = nlohmann::json::array();
  for (std::size_t r = 1; r < table.size(); ++r) {
    nlohmann::json row = nlohmann::json::object();
    for (std::size_t c = 0; c < table[r].size(); ++c) {
      const std::string& text = table[r][c];
      nlohmann::json& cell = row[FieldName(table[0][c])];
      const auto number = ParseNumber<std::int64_t>(text);
      if (number && texts.count(table[0][c]) == 0) {
        cell = *number;
      } else if (text != "-") {
        cell = text;
      }
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace yardmaster::cli
