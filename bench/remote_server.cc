#include "bench/remote_server.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::bench {

namespace {

using nlohmann::json;

// Room for history: tests that look at calls are elsewhere.
constexpr std::int64_t kForgetCalls = 10'000;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::abort();
}

bool WriteAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool ReadFull(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, data, size, 0);
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool WriteMessage(int fd, const json& message) {
  std::string text(sizeof(std::uint32_t), '\0');
  text += message.dump();
  const auto size = static_cast<std::uint32_t>(text.size() - sizeof(std::uint32_t));
  std::memcpy(text.data(), &size, sizeof(size));
  return WriteAll(fd, text.data(), text.size());
}

std::optional<json> ReadMessage(int fd) {
  std::uint32_t size = 0;
  if (!ReadFull(fd, reinterpret_cast<char*>(&size), sizeof(size))) return std::nullopt;
  std::string text(size, '\0');
  if (!ReadFull(fd, text.data(), text.size())) return std::nullopt;
  return json::parse(text);
}

sockaddr_un AddressOf(const std::string& name, socklen_t& length) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

json Encode(const kube::Resource& r) {
  return json::array({r.group, r.version, r.plural, r.kind, r.namespaced});
}
kube::Resource ResourceIn(const json& in) {
  return {in[0], in[1], in[2], in[3], in[4].get<bool>()};
}
json Encode(const kube::Target& t) {
  return json::array({Encode(t.resource), t.ns, t.name, t.subresource});
}
kube::Target TargetIn(const json& in) { return {ResourceIn(in[0]), in[1], in[2], in[3]}; }

class Server {
 public:
  Server() : store_(clock_) {}

  void Run(int listener) {
    for (;;) {
      const int fd = accept(listener, nullptr, nullptr);
      if (fd < 0) return;
      std::thread([this, fd] { Serve(UniqueFd(fd)); }).detach();
    }
  }

 private:
  void Serve(UniqueFd fd) {
    while (const auto request = ReadMessage(fd.get())) {
      const absl::StatusOr<json> answer = Handle(*request);
      const json message =
          json::array({static_cast<int>(answer.status().code()), MessageOf(answer.status()),
                       answer.ok() ? *answer : json()});
      if (!WriteMessage(fd.get(), message)) return;
    }
  }

  absl::StatusOr<json> Handle(const json& in) {
    // FakeClient keeps every call until it is told to forget them.
    if (++handled_ % kForgetCalls == 0) store_.ClearCalls();
    const std::string verb = in["verb"];
    if (verb == "get") return store_.Get(TargetIn(in["target"]));
    if (verb == "create") return store_.Create(TargetIn(in["target"]), in["object"], Writer(in));
    if (verb == "replace") return store_.Replace(TargetIn(in["target"]), in["object"], Writer(in));
    if (verb == "patch") {
      const kube::PatchBody patch{static_cast<kube::PatchType>(in["type"].get<int>()), in["body"],
                                  in["manager"]};
      return store_.Patch(TargetIn(in["target"]), patch, {});
    }
    if (verb == "delete") {
      kube::DeleteOptions options;
      options.uid = in["uid"].get<std::string>();
      options.grace_period_seconds = in["grace"].get<int>();
      YM_RETURN_IF_ERROR(store_.Delete(TargetIn(in["target"]), options));
      return json();
    }
    if (verb == "memory") return json(OwnResidentMiB());
    if (verb == "disturb") return Disturb(in["disturbed"].get<bool>());
    const kube::Resource resource = ResourceIn(in["resource"]);
    if (verb == "seed") {
      store_.Seed(resource, in["object"]);
      const json& metadata = in["object"]["metadata"];
      return store_.Find(resource, metadata.value("namespace", ""), metadata["name"])
          .value_or(json());
    }
    return store_.Find(resource, in["ns"], in["name"]).value_or(json());
  }

  static kube::WriteOptions Writer(const json& in) { return {in["manager"]}; }

  json Disturb(bool disturbed) {
    if (!disturbed) {
      store_.SetHook({});
      return {};
    }
    store_.SetHook([this](const kube::Call& call) {
      if (call.verb == kube::Verb::kGet) return absl::OkStatus();
      switch (calls_++ % 40) {
        case 0:
          return absl::ResourceExhaustedError("429");
        case 20:
          return absl::UnavailableError("500");
        default:
          return absl::OkStatus();
      }
    });
    return {};
  }

