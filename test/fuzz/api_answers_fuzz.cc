// What an API server, a proxy before it, or a credential plugin answers: for all bytes, each call
// ends in a value or an error, a watch passes on events that have an object, and an error has a
// message.
//
// The first byte chooses the HTTP code; an input is cut into lines for the watch.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/kube/api_error.h"
#include "pkg/kube/exec_plugin.h"
#include "pkg/kube/http_exchange.h"
#include "pkg/kube/rest_client.h"
#include "pkg/kube/testing/fake_sleeper.h"
#include "pkg/kube/testing/fake_transport.h"
#include "pkg/tls/certificate.h"
#include "pkg/tls/x509.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kCodes[] = {200, 201, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503};

void Check(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
}

class Server {
 public:
  Server() : sleeper_(clock_, kube::FakeSleeper::Mode::kAdvance) {
    auto transport = std::make_unique<kube::FakeTransport>();
    transport_ = transport.get();
    kube::ClientConfig config;
    config.server = "http://127.0.0.1:1";
    config.qps = 0;
    client_ = std::make_unique<kube::RestClient>(
        config, std::move(transport), std::make_shared<kube::Credentials>(config, clock_),
        kube::Timing{clock_, sleeper_, 1});
  }

  void Unary(int code, const std::string& body) {
    const kube::Target pod{kube::Pods(), "n", "p"};
    const std::map<std::string, std::string> headers = {{"retry-after", body.substr(0, 12)}};
    transport_->Answer(code, body, headers);
    Check(client_->Get(pod).status());
    transport_->Answer(code, body, headers);
    Check(client_
              ->ReadPage({kube::Pods()}, {},
                         [](JsonView object) {
                           if (!object.is_object()) std::abort();
                         })
              .status());
    transport_->Answer(code, body, headers);
    Check(client_->Delete(pod));
  }
  void Watch(std::string_view body) {
    kube::FakeTransport::StreamScript script;
    kube::LineSplitter lines(1 << 16);
    const auto read = lines.Push(body, [&](std::string_view line) {
      script.lines.emplace_back(line);
      return true;
    });
    Check(read.status());
    transport_->AnswerStream(std::move(script));
    Check(client_->Watch({kube::Pods()}, {}, {}, [](const kube::WatchEvent& event) {
      if (!event.object.is_object()) std::abort();
      (void)kube::EndsInitialEvents(event);
    }));
  }

 private:
  FakeClock clock_;
  kube::FakeSleeper sleeper_;
  kube::FakeTransport* transport_ = nullptr;
  std::unique_ptr<kube::Client> client_;
};

void CheckCredentials(const std::string& text) {
  for (const char* version :
       {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}) {
    const auto credential = kube::ParseExecCredential(text, version);
    Check(credential.status());
    if (!credential.ok()) continue;
    const bool certificate =
        !credential->client_cert_pem.empty() && !credential->client_key_pem.empty();
    if (credential->token.empty() && !certificate) std::abort();
  }
  Check(tls::ParseCertificate(text).status());
  Check(tls::ReadPrivateKey(text, "key").status());
  Check(tls::CheckKeyMatches(text, text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int code = kCodes[data[0] % std::size(kCodes)];
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  Server server;
  server.Unary(code, body);
  server.Watch(body);
  CheckCredentials(body);
  if (kube::ParseRetryAfterMs(body) < 0) std::abort();
  return 0;
}
