// Watches, informers, leases and events of pkg/kube against a real API server.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/credentials.h"
#include "pkg/kube/events.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/informer.h"
#include "pkg/kube/lease.h"
#include "pkg/kube/rest_client.h"
#include "pkg/kube/testing/list_page.h"
#include "test/integration/kube_fixture.h"

namespace yardmaster::testing {
namespace {

using kube::MergePatch;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;

constexpr std::int64_t kLongMs = 60'000;

// Lines written by handlers; tests wait for them.
class Journal {
 public:
  void Write(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  std::vector<std::string> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return lines_.size() >= count; });
    return lines_;
  }
  void Clear() {
    std::lock_guard lock(mutex_);
    lines_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// The network of one client, which can be cut.
class CutTransport final : public kube::Transport {
 public:
  CutTransport(std::unique_ptr<kube::Transport> inner, const std::atomic<bool>& cut)
      : inner_(std::move(inner)), cut_(cut) {}

  absl::StatusOr<kube::HttpResponse> Unary(const kube::HttpRequest& request,
                                           std::int64_t deadline_ms,
                                           std::stop_token stop) override {
    if (cut_) return absl::UnavailableError("the network is cut");
    return inner_->Unary(request, deadline_ms, stop);
  }
  absl::StatusOr<kube::HttpResponse> Stream(const kube::HttpRequest& request,
                                            const kube::StreamDeadlines& deadlines,
                                            std::stop_token stop, const OnLine& on_line) override {
    if (cut_) return absl::UnavailableError("the network is cut");
    return inner_->Stream(request, deadlines, stop, on_line);
  }
  void DropConnections() override { inner_->DropConnections(); }

 private:
  const std::unique_ptr<kube::Transport> inner_;
  const std::atomic<bool>& cut_;
};

// Holds the watches of an informer back while it is closed.
class GatedClient final : public kube::Client {
 public:
  explicit GatedClient(kube::Client& inner) : inner_(inner) {}
  // Ends the running watch and lets no new one begin until Open.
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    stop_.request_stop();
  }
  void Open() {
    std::lock_guard lock(mutex_);
    closed_ = false;
    stop_ = {};
    changed_.notify_all();
  }

  absl::StatusOr<json> Get(const kube::Target& t) override { return inner_.Get(t); }
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override {
    return inner_.ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const kube::Target& t, const json& b,
                              const kube::WriteOptions& o) override {
    return inner_.Create(t, b, o);
  }
  absl::StatusOr<json> Replace(const kube::Target& t, const json& b,
                               const kube::WriteOptions& o) override {
    return inner_.Replace(t, b, o);
  }
  absl::StatusOr<json> Patch(const kube::Target& t, const kube::PatchBody& p,
                             const kube::WriteOptions& o) override {
    return inner_.Patch(t, p, o);
  }
  absl::Status Delete(const kube::Target& t, const kube::DeleteOptions& o) override {
    return inner_.Delete(t, o);
  }
  absl::Status Watch(const kube::Target& t, const kube::WatchOptions& o, std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override {
    std::stop_source either;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return !closed_; });
    std::stop_callback by_gate(stop_.get_token(), [&] { either.request_stop(); });
    std::stop_callback by_caller(stop, [&] { either.request_stop(); });
    lock.unlock();
    const absl::Status status = inner_.Watch(t, o, either.get_token(), on_event);
    return absl::IsCancelled(status) ? absl::UnavailableError("gate closed") : status;
  }

 private:
  kube::Client& inner_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::stop_source stop_;
  bool closed_ = false;
};

class KubeWatchTest : public KubeFixture {
 protected:
  // Without its own cache the API server forgets exactly what etcd forgets.
  static void SetUpTestSuite() { StartPlane({.apiserver_args = {"watch-cache=false"}}); }
  static void TearDownTestSuite() { StopPlane(); }

  void SetValue(const std::string& name, const std::string& value) {
    auto done = client_->Patch(Map(name), MergePatch({{"data", {{"value", value}}}}), {});
    ASSERT_TRUE(done.ok()) << done.status();
  }
  static std::string TextOf(JsonView map) {
    return StrCat(kube::NameOf(map), "=", kube::StringAt(map, {"data", "value"}));
  }

