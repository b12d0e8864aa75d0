// The webhook's front as kube-scheduler uses it: filter calls over mutual TLS on connections that
// stay open, alone and beside other clients that attack it. Client, server and attackers share the
// machine.
//
//   front_bench [SECONDS] [ROUNDS]     of every measurement, 3 by default; of the flood, 3 by
//                                      default
//
// Figures are ratios to a handler that does nothing, measured in the same run: they say what the
// webhook costs and what attackers cost, independent of the machine.
//
// Attackers send a recorded ClientHello and do no cryptography, on a thread that the kernel runs
// when nothing else is to be done. What they cost the machine all the same is measured by the same
// flood against another port, where connections are only accepted and closed: the figure of the
// front is the ratio to that. Each line of the flood is the median of ROUNDS measurements that take
// turns, and says how much of a core each side used.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "bench/half_placed_view.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/tls_stream.h"
#include "pkg/tls/authority.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file
using SteadyClock = std::chrono::steady_clock;

constexpr int kAttackerNiceness = 19;
constexpr std::size_t kOpenOfAFlood = 500;

// A pod as the API server has it, some kilobytes of which decide nothing here.
std::string Body(const std::string& labels, const std::string& names) {
  std::string env;
  for (int i = 0; i < 30; ++i) {
    env += StrCat(i == 0 ? "" : ",", R"({"name":"VARIABLE_)", i, R"(","value":"some value"})");
  }
  return StrCat(
      R"({"Pod":{"metadata":{"name":"a-3","namespace":"team","uid":"u","managedFields":[{"manager":)",
      R"("x","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}],"labels":)", labels,
      R"(},"spec":{"volumes":[{"name":"token","projected":{"sources":[{"configMap":{"name":"ca"}}]}}],)",
      R"("containers":[{"name":"c","image":"registry.example/trainer:1","env":[)", env,
      R"(],"resources":{"limits":{"nvidia.com/gpu":"8","cpu":"96","memory":"1Ti"}}}]},)",
      R"("status":{"phase":"Pending"}},"Nodes":null,"NodeNames":[)", names, "]}");
}

// Seconds of a core.
double CpuSeconds(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

// Of the process's threads that stand back behind the others: the server's that accept and shake
// hands.
double FrontCpuSeconds() {
  double seconds = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int id = std::stoi(task.path().filename());
    const int niceness = getpriority(PRIO_PROCESS, static_cast<id_t>(id));
    if (niceness == 0 || niceness == kAttackerNiceness) continue;
    std::ifstream file(task.path() / "schedstat");
    double ns = 0;
    file >> ns;
    seconds += ns / 1e9;
  }
  return seconds;
}

struct Figures {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  // Cores that the measurement used.
  double client_cores = 0;
  double front_cores = 0;   // accepts and handshakes
  double others_cores = 0;  // the server's requests, and attackers
};

