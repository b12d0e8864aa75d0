#include "simulation/formats/crux_case.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/config/json_text.h"
#include "pkg/config/yaml.h"

namespace yardmaster::sim {
namespace {

using nlohmann::json;

constexpr std::int32_t kDefaultLevels = 8;

// One JSON object with the path at which it stands.
class CaseReader {
 public:
  CaseReader(const json& value, std::string path) : value_(value), path_(std::move(path)) {}

  absl::Status CheckKeys(std::initializer_list<const char*> known) const {
    if (!value_.is_object()) return Wrong("", "an object", value_);
    for (const auto& [key, unused] : value_.items()) {
      bool found = false;
      for (const char* name : known) found |= key == name;
      if (found) continue;
      std::vector<std::string> names(known.begin(), known.end());
      return FieldError(At(key), "unknown key", StrCat("known ones are ", Join(names, ", ")));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(const char* key) const {
    YM_ASSIGN_OR_RETURN(const json* value, Required(key, "a string"));
    if (!value->is_string()) return Wrong(key, "a string", *value);
    return value->get<std::string>();
  }

  absl::StatusOr<double> Number(const char* key) const {
    YM_ASSIGN_OR_RETURN(const json* value, Required(key, "a number"));
    if (!value->is_number()) return Wrong(key, "a number", *value);
    return value->get<double>();
  }

  absl::StatusOr<bool> Bool(const char* key) const {
    YM_ASSIGN_OR_RETURN(const json* value, Required(key, "true or false"));
    if (!value->is_boolean()) return Wrong(key, "true or false", *value);
    return value->get<bool>();
  }

  absl::StatusOr<std::int32_t> Integer(const char* key) const {
    YM_ASSIGN_OR_RETURN(const double value, Number(key));
    constexpr std::int32_t kLimit = std::numeric_limits<std::int32_t>::max();
    if (std::trunc(value) != value || std::abs(value) > kLimit) {
      return Wrong(key, StrCat("a whole number of at most ", kLimit), value_.at(key));
    }
    return static_cast<std::int32_t>(value);
  }

  absl::StatusOr<const json*> Array(const char* key) const {
    YM_ASSIGN_OR_RETURN(const json* value, Required(key, "an array"));
    if (!value->is_array()) return Wrong(key, "an array", *value);
    return value;
  }

  bool Has(const char* key) const { return value_.contains(key); }
  std::string At(std::string_view key) const {
    return path_.empty() ? std::string(key) : StrCat(path_, ".", key);
  }

 private:
  absl::StatusOr<const json*> Required(const char* key, std::string_view kind) const {
    const auto at = value_.find(key);
    if (at == value_.end()) return FieldError(At(key), "is missing", StrCat("give ", kind));
    return &*at;
  }
  absl::Status Wrong(std::string_view key, std::string_view wanted, const json& got) const {
    std::string shown = got.dump(-1, ' ', true, json::error_handler_t::replace);
    if (shown.size() > 40) shown = StrCat(shown.substr(0, 40), "...");
    std::string where = key.empty() ? path_ : At(key);
    if (where.empty()) where = "case";
    return FieldError(where, StrCat("is ", shown), StrCat("it has to be ", wanted));
  }

  const json& value_;
  std::string path_;
};

using LinkIndex = std::map<std::string, std::int32_t, std::less<>>;

absl::Status ReadPath(const json& value, const std::string& path, const LinkIndex& links,
                      crux::PathList& out) {
  if (!value.is_array()) return FieldError(path, "is not an array", "list the ids of its links");
  std::vector<std::int32_t> indices;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = StrCat(path, "[", i, "]");
    if (!value[i].is_string()) return FieldError(at, "is not a string", "give the id of a link");
    const auto& id = value[i].get_ref<const std::string&>();
    const auto link = links.find(id);
    if (link == links.end()) {
      return FieldError(at, StrCat("unknown link \"", id, "\""), "declare it under links");
    }
    indices.push_back(link->second);
  }
  out.Add(indices);
  return absl::OkStatus();
}

absl::StatusOr<crux::Flow> ReadFlow(const json& value, const std::string& path, std::size_t index,
                                    const LinkIndex& links) {
  const CaseReader reader(value, path);
  YM_RETURN_IF_ERROR(reader.CheckKeys(
      {"id", "bytes", "communicationStart", "everyIterations", "background", "ring", "paths"}));
  crux::Flow flow;
  flow.id = StrCat("f", index);
  if (reader.Has("id")) {
    YM_ASSIGN_OR_RETURN(flow.id, reader.Text("id"));
  }
  YM_ASSIGN_OR_RETURN(flow.bytes, reader.Number("bytes"));
  if (reader.Has("communicationStart")) {
    YM_ASSIGN_OR_RETURN(flow.communication_start, reader.Number("communicationStart"));
  }
  if (reader.Has("everyIterations")) {
    YM_ASSIGN_OR_RETURN(flow.every_iterations, reader.Integer("everyIterations"));
  }
  if (reader.Has("background")) {
    YM_ASSIGN_OR_RETURN(flow.background, reader.Bool("background"));
  }
  if (reader.Has("ring")) {
    YM_ASSIGN_OR_RETURN(flow.ring, reader.Integer("ring"));
    if (flow.ring < 0) {
      return FieldError(reader.At("ring"), StrCat("is ", flow.ring),
                        "number rings from 0; leave it out for a flow on its own");
    }
  }
  YM_ASSIGN_OR_RETURN(const json* paths, reader.Array("paths"));
  for (std::size_t p = 0; p < paths->size(); ++p) {
    YM_RETURN_IF_ERROR(ReadPath((*paths)[p], StrCat(path, ".paths[", p, "]"), links, flow.paths));
  }
  return flow;
}

absl::StatusOr<crux::ContendingJob> ReadJob(const json& value, const std::string& path,
                                            const LinkIndex& links) {
  const CaseReader reader(value, path);
  YM_RETURN_IF_ERROR(reader.CheckKeys(
      {"id", "gpus", "flopPerIteration", "computeSeconds", "communicationStart", "flows"}));
  crux::ContendingJob job;
  YM_ASSIGN_OR_RETURN(job.id, reader.Text("id"));
  YM_ASSIGN_OR_RETURN(job.gpus, reader.Integer("gpus"));
  YM_ASSIGN_OR_RETURN(job.flop_per_iteration, reader.Number("flopPerIteration"));
  YM_ASSIGN_OR_RETURN(job.compute_seconds, reader.Number("computeSeconds"));
  if (reader.Has("communicationStart")) {
    YM_ASSIGN_OR_RETURN(job.communication_start, reader.Number("communicationStart"));
  }
  YM_ASSIGN_OR_RETURN(const json* flows, reader.Array("flows"));
  for (std::size_t f = 0; f < flows->size(); ++f) {
    YM_ASSIGN_OR_RETURN(crux::Flow flow,
                        ReadFlow((*flows)[f], StrCat(path, ".flows[", f, "]"), f, links));
    job.flows.push_back(std::move(flow));
  }
  return job;
}

bool IsObjectText(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

}  // namespace

absl::StatusOr<crux::Problem> ParseCruxCase(const json& value) {
  const CaseReader reader(value, "");
  YM_RETURN_IF_ERROR(reader.CheckKeys({"levels", "links", "jobs"}));
  crux::Problem problem;
  problem.levels = kDefaultLevels;
  if (reader.Has("levels")) {
    YM_ASSIGN_OR_RETURN(problem.levels, reader.Integer("levels"));
  }
  YM_ASSIGN_OR_RETURN(const json* links, reader.Array("links"));
  LinkIndex index;
  for (std::size_t l = 0; l < links->size(); ++l) {
    const CaseReader link((*links)[l], StrCat("links[", l, "]"));
    YM_RETURN_IF_ERROR(link.CheckKeys({"id", "gbps"}));
    YM_ASSIGN_OR_RETURN(std::string id, link.Text("id"));
    YM_ASSIGN_OR_RETURN(const double gbps, link.Number("gbps"));
    index.emplace(id, static_cast<std::int32_t>(l));
    problem.links.push_back({std::move(id), gbps});
  }
  YM_ASSIGN_OR_RETURN(const json* jobs, reader.Array("jobs"));
  for (std::size_t j = 0; j < jobs->size(); ++j) {
    YM_ASSIGN_OR_RETURN(crux::ContendingJob job,
                        ReadJob((*jobs)[j], StrCat("jobs[", j, "]"), index));
    problem.jobs.push_back(std::move(job));
  }
  YM_RETURN_IF_ERROR(crux::Validate(problem, {.allow_jobs_without_flows = false}));
  return problem;
}

absl::StatusOr<crux::Problem> ReadCruxCase(std::string_view text, std::string_view name) {
  // JSON is much faster read as such; what is not JSON after all goes the other way, which also
  // has the better messages.
  if (IsObjectText(text)) {
    YM_ASSIGN_OR_RETURN(const auto value, config::ParseJsonText(text, name));
    if (value.has_value()) return ParseCruxCase(*value);
  }
  YM_ASSIGN_OR_RETURN(const json value, config::ParseYaml(text, name));
  return ParseCruxCase(value);
}

CanonicalCase Canonical(const crux::Problem& problem) {
  const auto order = [](const auto& items) {
    std::vector<std::int32_t> places(items.size());
    std::iota(places.begin(), places.end(), 0);
    // j2 before j10.
    std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(items[a].id.size(), items[a].id) <
             std::pair(items[b].id.size(), items[b].id);
    });
    return places;
  };
  CanonicalCase out;
  out.problem.levels = problem.levels;
  std::vector<std::int32_t> link_place(problem.links.size());
  for (const std::int32_t l : order(problem.links)) {
    link_place[l] = static_cast<std::int32_t>(out.problem.links.size());
    out.problem.links.push_back(problem.links[l]);
  }
  out.jobs = order(problem.jobs);
  std::vector<std::int32_t> path;
  for (const std::int32_t j : out.jobs) {
    crux::ContendingJob job = problem.jobs[j];
    out.flows.push_back(order(job.flows));
    std::vector<crux::Flow> flows;
    for (const std::int32_t f : out.flows.back()) {
      crux::Flow flow = job.flows[f];
      crux::PathList paths;
      for (std::int32_t p = 0; p < flow.paths.size(); ++p) {
        path.clear();
        for (const std::int32_t link : flow.paths[p]) path.push_back(link_place[link]);
        paths.Add(path);
      }
      flow.paths = std::move(paths);
      flows.push_back(std::move(flow));
    }
    job.flows = std::move(flows);
    out.problem.jobs.push_back(std::move(job));
  }
  return out;
}

crux::Solution InOrderOfTheFile(const CanonicalCase& canonical, crux::Solution solution) {
  crux::Solution out = solution;
  for (std::size_t i = 0; i < canonical.jobs.size(); ++i) {
    crux::JobDecision& decision = out.jobs[canonical.jobs[i]];
    decision = solution.jobs[i];
    for (std::size_t f = 0; f < canonical.flows[i].size(); ++f) {
      decision.paths[canonical.flows[i][f]] = solution.jobs[i].paths[f];
    }
  }
  for (crux::ContentionEdge& edge : out.edges) {
    edge.from = crux::ContendingJobId(canonical.jobs[edge.from.index()]);
    edge.to = crux::ContendingJobId(canonical.jobs[edge.to.index()]);
  }
  std::sort(out.edges.begin(), out.edges.end(),
            [](const crux::ContentionEdge& a, const crux::ContentionEdge& b) {
              return std::pair(a.from, a.to) < std::pair(b.from, b.to);
            });
  return out;
}

json CruxAnswer(const crux::Problem& problem, const crux::Solution& solution, double utilisation) {
  json jobs = json::array();
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const crux::JobDecision& decision = solution.jobs[j];
    json flows = json::array();
    for (std::size_t f = 0; f < decision.paths.size(); ++f) {
      flows.push_back({{"id", problem.jobs[j].flows[f].id}, {"path", decision.paths[f]}});
    }
    json job{
        {"id", problem.jobs[j].id},        {"communicationSeconds", decision.communication_seconds},
        {"intensity", decision.intensity}, {"correction", decision.correction},
        {"priority", decision.priority},   {"level", decision.level},
        {"flows", std::move(flows)}};
    if (decision.offset_seconds > 0) job["offsetSeconds"] = decision.offset_seconds;
    jobs.push_back(std::move(job));
  }
  json edges = json::array();
  for (const crux::ContentionEdge& edge : solution.edges) {
    edges.push_back({{"from", problem.jobs[edge.from.index()].id},
                     {"to", problem.jobs[edge.to.index()].id},
                     {"weight", edge.weight}});
  }
  json contention{{"edges", std::move(edges)}, {"loss", solution.loss}};
  if (solution.optimal_loss) contention["optimalLoss"] = *solution.optimal_loss;
  return {{"jobs", std::move(jobs)},
          {"contention", std::move(contention)},
          {"utilisation", utilisation}};
}

}  // namespace yardmaster::sim
