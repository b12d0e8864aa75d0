// The server over real sockets: what slow, many and endless clients do not get, and how it ends.
#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/unique_fd.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/server_fixture.h"

namespace yardmaster::http {
namespace {

TEST_F(ServerTest, RefusesEndlessHeadersTargetsAndChunkHeaders) {
  Start(Options());
  const std::string endless(4 * 1024 * 1024, 'x');
  for (const std::string& bytes :
       {"GET / HTTP/1.1\r\nHost: a\r\nX: " + endless, "GET /" + endless,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + endless}) {
    RawClient client(port());
    client.Send(bytes);
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 431);
    EXPECT_TRUE(client.AtCleanEnd());
  }
}

TEST_F(ServerTest, SlowAndSilentClientsAreClosedAtTheirDeadlineWhileOthersAreServed) {
  Start(ShortDeadlines());
  const auto start = SteadyClock::now();
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 60; ++i) {
    slow.push_back(std::make_unique<RawClient>(port()));
    if (i % 3 == 1) slow.back()->Send("GET / HTTP/1.1\r\nX: ");
    if (i % 3 == 2) slow.back()->Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  }
  RawClient good(port());
  EXPECT_EQ(good.Call("GET", "/good")->body, "/good");
  for (std::size_t i = 0; i < slow.size(); ++i) {
    const auto response = slow[i]->ReadResponse();
    EXPECT_EQ(response.has_value(), i % 3 != 0);
    if (response) {
      EXPECT_EQ(response->status, 408);
    }
    EXPECT_TRUE(slow[i]->AtCleanEnd());
  }
  EXPECT_GE(MsSince(start), 490);
  EXPECT_LT(MsSince(start), 5'000);
  EXPECT_EQ(rejected(Rejection::kHeaderTimeout), 40);
  EXPECT_EQ(rejected(Rejection::kBodyTimeout), 20);
}

TEST_F(ServerTest, AClientThatSendsAByteNowAndThenGainsNoTime) {
  Start(ShortDeadlines());
  SocketStream stream(port());
  const auto start = SteadyClock::now();
  stream.Send("GET / HTTP/1.1\r\nX: ");
  ASSERT_TRUE(Eventually([this] { return server_->stats().open_connections == 1; }));
  while (server_->stats().open_connections > 0 && MsSince(start) < 5'000) {
    stream.Send("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // The header deadline, then the listening after the answer.
  EXPECT_LT(MsSince(start), 3'000);
  EXPECT_EQ(rejected(Rejection::kHeaderTimeout), 1);
}

TEST_F(ServerTest, CapsConnectionsInAllAndPerPeer) {
  ServerOptions options = Options();
  options.limits.connections = 3;
  Start(options);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(port()));
    EXPECT_EQ(clients.back()->Call("GET", "/")->status, 200);
  }
  RawClient refused(port());
  EXPECT_FALSE(refused.Call("GET", "/"));
  EXPECT_EQ(rejected(Rejection::kConnectionLimit), 1);
  clients.pop_back();
  ASSERT_TRUE(Eventually([this] { return server_->stats().open_connections == 2; }));
  RawClient admitted(port());
  EXPECT_EQ(admitted.Call("GET", "/")->status, 200);

  options.limits.connections = 100;
  options.limits.connections_per_peer = 1;
  Start(options);
  RawClient first(port());
  EXPECT_EQ(first.Call("GET", "/")->status, 200);
  RawClient second(port());
  EXPECT_FALSE(second.Call("GET", "/"));
  EXPECT_EQ(rejected(Rejection::kPeerLimit), 1);
}

TEST_F(ServerTest, HalfOpenAndResetConnectionsLeaveNothingBehind) {
  Start(Options());
  auto first = std::make_unique<RawClient>(port());
  EXPECT_EQ(first->Call("GET", "/")->status, 200);
  const int before = CountOpenFiles() - 2;  // both ends of the first connection
  first.reset();
  for (int i = 0; i < 200; ++i) {
    SocketStream stream(port());
    if (i % 2 == 0) stream.Send("GET / HT");
    if (i % 4 < 2) stream.ResetOnClose();
  }
  EXPECT_TRUE(Eventually([this] { return server_->stats().accepted_connections == 201; }));
  EXPECT_TRUE(AllClosed());
  // The server closes a descriptor shortly after it has stopped counting its connection.
  EXPECT_TRUE(Eventually([&] { return CountOpenFiles() == before; })) << CountOpenFiles();
}

TEST_F(ServerTest, RunningOutOfDescriptorsNeitherSpinsNorLasts) {
  Start(Options());
  // Clients have their descriptors before there are too few, or they would run out of them instead.
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // The limit bounds the number of the highest descriptor, and this process may have inherited high
  // ones. So every number is taken first, and four are given back.
  rlimit saved{};
  getrlimit(RLIMIT_NOFILE, &saved);
  const rlimit low{static_cast<rlim_t>(CountOpenFiles() + 64), saved.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  std::vector<UniqueFd> taken;
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
    taken.emplace_back(fd);
  }
  ASSERT_GE(taken.size(), 4u);
  taken.resize(taken.size() - 4);
  for (const UniqueFd& client : clients) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  const auto start = SteadyClock::now();
  EXPECT_TRUE(Eventually([this] { return rejected(Rejection::kAcceptError) >= 3; }));
  EXPECT_GE(MsSince(start), 190) << "100 ms between two tries";
  clients.clear();
  RawClient after(port());
  EXPECT_EQ(after.Call("GET", "/")->status, 200);
  setrlimit(RLIMIT_NOFILE, &saved);
}

TEST_F(ServerTest, DrainAnswersWhatIsUnderWayAndClosesTheRest) {
  ServerOptions options = Options();
  options.deadlines.drain_idle_ms = 20;
  std::promise<Done> slow;
  Start(options, [&slow](const Request& request, const Done& done) {
    if (request.path() == "/slow") return slow.set_value(done);
    done(TextResponse(200, "done"));
  });
  RawClient idle(port());
  EXPECT_EQ(idle.Call("GET", "/")->status, 200);
  RawClient unused(port());
  RawClient busy(port());
  busy.Send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return server_->stats().requests == 2; }));

  EXPECT_EQ(server_->Drain(50).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(idle.AtCleanEnd());
  EXPECT_TRUE(unused.AtCleanEnd());
  RawClient late(port());
  EXPECT_FALSE(late.Call("GET", "/")) << "nothing new is taken";
  slow.get_future().get()(TextResponse(200, "done"));
  const auto response = busy.ReadResponse();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "done");
  EXPECT_EQ(response->Header("Connection"), "close");
  EXPECT_TRUE(busy.AtCleanEnd());
  EXPECT_TRUE(server_->Drain(10'000).ok());
}

TEST_F(ServerTest, NoCallOfABusyClientIsLostToADrain) {
  Start(Options());
  constexpr int kClients = 8;
  std::atomic<int> lost{0};
  std::atomic<int> told{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      RawClient client(port());
      for (;;) {
        const auto answer = client.Call("POST", "/", "body");
        if (!answer) return void(++lost);
        if (answer->Header("Connection") == "close") return void(++told);
      }
    });
  }
  EXPECT_TRUE(Eventually([this] {
    return server_->stats().requests > 100 && server_->stats().open_connections == kClients;
  }));
  EXPECT_TRUE(server_->Drain(10'000).ok());
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(told, kClients);
}

TEST_F(ServerTest, ADrainServesConnectionsThatWaitToBeAccepted) {
  for (int round = 0; round < 20; ++round) {
    Start(Options());
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 64; ++i) clients.push_back(std::make_unique<RawClient>(port()));
    std::thread drain([this] { EXPECT_TRUE(server_->Drain(10'000).ok()); });
    int answered = 0;
    for (auto& client : clients) answered += client->Call("POST", "/", "body") ? 1 : 0;
    clients.clear();
    drain.join();
    EXPECT_EQ(answered, 64);
  }
}

TEST_F(ServerTest, DrainEndsEarlyWhenEverybodyHasGone) {
  Start(Options());
  { EXPECT_EQ(RawClient(port()).Call("GET", "/")->status, 200); }
  const auto start = SteadyClock::now();
  EXPECT_TRUE(server_->Drain(10'000).ok());
  EXPECT_LT(MsSince(start), 5'000);
}

TEST_F(ServerTest, StopsUnderLoadAgainAndAgain) {
  for (int round = 0; round < 10; ++round) {
    Start(Options());
    std::atomic<bool> stop{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([port = port(), &stop] {
        RawClient client(port);
        while (!stop && client.Call("POST", "/", "body")) {
        }
      });
    }
    EXPECT_TRUE(Eventually([this] { return server_->stats().requests > 20; }));
    server_->Stop();
    EXPECT_EQ(server_->stats().open_connections, 0);
    stop = true;
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace yardmaster::http
