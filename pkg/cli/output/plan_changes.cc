#include "pkg/cli/output/plan_changes.h"

#include <map>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

std::string JobName(const NamespacedName& key, const ReportNames& names) {
  const auto name = names.find(key);
  return StrCat(key.namespace_name, "/", name == names.end() ? key.name : name->second.name);
}

json HostOrNull(const std::string& host) { return host.empty() ? json() : json(host); }
json LevelOrNull(const std::optional<int>& level) { return level ? json(*level) : json(); }
json PortOrNull(std::uint16_t port) { return port == 0 ? json() : json(port); }

std::string Text(const json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

struct Row {
  int placed = 0;
  int unplaced = 0;
  int moved = 0;
  std::string level = "-";
  int ports = 0;
};

}  // namespace

json ChangesJson(const netplan::PlanDiff& diff, const ReportNames& names) {
  json moved = json::array();
  for (const netplan::MovedRank& rank : diff.moved) {
    moved.push_back({{"job", JobName(rank.job, names)},
                     {"rank", rank.rank},
                     {"from", HostOrNull(rank.from)},
                     {"to", HostOrNull(rank.to)}});
  }
  json levels = json::array();
  for (const netplan::ChangedLevel& level : diff.levels) {
    levels.push_back({{"job", JobName(level.job, names)},
                      {"from", LevelOrNull(level.from)},
                      {"to", LevelOrNull(level.to)}});
  }
  json ports = json::array();
  for (const netplan::ChangedPort& port : diff.ports) {
    ports.push_back({{"job", JobName(port.job, names)},
                     {"from", port.from},
                     {"to", port.to},
                     {"before", PortOrNull(port.before)},
                     {"after", PortOrNull(port.after)}});
  }
  return {{"moved", std::move(moved)}, {"levels", std::move(levels)}, {"ports", std::move(ports)}};
}

std::vector<std::vector<std::string>> ChangesTable(const json& changes) {
  std::map<std::string, Row> by_job;
  for (const json& rank : changes["moved"]) {
    Row& row = by_job[rank["job"]];
    if (rank["from"].is_null()) {
      ++row.placed;
    } else {
      ++(rank["to"].is_null() ? row.unplaced : row.moved);
    }
  }
  for (const json& level : changes["levels"]) {
    by_job[level["job"]].level = StrCat(Text(level["from"]), " -> ", Text(level["to"]));
  }
  for (const json& port : changes["ports"]) ++by_job[port["job"]].ports;
  std::vector<std::vector<std::string>> rows = {
      {"CHANGED", "PLACED", "UNPLACED", "MOVED", "LEVEL", "PORTS"}};
  for (const auto& [job, row] : by_job) {
    rows.push_back({job, StrCat(row.placed), StrCat(row.unplaced), StrCat(row.moved), row.level,
                    StrCat(row.ports)});
  }
  return rows;
}

}  // namespace yardmaster::cli