  kube::CallbackSink sink_{
      [this](JsonView map) {
        if (kube::NameOf(map) != "kube-root-ca.crt") {
          journal_.Write(TextOf(map));
        }
      },
      [this](const kube::ObjectIdentity& map) { journal_.Write("-" + map.name); }};
  Journal journal_;
};

TEST_F(KubeWatchTest, AWatchGivesEveryChangeInOrder) {
  const std::string version = kube::ResourceVersionOf(MustCreateMap("a"));
  std::stop_source stop;
  std::jthread watcher([&] {
    const absl::Status status = client_->Watch(
        Map(), {.resource_version = version}, stop.get_token(), [&](const kube::WatchEvent& event) {
          if (kube::NameOf(event.object) == "kube-root-ca.crt") return;
          journal_.Write(StrCat(static_cast<int>(event.type), kube::NameOf(event.object)));
        });
    journal_.Write(std::string(absl::StatusCodeToString(status.code())));
  });
  SetValue("a", "1");
  MustCreateMap("b");
  ASSERT_TRUE(client_->Delete(Map("a"), {}).ok());
  EXPECT_THAT(journal_.Wait(3), ElementsAre("1a", "0b", "2a"));
  stop.request_stop();
  EXPECT_EQ(journal_.Wait(4).back(), "CANCELLED");
}

