// The CSV files that the command line reads: a trace's four files and lines of packets. For all
// bytes, reading ends in rows or an error, and the rows are usable.
//
// An input is cut at NUL bytes into job.csv, worker.csv, topo.csv and model-gpus.csv.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pkg/cli/hash_command.h"
#include "simulation/formats/trace_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 4> files;
  for (std::string_view& file : files) {
    file = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(file.size() == rest.size() ? rest.size() : file.size() + 1);
  }
  sim::SkippedRows skipped;
  sim::TraceHostIndex hosts;
  if (const auto topology = sim::ParseTopology(files[2], skipped); topology.ok()) {
    for (const sim::TraceHost& host : *topology) {
      hosts.emplace(host.ip, static_cast<std::int32_t>(hosts.size()));
    }
  }
  if (const auto jobs = sim::ParseTraceJobs(files[0], files[1], hosts, skipped); jobs.ok()) {
    double last = 0;
    for (const sim::TraceJob& job : *jobs) {
      if (job.gpus <= 0 || !std::isfinite(job.run_seconds) || job.run_seconds < 0) std::abort();
      if (!(job.arrival_seconds >= last)) std::abort();
      last = job.arrival_seconds;
      for (const sim::TracePlace& place : job.places) {
        if (place.host < 0 || place.host >= static_cast<std::int32_t>(hosts.size())) std::abort();
      }
    }
  }
  (void)sim::ParseModelSizes(files[3], skipped);
  (void)cli::ParsePacketLine(files[0]);
  return 0;
}