  RealClock clock_;
  kube::FakeClient store_;
  std::atomic<std::int64_t> calls_ = 1;
  std::atomic<std::int64_t> handled_ = 0;
};

}  // namespace

std::int64_t OwnResidentMiB() {
  std::ifstream in("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

RemoteServer::RemoteServer() : name_(StrCat("yardmaster-bench-", getpid())) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Require(listener >= 0, "socket");
  socklen_t length = 0;
  const sockaddr_un address = AddressOf(name_, length);
  Require(bind(listener, reinterpret_cast<const sockaddr*>(&address), length) == 0, "bind");
  Require(listen(listener, 128) == 0, "listen");
  server_ = fork();
  Require(server_ >= 0, "fork");
  if (server_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Server().Run(listener);
    _exit(0);
  }
  close(listener);
}

RemoteServer::~RemoteServer() {
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
}

absl::StatusOr<json> RemoteServer::Ask(json request) {
  UniqueFd fd;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      fd = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (fd.get() < 0) {
    fd = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t length = 0;
    const sockaddr_un address = AddressOf(name_, length);
    Require(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0, "connect");
  }
  Require(WriteMessage(fd.get(), request), "send");
  std::optional<json> answer = ReadMessage(fd.get());
  Require(answer.has_value(), "recv");
  {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(fd));
  }
  const auto code = static_cast<absl::StatusCode>((*answer)[0].get<int>());
  if (code != absl::StatusCode::kOk) {
    return absl::Status(code, (*answer)[1].get<std::string>());
  }
  return std::move((*answer)[2]);
}

absl::StatusOr<json> RemoteServer::Get(const kube::Target& target) {
  return Ask({{"verb", "get"}, {"target", Encode(target)}});
}

absl::StatusOr<json> RemoteServer::Create(const kube::Target& target, const json& object,
                                          const kube::WriteOptions& options) {
  return Ask({{"verb", "create"},
              {"target", Encode(target)},
              {"object", object},
              {"manager", options.field_manager}});
}

absl::StatusOr<json> RemoteServer::Replace(const kube::Target& target, const json& object,
                                           const kube::WriteOptions& options) {
  return Ask({{"verb", "replace"},
              {"target", Encode(target)},
              {"object", object},
              {"manager", options.field_manager}});
}

absl::StatusOr<json> RemoteServer::Patch(const kube::Target& target, const kube::PatchBody& patch,
                                         const kube::WriteOptions&) {
  return Ask({{"verb", "patch"},
              {"target", Encode(target)},
              {"type", static_cast<int>(patch.type)},
              {"body", patch.body},
              {"manager", patch.field_manager}});
}

absl::Status RemoteServer::Delete(const kube::Target& target, const kube::DeleteOptions& options) {
  return Ask({{"verb", "delete"},
              {"target", Encode(target)},
              {"uid", options.uid},
              {"grace", options.grace_period_seconds}})
      .status();
}

absl::StatusOr<kube::PageEnd> RemoteServer::ReadPage(const kube::Target&, const kube::ListOptions&,
                                                     const kube::OnObject&) {
  return absl::UnimplementedError("lists");
}

absl::Status RemoteServer::Watch(const kube::Target&, const kube::WatchOptions&, std::stop_token,
                                 const std::function<void(const kube::WatchEvent&)>&) {
  return absl::UnimplementedError("watches");
}

json RemoteServer::Seed(const kube::Resource& resource, const json& object) {
  return Ask({{"verb", "seed"}, {"resource", Encode(resource)}, {"object", object}})
      .value_or(json());
}

std::optional<json> RemoteServer::Find(const kube::Resource& resource, const std::string& ns,
                                       const std::string& name) {
  auto found = Ask({{"verb", "find"}, {"resource", Encode(resource)}, {"ns", ns}, {"name", name}});
  if (!found.ok() || found->is_null()) return std::nullopt;
  return *std::move(found);
}

void RemoteServer::Disturb(bool disturbed) {
  Ask({{"verb", "disturb"}, {"disturbed", disturbed}}).IgnoreError();
}

std::int64_t RemoteServer::ResidentMiB() {
  const auto mib = Ask({{"verb", "memory"}});
  return mib.ok() ? mib->get<std::int64_t>() : 0;
}

}  // namespace yardmaster::bench