TEST_F(KubeWatchTest, AnInformerResumesWatchesThatTheServerEnds) {
  kube::InformerOptions options;
  options.ns = ns_;
  options.min_watch_seconds = 1;
  options.max_watch_seconds = 1;
  kube::Informer informer(*client_, kConfigMaps, options, sink_, {}, timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  std::vector<std::string> expected;
  for (int i = 0; informer.stats().watches < 4; ++i) {
    MustCreateMap(StrCat("m", i), StrCat(i));
    expected.push_back(StrCat("m", i, "=", i));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(journal_.Wait(expected.size()), expected);
  EXPECT_EQ(informer.stats().lists, 1);
}

TEST_F(KubeWatchTest, AWatchFromBeforeCompactionIsOutOfRange) {
  const std::string version = kube::ResourceVersionOf(MustCreateMap("a"));
  for (int i = 0; i < 3; ++i) SetValue("a", StrCat(i));
  ASSERT_TRUE(plane_->ForgetHistory().ok());
  const absl::Status status =
      client_->Watch(Map(), {.resource_version = version, .timeout_seconds = 10}, {},
                     [](const kube::WatchEvent&) {});
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
}

TEST_F(KubeWatchTest, AnInformerThatMissedHistoryReportsTheDifference) {
  GatedClient gated(*client_);
  kube::InformerOptions options;
  options.ns = ns_;
  kube::Informer informer(gated, kConfigMaps, options, sink_, {}, timing());
  for (const char* name : {"a", "b", "c", "d"}) MustCreateMap(name);
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  journal_.Wait(4);
  journal_.Clear();
  gated.Close();
  ASSERT_TRUE(client_->Delete(Map("a"), {}).ok());
  SetValue("b", "1");
  ASSERT_TRUE(client_->Delete(Map("c"), {}).ok());
  MustCreateMap("c", "again");
  ASSERT_TRUE(plane_->ForgetHistory().ok());
  gated.Open();
  EXPECT_THAT(journal_.Wait(4), ElementsAre("b=1", "-c", "c=again", "-a"));
  EXPECT_EQ(informer.stats().lists, 2);
}

TEST_F(KubeWatchTest, AListWhosePagesAreForgottenBeginsAgain) {
  for (int i = 0; i < 6; ++i) MustCreateMap(StrCat("m", i));
  auto first = ReadListPage(*client_, Map(), {.limit = 2});
  ASSERT_TRUE(first.ok()) << first.status();
  MustCreateMap("m9");
  ASSERT_TRUE(plane_->ForgetHistory().ok());
  const absl::Status second =
      ReadListPage(*client_, Map(), {.limit = 2, .continue_token = first->continue_token}).status();
  EXPECT_TRUE(absl::IsOutOfRange(second)) << second;
  EXPECT_TRUE(ListAll(*client_, Map(), {.limit = 2}).ok());
}

TEST_F(KubeWatchTest, LeadershipPassesOnWithAGrowingToken) {
  kube::LeaseOptions options;
  options.ns = ns_;
  options.name = "leader";
  options.lease_duration_ms = 6'000;
  options.renew_deadline_ms = 4'000;
  options.retry_period_ms = 200;
  auto callbacks = [&](const std::string& who) {
    kube::LeaderCallbacks callbacks;
    callbacks.started = [this, who](std::int64_t token) {
      journal_.Write(StrCat(who, " leads ", token));
    };
    callbacks.stopped = [this, who] { journal_.Write(who + " stopped"); };
    return callbacks;
  };
  // As LeaderElector asks: `stopped` waits for a call that is on its way.
  kube::ClientConfig config = AdminConfig();
  config.call_deadline_ms = options.renew_deadline_ms / 4;
  auto client_a = Connect(config);
  const auto credentials = std::make_shared<kube::Credentials>(config, clock_);
  auto transport = kube::MakeHttpTransport(config, credentials);
  ASSERT_TRUE(transport.ok()) << transport.status();
  std::atomic<bool> cut = false;
  kube::RestClient client_b(config, std::make_unique<CutTransport>(*std::move(transport), cut),
                            credentials, timing(), {});
  options.identity = "a";
  kube::LeaderElector a(*client_a, options, callbacks("a"), timing());
  options.identity = "b";
  kube::LeaderElector b(client_b, options, callbacks("b"), timing());
  a.Start();
  EXPECT_THAT(journal_.Wait(1), ElementsAre("a leads 1"));
  b.Start();
  // Longer than a hold lasts without renewals; a stays.
  std::this_thread::sleep_for(std::chrono::milliseconds(options.renew_deadline_ms + 500));
  EXPECT_TRUE(a.IsLeader());
  EXPECT_FALSE(b.IsLeader());
  a.Stop();
  EXPECT_THAT(journal_.Wait(3), ElementsAre("a leads 1", "a stopped", "b leads 2"));
  // A leader that is cut off stops by itself, and another follows when its lease has run out.
  cut = true;
  auto client_c = Connect(config);
  options.identity = "c";
  kube::LeaderCallbacks of_c = callbacks("c");
  of_c.started = [this, &b](std::int64_t token) {
    journal_.Write(StrCat("c leads ", token, b.IsLeader() ? " beside b" : ""));
  };
  kube::LeaderElector c(*client_c, options, of_c, timing());
  c.Start();
  EXPECT_THAT(journal_.Wait(5),
              ElementsAre("a leads 1", "a stopped", "b leads 2", "b stopped", "c leads 3"));
}

TEST_F(KubeWatchTest, EventsAreAcceptedAndCountUp) {
  const json map = MustCreateMap("a");
  kube::EventWriterOptions options;
  options.controller = "yardmaster.dev/test";
  options.instance = "test-0";
  options.series_period_ms = 0;
  kube::EventRecord event;
  event.regarding = {"v1", "ConfigMap", ns_, "a", kube::UidOf(map)};
  event.type = kube::EventType::kWarning;
  event.reason = "NotPlanned";
  event.action = "Placing";
  event.note = "2 hosts short in segment 7";
  {
    kube::EventRecorder recorder(*client_, options, timing());
    for (int i = 0; i < 3; ++i) recorder.Record(event);
    kube::EventRecord about_node = event;
    about_node.regarding = {"v1", "Node", "", "n1", ""};
    recorder.Record(about_node);
    recorder.Flush();
    EXPECT_EQ(recorder.dropped(), 0);
  }
  auto events = ListAll(*client_, {kube::Events(), ns_});
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events->at(0))["series"]["count"], 3);
  EXPECT_EQ((*events->at(0))["note"], "2 hosts short in segment 7");
  auto described = plane_->Kubectl({"get", "events", "-n", ns_, "-o", "wide"});
  EXPECT_THAT(*described, ::testing::HasSubstr("NotPlanned"));
}

}  // namespace
}  // namespace yardmaster::testing
