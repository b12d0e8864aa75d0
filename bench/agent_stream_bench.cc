// What the agents' streams cost the operator: so many agents in another process, mutual TLS,
// tokens, the real server and client. Figures of the server's side; docs/evaluation/scale.md has
// them.
//
//   agent_stream_bench [AGENTS] [IDLE_SECONDS]     default 2000 and 30
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/report_server.h"
#include "pkg/rpc/report_stream.h"
#include "pkg/tls/authority.h"

namespace yardmaster::rpc {
namespace {

const RealClock kClock;

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentMiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

void RaiseFileLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

TlsFiles Files(const std::string& folder, const std::string& side) {
  return {StrCat(folder, "/", side, ".crt"), StrCat(folder, "/", side, ".key"), folder + "/ca.crt"};
}

// The agents: every line of standard input is a round in which each tells another state.
int RunAgents(int agents, const std::string& target, const std::string& folder) {
  std::vector<std::unique_ptr<ReportStream>> streams;
  for (int i = 0; i < agents; ++i) {
    ReportStreamOptions options;
    options.target = target;
    options.tls = Files(folder, "agent");
    options.token_file = StrCat(folder, "/token-", i);
    options.node = StrCat("n", i);
    options.seed = static_cast<std::uint64_t>(i);
    streams.push_back(std::make_unique<ReportStream>(options, kClock));
    streams.back()->Report({});
  }
  std::jthread stepper([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const auto& stream : streams) stream->Step();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  int round = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++round;
    for (const auto& stream : streams) stream->Report({{round % 8, round % 2}});
  }
  stepper = {};
  // The process ends without waiting for each of them.
  std::_Exit(0);
}

class Bench {
 public:
  Bench(int agents, int idle_seconds) : agents_(agents), idle_seconds_(idle_seconds) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ym-stream-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Bench() { std::filesystem::remove_all(folder_); }

  int Run(const char* program) {
    MakeCertificates();
    auto started = ReportServer::Start(
        Options(), kClock,
        // A stand-in for the TokenReview, which takes a round trip to the API server.
        [](const std::string& token) -> absl::StatusOr<std::string> {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return token.substr(0, token.find('.'));
        },
        {[this](const std::string&, const std::vector<api::NicPortKey>&) { ++told_; },
         [](const std::string&) {}});
    if (!started.ok()) return Fail(started.status().ToString());
    server_ = *std::move(started);
    std::printf("without agents: %.1f MiB\n", ResidentMiB());
    if (!StartAgents(program)) return Fail("the agents' process does not start");
    Connect("all connect");
    std::printf("memory: %.1f MiB\n", ResidentMiB());
    const double cpu = CpuSeconds();
    std::this_thread::sleep_for(std::chrono::seconds(idle_seconds_));
    std::printf("idle: %.2f %% of a core (keep-alive every 10 s)\n",
                100 * (CpuSeconds() - cpu) / idle_seconds_);
    for (int i = 0; i < 3; ++i) Storm();
    server_->SetServing(false);
    while (server_->stats().streams > 0) Pause();
    Connect("all again, after a change of the leader");
    std::printf("memory: %.1f MiB\n", ResidentMiB());
    ::close(input_);
    ::waitpid(child_, nullptr, 0);
    server_->Stop();
    return 0;
  }

 private:
  static int Fail(const std::string& why) {
    std::fprintf(stderr, "agent_stream_bench: %s\n", why.c_str());
    return 1;
  }
  static void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  ReportServerOptions Options() const {
    ReportServerOptions options;
    options.address = "127.0.0.1:0";
    options.tls = Files(folder_, "operator");
    return options;
  }

  void MakeCertificates() const {
    const auto write = [this](const std::string& name, const std::string& text) {
      std::ofstream(StrCat(folder_, "/", name)) << text;
    };
    const auto authority = *tls::MakeAuthority({.common_name = "bench", .now_ms = kClock.WallMs()});
    write("ca.crt", authority.certificate_pem);
    for (const char* side : {"operator", "agent"}) {
      tls::CertificateRequest request;
      request.common_name = side;
      request.ip_addresses = {"127.0.0.1"};
      request.server = request.client = true;
      request.now_ms = kClock.WallMs();
      const tls::KeyPair pair = *tls::Issue(authority, request);
      write(StrCat(side, ".crt"), pair.certificate_pem);
      write(StrCat(side, ".key"), pair.key_pem);
    }
    // As long as a ServiceAccount token.
    for (int i = 0; i < agents_; ++i) {
      write(StrCat("token-", i), StrCat("n", i, ".", std::string(1'000, 'a')));
    }
  }

  bool StartAgents(const char* program) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return false;
    const std::string target = StrCat("127.0.0.1:", server_->port());
    const std::string count = StrCat(agents_);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(pipe[0], 0);
      ::execl(program, program, "--agents", count.c_str(), target.c_str(), folder_.c_str(),
              nullptr);
      std::_Exit(127);
    }
    ::close(pipe[0]);
    input_ = pipe[1];
    return child_ > 0;
  }

  void Connect(const char* what) {
    const double cpu = CpuSeconds();
    const std::int64_t begin = kClock.SteadyMs();
    server_->SetServing(true);
    while (server_->stats().streams < agents_) Pause();
    std::printf("%s: %.1f s, %.2f s of CPU\n", what,
                static_cast<double>(kClock.SteadyMs() - begin) / 1000, CpuSeconds() - cpu);
  }

  // Every agent loses a link at once.
  void Storm() {
    const std::int64_t wanted = told_ + agents_;
    const double cpu = CpuSeconds();
    const std::int64_t begin = kClock.SteadyMs();
    if (::write(input_, "\n", 1) != 1) return;
    std::int64_t half = -1;
    while (told_ < wanted) {
      if (half < 0 && told_ >= wanted - agents_ / 2) half = kClock.SteadyMs() - begin;
      Pause();
    }
    std::printf("a report of each at once: half after %lld ms, all after %lld ms, %.3f s of CPU\n",
                static_cast<long long>(half), static_cast<long long>(kClock.SteadyMs() - begin),
                CpuSeconds() - cpu);
  }

  const int agents_;
  const int idle_seconds_;
  std::string folder_;
  std::unique_ptr<ReportServer> server_;
  std::atomic<std::int64_t> told_ = 0;
  pid_t child_ = -1;
  int input_ = -1;
};

}  // namespace
}  // namespace yardmaster::rpc

int main(int argc, char** argv) {
  yardmaster::rpc::RaiseFileLimit();
  if (argc == 5 && std::strcmp(argv[1], "--agents") == 0) {
    return yardmaster::rpc::RunAgents(std::atoi(argv[2]), argv[3], argv[4]);
  }
  const int agents = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int idle_seconds = argc > 2 ? std::atoi(argv[2]) : 30;
  return yardmaster::rpc::Bench(agents, idle_seconds).Run("/proc/self/exe");
}
