#include "simulation/formats/trace_files.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

constexpr std::int32_t kGpusOfAWorker = 8;  // where RES does not say
constexpr std::int32_t kMaxGpus = 1'000'000;

// The cells of a line; a quoted one may hold commas, and "" for a quote.
std::vector<std::string> CsvCells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool doubled = quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (doubled) {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

// A table with named columns over text that outlives it.
class Table {
 public:
  // Each column by the first of its names that the header has.
  static absl::StatusOr<Table> Parse(
      std::string_view name, std::string_view text,
      std::initializer_list<std::initializer_list<const char*>> columns) {
    Table table;
    std::vector<std::string> header;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      std::vector<std::string> cells = CsvCells(line);
      if (header.empty()) {
        header = std::move(cells);
      } else {
        table.rows_.push_back(std::move(cells));
      }
    }
    for (const auto& names : columns) {
      std::size_t found = header.size();
      for (const char* candidate : names) {
        const auto at = std::find(header.begin(), header.end(), candidate);
        if (found == header.size()) found = static_cast<std::size_t>(at - header.begin());
      }
      if (found == header.size()) {
        return FieldError(name, StrCat("has no column ", *names.begin()),
                          "give the file as published, with its first line");
      }
      table.columns_.push_back(found);
    }
    return table;
  }

  std::size_t size() const { return rows_.size(); }
  std::string_view Cell(std::size_t row, std::size_t column) const {
    const std::vector<std::string>& cells = rows_[row];
    return columns_[column] < cells.size() ? std::string_view(cells[columns_[column]]) : "";
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> columns_;
};

// "2023/7/15 02:19", optionally with seconds, as seconds since 1970.
std::optional<double> ParseWhen(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto day = Split(text.substr(0, space), '/');
  const auto time = Split(text.substr(space + 1), ':');
  if (day.size() != 3 || time.size() < 2 || time.size() > 3) return std::nullopt;
  std::vector<int> numbers;
  for (const auto& parts : {day, time}) {
    for (const std::string& part : parts) {
      const auto number = ParseNumber<int>(part);
      if (!number || *number < 0) return std::nullopt;
      numbers.push_back(*number);
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(numbers[0]),
                                         std::chrono::month(static_cast<unsigned>(numbers[1])),
                                         std::chrono::day(static_cast<unsigned>(numbers[2]))};
  if (!date.ok() || numbers[0] > 9999 || numbers[3] > 23 || numbers[4] > 59) return std::nullopt;
  const int seconds = numbers.size() > 5 ? numbers[5] : 0;
  if (seconds > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400.0 + numbers[3] * 3600 + numbers[4] * 60 + seconds;
}

// The number that follows "gpu" in what a worker asked for, after any separator; or all of it.
std::int32_t GpusOf(std::string_view resources) {
  if (const auto number = ParseNumber<std::int32_t>(resources)) return *number;
  std::string lower(resources);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto digit = [&](std::size_t i) {
    return i < lower.size() && std::isdigit(static_cast<unsigned char>(lower[i]));
  };
  std::size_t at = lower.find("gpu");
  if (at == std::string::npos) return kGpusOfAWorker;
  while (at < lower.size() && !digit(at)) ++at;
  std::size_t end = at;
  while (digit(end)) ++end;
  const auto gpus = ParseNumber<std::int32_t>(std::string_view(lower).substr(at, end - at));
  return gpus ? *gpus : kGpusOfAWorker;
}

struct Workers {
  std::int32_t gpus = 0;
  bool all_known = true;                         // every worker's host is one of the network
  std::map<std::int32_t, std::int32_t> by_host;  // GPUs
};

using WorkersByJob = std::map<std::string, Workers, std::less<>>;

absl::StatusOr<WorkersByJob> ParseWorkers(std::string_view worker_csv, const TraceHostIndex& hosts,
                                          SkippedRows& skipped) {
  YM_ASSIGN_OR_RETURN(const Table table,
                      Table::Parse("worker.csv", worker_csv, {{"job_name"}, {"RES"}, {"host_ip"}}));
  WorkersByJob jobs;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string_view job = table.Cell(row, 0);
    const std::int32_t count = GpusOf(table.Cell(row, 1));
    if (job.empty() || count < 0 || count > kMaxGpus) {
      ++skipped["worker.csv: no job or no sensible resources"];
      continue;
    }
    Workers& workers = jobs[std::string(job)];
    workers.gpus = std::min(kMaxGpus, workers.gpus + count);
    if (count == 0) continue;  // a master without GPUs may stand anywhere
    const auto host = hosts.find(table.Cell(row, 2));
    if (host == hosts.end()) {
      workers.all_known = false;
    } else {
      std::int32_t& there = workers.by_host[host->second];
      there = std::min(kMaxGpus, there + count);
    }
  }
  return jobs;
}

std::vector<TracePlace> PlacesOf(const Workers& workers) {
  std::vector<TracePlace> places;
  if (!workers.all_known) return places;
  for (const auto& [host, gpus] : workers.by_host) places.push_back({host, gpus});
  return places;
}

}  // namespace

absl::StatusOr<std::vector<TraceJob>> ParseTraceJobs(std::string_view job_csv,
                                                     std::string_view worker_csv,
                                                     const TraceHostIndex& hosts,
                                                     SkippedRows& skipped) {
  YM_ASSIGN_OR_RETURN(const auto workers_of, ParseWorkers(worker_csv, hosts, skipped));
  YM_ASSIGN_OR_RETURN(
      const Table table,
      Table::Parse("job.csv", job_csv,
                   {{"job_name"},
                    {"model"},
                    {"gmt_job_submitted"},
                    {"gmt_job_running"},
                    {"gmt_job_finished", "gmt_job_stopped", "gmt_job_finished/stopped"}}));
  std::vector<TraceJob> jobs;
  std::set<std::string, std::less<>> seen;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string id(table.Cell(row, 0));
    const auto submitted = ParseWhen(table.Cell(row, 2));
    const auto running = ParseWhen(table.Cell(row, 3));
    const auto finished = ParseWhen(table.Cell(row, 4));
    const auto workers = workers_of.find(id);
    const char* reason = nullptr;
    if (id.empty() || seen.count(id) > 0) {
      reason = "job.csv: no name, or the name of an earlier row";
    } else if (!submitted || !running || !finished) {
      reason = "job.csv: a time is missing or cannot be read";
    } else if (*running < *submitted) {
      reason = "job.csv: running before submitted";
    } else if (*finished <= *running) {
      reason = "job.csv: finished before running";
    } else if (workers == workers_of.end() || workers->second.gpus < 1) {
      reason = "job.csv: no worker with GPUs";
    }
    if (reason != nullptr) {
      ++skipped[reason];
      continue;
    }
    seen.insert(id);
    jobs.push_back({id, std::string(table.Cell(row, 1)), workers->second.gpus, *submitted,
                    *finished - *running, PlacesOf(workers->second)});
  }
  if (jobs.empty()) return FieldError("job.csv", "has no usable row", "give the published file");
  std::sort(jobs.begin(), jobs.end(), [](const TraceJob& a, const TraceJob& b) {
    return std::tie(a.arrival_seconds, a.id) < std::tie(b.arrival_seconds, b.id);
  });
  const double first = jobs.front().arrival_seconds;
  for (TraceJob& job : jobs) job.arrival_seconds -= first;
  return jobs;
}

