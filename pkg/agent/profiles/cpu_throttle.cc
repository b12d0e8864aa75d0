#include "pkg/agent/profiles/cpu_throttle.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr std::size_t kMaxFileBytes = 4'096;
constexpr std::size_t kUidBytes = 36;
// More than any counter of a machine can be.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;
// Samples of a pod that was not queried for this long are dropped.
constexpr std::int64_t kForgetMs = 600'000;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::optional<std::int64_t> Count(std::string_view text) {
  const auto value = ParseNumber<std::int64_t>(text);
  return value && *value >= 0 && *value <= kMaxCount ? value : std::nullopt;
}

std::optional<ThrottleCounters> ReadCounters(const std::string& folder) {
  auto counters = ParseCpuStat(ReadFile(StrCat(folder, "/cpu.stat")));
  if (!counters || counters->usage_us != 0) return counters;
  // cgroup v1 has it in a file of its own, in nanoseconds.
  std::string usage = ReadFile(StrCat(folder, "/cpuacct.usage"));
  while (!usage.empty() && usage.back() == '\n') usage.pop_back();
  counters->usage_us = Count(usage).value_or(0) / 1000;
  return counters;
}

// nullopt: it did not run long enough, or is another cgroup of the same name.
std::optional<double> FractionOf(const ThrottleCounters& first, const ThrottleCounters& last) {
  const std::int64_t periods = last.periods - first.periods;
  const std::int64_t throttled = last.throttled - first.throttled;
  if (periods < CpuThrottle::kMinPeriods || throttled < 0 || throttled > periods) {
    return std::nullopt;
  }
  return static_cast<double>(throttled) / static_cast<double>(periods);
}

}  // namespace

std::optional<ThrottleCounters> ParseCpuStat(std::string_view text) {
  std::optional<std::int64_t> periods, throttled, usage_us;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, space);
    std::optional<std::int64_t>* const field = name == "nr_periods"     ? &periods
                                               : name == "nr_throttled" ? &throttled
                                               : name == "usage_usec"   ? &usage_us
                                                                        : nullptr;
    if (field == nullptr) continue;
    *field = Count(line.substr(space + 1));
    if (!*field) return std::nullopt;
  }
  if (!periods || !throttled || *throttled > *periods) return std::nullopt;
  return ThrottleCounters{*periods, *throttled, usage_us.value_or(0)};
}

std::string PodCgroup(const std::string& cgroup_root, std::string_view pod_uid) {
  const bool is_uid =
      pod_uid.size() == kUidBytes && std::all_of(pod_uid.begin(), pod_uid.end(), [](char c) {
        return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
      });
  if (cgroup_root.empty() || !is_uid) return "";
  std::string escaped(pod_uid);
  std::replace(escaped.begin(), escaped.end(), '-', '_');
  const std::array<std::string, 6> folders = {
      StrCat("/kubepods.slice/kubepods-pod", escaped, ".slice"),
      StrCat("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod", escaped, ".slice"),
      StrCat("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod", escaped,
             ".slice"),
      StrCat("/kubepods/pod", pod_uid),
      StrCat("/kubepods/burstable/pod", pod_uid),
      StrCat("/kubepods/besteffort/pod", pod_uid)};
  for (const char* controller : {"", "/cpu,cpuacct", "/cpu"}) {
    for (const std::string& folder : folders) {
      std::string path = StrCat(cgroup_root, controller, folder);
      std::error_code error;
      if (std::filesystem::exists(StrCat(path, "/cpu.stat"), error)) return path;
    }
  }
  return "";
}

void CpuThrottle::Read(std::int64_t steady_ms, const std::string& pod_uid, Pod& pod) const {
  if (pod.folder.empty()) pod.folder = PodCgroup(cgroup_root_, pod_uid);
  Sample sample{steady_ms, {}};
  if (!pod.folder.empty()) {
    const auto own = ReadCounters(pod.folder);
    if (own) sample.cgroups[""] = *own;
    std::error_code error;
    std::size_t left = kMaxContainers;
    for (std::filesystem::directory_iterator it(pod.folder, error), end;
         own && !error && it != end && left > 0; it.increment(error)) {
      std::error_code not_a_folder;
      if (!it->is_directory(not_a_folder)) continue;
      --left;
      const auto counters = ReadCounters(it->path().string());
      if (counters) sample.cgroups[it->path().filename().string()] = *counters;
    }
    if (!own) pod.folder.clear();
  }
  pod.samples.push_back(std::move(sample));
  // The oldest one is just outside of the window.
  while (pod.samples.size() > 2 && pod.samples[1].steady_ms <= steady_ms - kWindowMs) {
    pod.samples.pop_front();
  }
}

void CpuThrottle::Forget(std::int64_t steady_ms) {
  std::erase_if(pods_, [&](const auto& pod) {
    return !pod.second.samples.empty() &&
           steady_ms - pod.second.samples.back().steady_ms > kForgetMs;
  });
}

std::optional<double> CpuThrottle::Fraction(std::int64_t steady_ms, const std::string& pod_uid) {
  if (cgroup_root_.empty()) return std::nullopt;
  const MutexLock lock(mutex_);
  Pod& pod = pods_[pod_uid];
  if (pod.samples.empty() || steady_ms - pod.samples.back().steady_ms >= kSampleMs) {
    Read(steady_ms, pod_uid, pod);
    Forget(steady_ms);
  }
  std::optional<double> of_pod, of_leader;
  std::int64_t most_us = -1;
  for (const auto& [name, last] : pod.samples.back().cgroups) {
    // The oldest sample that has it: containers restart.
    const auto first =
        std::find_if(pod.samples.begin(), pod.samples.end(),
                     [&, &name = name](const Sample& s) { return s.cgroups.count(name) != 0; });
    const ThrottleCounters& before = first->cgroups.at(name);
    const auto fraction = FractionOf(before, last);
    const std::int64_t used_us = last.usage_us - before.usage_us;
    if (name.empty()) {
      of_pod = fraction;
    } else if (used_us > most_us) {
      most_us = used_us;
      of_leader = fraction;
    }
  }
  return of_pod && of_leader ? std::max(of_pod, of_leader) : of_pod ? of_pod : of_leader;
}

}  // namespace yardmaster::agent
