#include "pkg/agent/profiles/pod_processes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr std::size_t kUidBytes = 36;
constexpr std::size_t kMaxFileBytes = 16'384;
constexpr std::int64_t kPidsMs = 10'000;
constexpr double kCountingShare = 0.01;
constexpr double kNoCpu = 0.02;
constexpr double kIdleCpu = 0.1;

std::string ReadSmallFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

bool IsUid(std::string_view text) {
  return text.size() == kUidBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
         });
}

// "pod<uid>", "kubepods-burstable-pod<uid with underscores>.slice"; empty: the folder is no pod's.
std::string UidOfFolder(std::string_view folder) {
  constexpr std::string_view kSlice = ".slice";
  const bool slice = folder.ends_with(kSlice);
  if (slice) folder.remove_suffix(kSlice.size());
  if (folder.size() < kUidBytes + 3) return "";
  const std::string_view head = folder.substr(0, folder.size() - kUidBytes);
  if (head != "pod" && !(slice && head.starts_with("kubepods-") && head.ends_with("-pod"))) {
    return "";
  }
  std::string uid(folder.substr(head.size()));
  if (slice) std::replace(uid.begin(), uid.end(), '_', '-');
  return IsUid(uid) ? uid : "";
}

template <typename Visit>
void ForEachPart(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool Counts(const ProcessStat& process, std::int64_t all_ms) {
  return static_cast<double>(process.cpu_ms) >= kCountingShare * static_cast<double>(all_ms);
}

// A process that counts is in that state.
bool HasState(const ProcessSample& sample, char state) {
  const std::int64_t all_ms = CpuOf(sample);
  return std::any_of(sample.processes.begin(), sample.processes.end(),
                     [&](const ProcessStat& process) {
                       return process.state == state && Counts(process, all_ms);
                     });
}

bool AnyRuns(const ProcessSample& sample) {
  return std::any_of(sample.processes.begin(), sample.processes.end(),
                     [](const ProcessStat& process) { return process.state == 'R'; });
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text, std::int64_t ticks_per_second) {
  // The name stands in parentheses and may hold anything, parentheses too.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || ticks_per_second <= 0) return std::nullopt;
  // Counted from 3, the state, as proc(5) does.
  constexpr int kState = 3, kUserTime = 14, kSystemTime = 15, kStartTime = 22;
  ProcessStat stat;
  std::int64_t cpu = 0;
  int field = kState, found = 0;
  ForEachPart(text.substr(std::min(name_end + 2, text.size())), ' ', [&](std::string_view part) {
    const int at = field++;
    if (at == kState && part.size() == 1) {
      stat.state = part[0];
      ++found;
    }
    if (at != kUserTime && at != kSystemTime && at != kStartTime) return;
    const auto ticks = ParseNumber<std::int64_t>(part);
    // A thousand years: more cannot be multiplied.
    if (!ticks || *ticks < 0 || *ticks > std::int64_t{1} << 50) return;
    ++found;
    (at == kStartTime ? stat.start_ms : cpu) += *ticks * 1000 / ticks_per_second;
  });
  if (found != 4) return std::nullopt;
  stat.cpu_ms = cpu;
  return stat;
}

std::string PodOfCgroups(std::string_view text) {
  std::string uid;
  ForEachPart(text, '\n', [&](std::string_view line) {
    // "<id>:<controllers>:<path>"
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) return;
    ForEachPart(line.substr(path + 1), '/', [&](std::string_view folder) {
      if (uid.empty()) uid = UidOfFolder(folder);
    });
  });
  return uid;
}

PodPids FindPodPids(const std::string& proc_root) {
  PodPids pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it(proc_root, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    const auto pid = ParseNumber<int>(name);
    if (!pid) continue;
    const std::string uid = PodOfCgroups(ReadSmallFile(StrCat(proc_root, "/", name, "/cgroup")));
    if (!uid.empty()) pids[uid].push_back(*pid);
  }
  for (auto& [uid, list] : pids) std::sort(list.begin(), list.end());
  return pids;
}

std::int64_t CpuOf(const ProcessSample& sample) {
  std::int64_t sum = 0;
  for (const ProcessStat& process : sample.processes) sum += process.cpu_ms;
  return sum;
}

std::optional<ProcessSample> SampleProcesses(const std::string& proc_root,
                                             const std::vector<int>& pids) {
  static const std::int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
  ProcessSample sample;
  double uptime = 0;
  std::ifstream file(StrCat(proc_root, "/uptime"));
  if (!(file >> uptime)) return std::nullopt;
  sample.boot_ms = static_cast<std::int64_t>(uptime * 1000);
  for (const int pid : pids) {
    const auto stat =
        ParseProcessStat(ReadSmallFile(StrCat(proc_root, "/", pid, "/stat")), ticks_per_second);
    if (stat) sample.processes.push_back(*stat);
  }
  if (sample.processes.empty()) return std::nullopt;
  return sample;
}

std::optional<ProcessSample> PodProcesses::Sample(std::int64_t steady_ms,
                                                  const std::string& pod_uid) {
  if (proc_root_.empty()) return std::nullopt;
  if (steady_ms >= next_pids_ms_) {
    next_pids_ms_ = steady_ms + kPidsMs;
    pids_ = FindPodPids(proc_root_);
  }
  const auto at = pids_.find(pod_uid);
  return at == pids_.end() ? std::nullopt : SampleProcesses(proc_root_, at->second);
}

ProcessSummary Summarize(const std::deque<ProcessSample>& samples, std::int64_t quiet_ms) {
  ProcessSummary summary;
  if (samples.empty()) return summary;
  const ProcessSample& newest = samples.back();
  std::int64_t young_ms = 0;
  for (const ProcessStat& process : newest.processes) {
    if (newest.boot_ms - process.start_ms < quiet_ms) young_ms += process.cpu_ms;
  }
  summary.restarted = 2 * young_ms > CpuOf(newest);
  if (samples.size() < kSummarySamples) return summary;
  const auto first = samples.end() - static_cast<std::ptrdiff_t>(kSummarySamples);
  const auto all = [&](const auto& holds) { return std::all_of(first, samples.end(), holds); };
  const auto span_ms = static_cast<double>(newest.boot_ms - first->boot_ms);
  if (span_ms <= 0) return summary;
  // Less where a process has ended.
  const double cpus = std::max(0.0, static_cast<double>(CpuOf(newest) - CpuOf(*first)) / span_ms);
  summary.activity = cpus < kIdleCpu ? api::ProcessActivity::kIdle : api::ProcessActivity::kBusy;
  if (all([](const ProcessSample& sample) { return HasState(sample, 'T'); })) {
    summary.activity = api::ProcessActivity::kStopped;
  } else if (cpus < kNoCpu && all([](const ProcessSample& sample) {
               return HasState(sample, 'D') && !AnyRuns(sample);
             })) {
    summary.activity = api::ProcessActivity::kUninterruptible;
  }
  return summary;
}

}  // namespace yardmaster::agent