class Bench {
 public:
  explicit Bench(double seconds) : seconds_(seconds) {
    view_ = bench::HalfPlacedView(16'320);
    webhook_.Publish(view_);
    http::ServerOptions options;
    options.trusts = [](const tls::CertificateNames& names) {
      return names.common_name == "kube-scheduler";
    };
    server_ = std::make_unique<http::Server>(
        options, [this](http::Request request, const http::Done& done) {
          if (request.path() == "/nothing") return done(http::JsonResponse(200, "{}"));
          auto answer = webhook_.Filter(request.body);
          done(answer.ok() ? http::JsonResponse(200, *std::move(answer))
                           : http::ErrorResponse(400, MessageOf(answer.status())));
        });
    const tls::KeyPair pair =
        *Issue(ca_, {.common_name = "front", .server = true, .now_ms = RealClock().WallMs()});
    const bool ok = server_
                        ->SetTls({.certificate_pem = pair.certificate_pem,
                                  .key_pem = pair.key_pem,
                                  .client_ca_pem = ca_.certificate_pem})
                        .ok() &&
                    server_->Start().ok();
    if (!ok) std::abort();
  }

  int port() const { return server_->port(); }
  double seconds() const { return seconds_; }
  const extender::View& view() const { return *view_; }

  // As many calls as `clients` connections make, each at least one. A call without an answer ends
  // the program.
  Figures Measure(const std::string& path, const std::string& body, int clients) {
    std::vector<std::vector<double>> ms(static_cast<std::size_t>(clients));
    std::vector<std::thread> threads;
    std::atomic<double> client_cpu = 0;
    const double front_cpu = FrontCpuSeconds();
    const double process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    const auto began = SteadyClock::now();
    const auto end = began + std::chrono::duration<double>(seconds_);
    for (auto& mine : ms) {
      threads.emplace_back([&] {
        http::RawClient client(Connect());
        do {
          const auto sent = SteadyClock::now();
          const auto answer = client.Call("POST", path, body);
          if (!answer || answer->status != 200) {
            std::cerr << path << ": " << (answer ? StrCat("status ", answer->status) : "no answer")
                      << " after " << mine.size() << " calls\n";
            std::exit(1);
          }
          mine.push_back(
              std::chrono::duration<double, std::milli>(SteadyClock::now() - sent).count());
        } while (SteadyClock::now() < end);
        client_cpu += CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<double> all;
    for (const auto& mine : ms) all.insert(all.end(), mine.begin(), mine.end());
    std::sort(all.begin(), all.end());
    const double took = std::chrono::duration<double>(SteadyClock::now() - began).count();
    const double front = FrontCpuSeconds() - front_cpu;
    const double total = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - process_cpu;
    return {static_cast<double>(all.size()) / took,
            all[all.size() / 2],
            all[all.size() * 99 / 100],
            client_cpu / took,
            front / took,
            (total - front - client_cpu) / took};
  }

 private:
  std::unique_ptr<http::TlsStream> Connect() {
    http::TlsStreamOptions options;
    options.client = *Issue(
        ca_, {.common_name = "kube-scheduler", .client = true, .now_ms = RealClock().WallMs()});
    return std::make_unique<http::TlsStream>(port(), options);
  }

  const double seconds_;
  const tls::KeyPair ca_ =
      *tls::MakeAuthority({.common_name = "ca", .now_ms = RealClock().WallMs()});
  std::shared_ptr<const extender::View> view_;
  extender::Webhook webhook_;
  std::unique_ptr<http::Server> server_;
};

std::string Source(int i) { return StrCat("127.1.", 1 + i / 250 % 250, ".", 1 + i % 250); }

using Sockets = std::vector<std::unique_ptr<http::SocketStream>>;

Sockets OpenMany(int port, int count, std::string_view say) {
  Sockets out;
  for (int i = 0; i < count; ++i) {
    out.push_back(std::make_unique<http::SocketStream>(port, "127.0.0.1", 1'000, Source(i)));
    out.back()->Send(say);
  }
  return out;
}

// A thread that gives way to every other, at once.
void StandBack() {
  setpriority(PRIO_PROCESS, 0, kAttackerNiceness);
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
}

// A port on which connections are accepted and closed, by a thread that stands back.
class ClosedDoor {
 public:
  ClosedDoor() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_.get(), generic, length) != 0 || ::listen(fd_.get(), SOMAXCONN) != 0)
      std::abort();
    ::getsockname(fd_.get(), generic, &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      StandBack();
      while (!stop.stop_requested()) {
        pollfd waiting{fd_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 50) > 0) UniqueFd(::accept(fd_.get(), nullptr, nullptr));
      }
    });
  }
  int port() const { return port_; }

 private:
  UniqueFd fd_;
  int port_ = 0;
  std::jthread thread_;
};

// Begins handshakes on a thread until it ends, each from another address.
class Flood {
 public:
  // `per_second` 0: as many as a core begins.
  Flood(int port, int per_second)
      : thread_([this, port, per_second](const std::stop_token& stop) {
          StandBack();
          const std::string hello = http::ClientHello();
          std::deque<std::unique_ptr<http::SocketStream>> open;
          const auto began = SteadyClock::now();
          while (!stop.stop_requested()) {
            // Left open for a while, else the server finds the client gone before it has done its
            // part.
            open.push_back(std::make_unique<http::SocketStream>(
                port, "127.0.0.1", 1'000, Source(static_cast<int>(tried_++))));
            open.back()->Send(hello);
            open.back()->ResetOnClose();
            if (open.size() > kOpenOfAFlood) open.pop_front();
            cpu_ = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
            if (per_second == 0) continue;
            std::this_thread::sleep_until(began + std::chrono::microseconds(1'000'000) *
                                                      tried_.load() / per_second);
          }
        }) {}
  double cpu_seconds() const { return cpu_; }
  std::int64_t tried() const { return tried_; }

 private:
  std::atomic<std::int64_t> tried_{0};
  std::atomic<double> cpu_ = 0;
  std::jthread thread_;
};

struct Flooded {
  Figures figures;
  std::int64_t tried = 0;
  double attacker_cores = 0;
};

Flooded Beside(Bench& bench, const std::string& body, int port, int per_second) {
  const auto began = SteadyClock::now();
  const Flood flood(port, per_second);
  Flooded out;
  out.figures = bench.Measure("/filter", body, 1);
  out.tried = flood.tried();
  out.attacker_cores =
      flood.cpu_seconds() / std::chrono::duration<double>(SteadyClock::now() - began).count();
  return out;
}

// The one whose p99 is the median.
Flooded Median(std::vector<Flooded> all) {
  std::sort(all.begin(), all.end(),
            [](const Flooded& a, const Flooded& b) { return a.figures.p99_ms < b.figures.p99_ms; });
  return all[all.size() / 2];
}

void Print(const std::string& what, const Figures& f, const Figures& base) {
  std::cout << std::left << std::setw(44) << what << std::right << std::fixed << std::setw(9)
            << std::setprecision(0) << f.per_second << "/s" << std::setprecision(3) << std::setw(9)
            << f.p50_ms << " ms" << std::setw(9) << f.p99_ms << " ms" << std::setprecision(2)
            << std::setw(7) << f.per_second / base.per_second << "x" << std::setw(7)
            << f.p99_ms / base.p99_ms << "x\n";
}

void PrintFlooded(const std::string& what, const Flooded& flooded, const Flooded& base) {
  Print(what, flooded.figures, base.figures);
  const Figures& f = flooded.figures;
  std::cout << "  " << flooded.tried << " handshakes from "
            << std::min<std::int64_t>(flooded.tried, 62'500) << " addresses; cores: client "
            << f.client_cores << ", server's requests "
            << std::max(0.0, f.others_cores - flooded.attacker_cores) << ", its front "
            << f.front_cores << ", attackers " << flooded.attacker_cores << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench(argc > 1 ? std::atof(argv[1]) : 3);
  const std::string labels = R"({"yardmaster.dev/job":"a","yardmaster.dev/rank":"3"})";
  const auto& places = *bench.view().snapshot().places;
  std::string names;
  for (fabric::HostId host : places.hosts()) {
    names += StrCat(names.empty() ? "\"" : ",\"", places.name(host), "\"");
  }
  const std::string pinned = Body(labels, StrCat("\"", places.name(fabric::HostId(3)), "\""));

  std::cout << std::left << std::setw(44) << "calls"
            << "     rate        p50         p99   "
            << "rate and p99 to the first line of the block\n";
  const Figures nothing = bench.Measure("/nothing", pinned, 4);
  Print("a handler that answers at once, 4 clients", nothing, nothing);
  Print("filter, pinned pod, 4 clients", bench.Measure("/filter", pinned, 4), nothing);
  const Figures one = bench.Measure("/nothing", Body(labels, names), 1);
  Print("at once, 16,320 names, 1 client", one, one);
  Print("filter, gang pod, 16,320 names", bench.Measure("/filter", Body(labels, names), 1), one);
  Print("filter, ordinary pod, 16,320 names", bench.Measure("/filter", Body("{}", names), 1), one);

  const Figures quiet = bench.Measure("/filter", pinned, 1);
  Print("filter, pinned pod, 1 client", quiet, quiet);
  {
    const Sockets slow = OpenMany(bench.port(), 1'000, "\x16\x03\x01");
    Print("beside 1,000 slow clients", bench.Measure("/filter", pinned, 1), quiet);
  }
  {
    const Sockets idle = OpenMany(bench.port(), 9'000, "");
    Print("beside 9,000 idle clients", bench.Measure("/filter", pinned, 1), quiet);
  }
  const ClosedDoor door;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  for (const int rate : {1'000, 5'000, 0}) {
    std::vector<Flooded> calm, elsewhere, here;
    for (int round = 0; round < rounds; ++round) {
      calm.push_back({bench.Measure("/filter", pinned, 1)});
      elsewhere.push_back(Beside(bench, pinned, door.port(), rate));
      here.push_back(Beside(bench, pinned, bench.port(), rate));
    }
    const Flooded alone = Median(calm);
    const std::string what =
        rate > 0 ? StrCat(rate, " handshakes/s") : std::string("all a core begins");
    PrintFlooded("alone, in turns with the next two", alone, alone);
    PrintFlooded(what + " at another port", Median(elsewhere), alone);
    PrintFlooded(what + " here", Median(here), alone);
    const double began_per_second = static_cast<double>(Median(here).tried) / bench.seconds();
    if (began_per_second < 0.8 * rate || began_per_second < 500) {
      std::cout
          << "  the machine had no time for the flood: the next line says nothing of the front\n";
    }
    std::cout << "  p99 here to p99 with the same flood at another port: " << std::setprecision(2)
              << Median(here).figures.p99_ms / Median(elsewhere).figures.p99_ms << "x\n";
  }
  return 0;
}