absl::StatusOr<std::vector<ModelSize>> ParseModelSizes(std::string_view model_gpus_csv,
                                                       SkippedRows& skipped) {
  YM_ASSIGN_OR_RETURN(const Table table,
                      Table::Parse("model-gpus.csv", model_gpus_csv, {{"model"}, {"total_gpu"}}));
  std::vector<ModelSize> sizes;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto gpus = ParseNumber<std::int32_t>(table.Cell(row, 1));
    if (!gpus || *gpus < 1 || *gpus > kMaxGpus || table.Cell(row, 0).empty()) {
      ++skipped["model-gpus.csv: no model or no GPU count"];
      continue;
    }
    sizes.push_back({std::string(table.Cell(row, 0)), *gpus});
  }
  if (sizes.empty()) {
    return FieldError("model-gpus.csv", "has no usable row", "give the published file");
  }
  return sizes;
}

absl::StatusOr<std::vector<TraceHost>> ParseTopology(std::string_view topo_csv,
                                                     SkippedRows& skipped) {
  YM_ASSIGN_OR_RETURN(const Table table,
                      Table::Parse("topo.csv", topo_csv, {{"ip"}, {"DSW"}, {"PSW"}, {"ASW"}}));
  std::vector<TraceHost> hosts;
  std::set<std::string, std::less<>> seen;
  for (std::size_t row = 0; row < table.size(); ++row) {
    TraceHost host{std::string(table.Cell(row, 0)), std::string(table.Cell(row, 1)),
                   std::string(table.Cell(row, 2)), std::string(table.Cell(row, 3))};
    const bool whole =
        !host.ip.empty() && !host.core.empty() && !host.aggregation.empty() && !host.tor.empty();
    if (!whole || !seen.insert(host.ip).second) {
      ++skipped["topo.csv: a cell is missing, or the host of an earlier row"];
      continue;
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) return FieldError("topo.csv", "has no usable row", "give the published file");
  std::sort(hosts.begin(), hosts.end(), [](const TraceHost& a, const TraceHost& b) {
    return std::tie(a.core, a.aggregation, a.tor, a.ip) <
           std::tie(b.core, b.aggregation, b.tor, b.ip);
  });
  return hosts;
}

}  // namespace yardmaster::sim
