#include "pkg/config/switch_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/fabric.h"
#include "pkg/api/field_reader.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::config {

namespace {

using fabric::Network;
using fabric::SwitchId;

void Add(std::string own, std::string shown, const std::string& path, api::FieldErrors& errors,
         SwitchNames& out) {
  if (own.empty() || shown.empty()) {
    errors.Add(path, "does not name a switch twice", "give its name in the Fabric and your own");
  } else if (!out.emplace(own, std::move(shown)).second) {
    errors.Add(path, StrCat("names ", own, " again"), "name it once");
  }
}

// What ports say that one ToR is called, with how many say so.
using Votes = std::map<std::string, int>;

std::string WinnerOf(const Votes& votes) {
  int all = 0;
  for (const auto& [name, count] : votes) all += count;
  for (const auto& [name, count] : votes) {
    if (2 * count > all) return name;
  }
  return "";
}

std::string TextOf(const Votes& votes) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : votes) parts.push_back(StrCat(name, " (", count, ")"));
  return Join(parts, ", ");
}

// Moves names that the Fabric would refuse beside those that it has from `out.names` to problems. A
// switch that is left out has its old name again, which others may be called by now: it is repeated
// until nothing is refused.
void LeaveOutRefused(const fabric::FabricSpec& spec, LearnedNames& out) {
  for (bool changed = true; changed;) {
    changed = false;
    fabric::FabricSpec merged = spec;
    merged.switch_names = out.names;
    merged.switch_names.insert(spec.switch_names.begin(), spec.switch_names.end());
    std::set<std::string> gone;
    for (const fabric::SwitchNameProblem& problem : fabric::SwitchNameProblems(merged)) {
      if (gone.count(problem.own) != 0 || gone.count(problem.other) != 0) continue;
      // What the Fabric says by itself stands.
      const bool is_own = out.names.count(problem.own) != 0;
      const auto left_out = out.names.find(is_own ? problem.own : problem.other);
      if (left_out == out.names.end()) continue;
      const auto& [own, name] = *left_out;
      const std::string what =
          is_own ? problem.what : StrCat("\"", name, "\" is also the name of ", problem.own);
      out.problems.push_back(StrCat(own, ": ", what, "; ", problem.fix));
      gone.insert(own);
      out.names.erase(left_out);
      changed = true;
    }
  }
  const std::size_t free = api::kMaxSwitchNames - spec.switch_names.size();
  std::size_t fresh = 0;
  std::erase_if(out.names, [&](const auto& name) {
    return spec.switch_names.count(name.first) == 0 && ++fresh > free;
  });
  if (fresh > free) {
    out.problems.push_back(StrCat(Count(static_cast<std::int64_t>(fresh - free), "ToR"),
                                  " left out: spec.switchNames has at most ", api::kMaxSwitchNames,
                                  " entries"));
  }
}

}  // namespace

absl::StatusOr<SwitchNames> ReadSwitchNames(std::string_view text, std::string_view file) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json root, ParseYaml(text, file));
  api::FieldErrors errors;
  api::FieldReader in(&root, "", api::UnknownFields::kReject, &errors);
  SwitchNames out;
  for (auto& [own, shown] : in.StringMap("switchNames", api::kMaxSwitchNames, api::kSwitchName)) {
    Add(own, shown, api::JoinPath("switchNames", own), errors, out);
  }
  for (api::FieldReader& entry : in.Objects("switches")) {
    const std::string shown = entry.String("chassis", api::kSwitchName);
    const std::string own = entry.String("name");
    entry.Close();
    Add(own, shown, entry.path(), errors, out);
  }
  in.Raw("ports");
  in.Close();
  if (errors.empty() && out.empty()) {
    errors.Add("switchNames", "is empty", "write one with kubectl yardmaster fabric names");
  }
  if (auto status = errors.status(); !status.ok()) return Annotate(status, file);
  return out;
}

LearnedNames LearnSwitchNames(const Network& network,
                              const std::vector<repac::Neighbour>& reports) {
  std::map<SwitchId, Votes> votes;
  for (const repac::Neighbour& report : reports) {
    const fabric::CableId cable = network.FindCable(report.local);
    if (report.chassis.empty() || !cable.valid() || !network.is_host_cable(cable)) continue;
    ++votes[network.tor(network.nic_port_of(cable))][report.chassis];
  }
  LearnedNames out;
  std::map<std::string, std::vector<SwitchId>> by_name;
  for (const auto& [tor, names] : votes) by_name[WinnerOf(names)].push_back(tor);
  for (const auto& [tor, names] : votes) {
    const std::string name = WinnerOf(names);
    const std::string own = network.name(tor);
    if (name.empty()) {
      out.problems.push_back(StrCat(own, ": its ports say different names: ", TextOf(names)));
    } else if (by_name[name].size() > 1) {
      out.problems.push_back(StrCat(own, ": ", name, " is also what the ports of ",
                                    network.name(by_name[name][by_name[name][0] == tor ? 1 : 0]),
                                    " say"));
    } else if (!api::IsSwitchName(name)) {
      out.problems.push_back(StrCat(own, ": \"", name, "\" has more than ", api::kSwitchName.form));
    } else if (static_cast<int>(name.size()) > api::kSwitchName.max_length) {
      out.problems.push_back(StrCat(own, ": ", name.substr(0, 64), "... has more than ",
                                    api::kSwitchName.max_length, " characters"));
    } else {
      out.names[own] = name;
    }
  }
  LeaveOutRefused(network.spec(), out);
  for (int s = 0; s < network.num_switches() && network.tier_of(SwitchId(s)) == 0; ++s) ++out.tors;
  return out;
}

}  // namespace yardmaster::config
