#include "pkg/kube/http_transport.h"

#include <algorithm>
#include <chrono>
#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>
#include <optional>
#include <pplx/threadpool.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>  // before Boost.Asio 1.74, which forgets it in C++20

#include "pkg/base/mutex.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/http_exchange.h"
#include "pkg/kube/process_env.h"
#include "pkg/kube/tcp_keepalive.h"

namespace yardmaster::kube {
namespace {

using web::http::client::http_client;
using web::http::client::http_client_config;

// The API server keeps objects below 1.5 MiB; in a watch line there is one.
constexpr std::size_t kMaxLineBytes = 16u << 20;
constexpr std::size_t kStreamHighWaterBytes = 1u << 20;
constexpr std::size_t kMaxErrorBodyBytes = 64u << 10;
// Nothing ever waits on them, so a few are enough.
constexpr std::size_t kLibraryThreads = 8;
// After cancelling, the library needs about a millisecond; a name look-up can hold it up.
constexpr std::chrono::milliseconds kCancelWait{500};

// Where the library writes an answer's body: hands everything on to the exchange. The overrides
// that a write-only buffer never needs answer "no".
class SinkBuffer final : public concurrency::streams::details::streambuf_state_manager<uint8_t> {
 public:
  explicit SinkBuffer(std::shared_ptr<HttpExchange> exchange)
      : streambuf_state_manager(std::ios_base::out), exchange_(std::move(exchange)) {}

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return traits::eof(); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return traits::eof(); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return traits::eof();
  }
  bool acquire(uint8_t*& pointer, size_t& count) override {
    pointer = nullptr;
    count = 0;
    return false;
  }
  void release(uint8_t*, size_t) override {}
  // Done at once. After a refused write the library waits for this on the thread that it needs for
  // anything less prompt: with all threads there, or at the end of the process, for ever.
  using streambuf_state_manager::close;
  pplx::task<void> close(std::ios_base::openmode) override {
    m_stream_can_write = false;
    return pplx::task_from_result();
  }

 protected:
  pplx::task<size_t> _putn(const uint8_t* data, size_t count) override {
    pplx::task_completion_event<size_t> room;
    switch (exchange_->Put(reinterpret_cast<const char*>(data), count,
                           [room, count] { room.set(count); })) {
      case HttpExchange::PutResult::kGoOn:
        return pplx::task_from_result<size_t>(count);
      case HttpExchange::PutResult::kWait:
        return pplx::create_task(room);
      case HttpExchange::PutResult::kRefuse:
        break;
    }
    return pplx::task_from_exception<size_t>(std::runtime_error("the answer is not wanted"));
  }
  pplx::task<int_type> _putc(uint8_t byte) override {
    return _putn(&byte, 1).then([byte](size_t) { return static_cast<int_type>(byte); });
  }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}
  pplx::task<int_type> _bumpc() override { return NoChar(); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return NoChar(); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return NoChar(); }
  pplx::task<int_type> _ungetc() override { return NoChar(); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return pplx::task_from_result<size_t>(0); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }

 private:
  static pplx::task<int_type> NoChar() { return pplx::task_from_result<int_type>(traits::eof()); }
  const std::shared_ptr<HttpExchange> exchange_;
};

// The texts with which the library reports that it never got as far as sending.
bool FailedBeforeSending(std::string_view message) {
  for (std::string_view start :
       {"Failed to connect", "Error resolving", "Failed to resolve", "Error in SSL handshake"}) {
    if (message.starts_with(start)) return true;
  }
  return false;
}

absl::Status StatusOf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const web::http::http_exception& error) {
    const std::string message = error.what();
    if (error.error_code() == std::errc::timed_out) return absl::DeadlineExceededError(message);
    absl::Status status = absl::UnavailableError(message);
    return FailedBeforeSending(message) ? MarkNeverSent(std::move(status)) : status;
  } catch (const std::exception& error) {
    return absl::UnavailableError(error.what());
  } catch (...) {
    return absl::UnavailableError("an unknown error of the HTTP library");
  }
}

HttpResponse HeadOf(const web::http::http_response& response) {
  HttpResponse head;
  head.code = response.status_code();
  for (const auto& [name, value] : response.headers()) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    head.headers[lower] = value;
  }
  return head;
}

// One request on its way, from the caller's side.
class Running {
 public:
  Running(std::shared_ptr<http_client> client, web::http::http_request request,
          std::shared_ptr<HttpExchange> exchange)
      : exchange_(std::move(exchange)) {
    request.set_response_stream(
        concurrency::streams::streambuf<uint8_t>(std::make_shared<SinkBuffer>(exchange_))
            .create_ostream());
    try {
      Start(std::move(client), std::move(request));
    } catch (...) {
      exchange_->End(StatusOf(std::current_exception()));
    }
  }
  // Cancels what has not ended.
  ~Running() {
    exchange_->Leave();
    if (exchange_->Ended()) return;
    cancel_.cancel();
    exchange_->WaitForEnd(kCancelWait);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  HttpExchange& exchange() { return *exchange_; }

 private:
  // The chain owns all it uses, since it may outlive this object; its last link catches all.
  void Start(std::shared_ptr<http_client> client, web::http::http_request request) {
    std::shared_ptr<HttpExchange> exchange = exchange_;
    client->request(std::move(request), cancel_.get_token())
        .then([exchange](web::http::http_response response) {
          exchange->PutHead(HeadOf(response));
          return response.content_ready();
        })
        .then([exchange, client](pplx::task<web::http::http_response> done) {
          try {
            done.get();  // it has ended: this does not wait
            exchange->End(absl::OkStatus());
          } catch (...) {
            exchange->End(StatusOf(std::current_exception()));
          }
        });
  }

  const std::shared_ptr<HttpExchange> exchange_;
  pplx::cancellation_token_source cancel_;
};

// Opens a new socket for an address of `family`, which the library would do when it connects, and
// sets its options.
void Prepare(boost::asio::ip::tcp::socket& socket, const boost::asio::ip::tcp& family) {
  if (socket.is_open()) return;  // one that is used again has them
  boost::system::error_code error;
  socket.open(family, error);
  if (!error) ProbePeer(socket.native_handle());
}

// The certificates for new connections. The library asks for them on its own threads, where
// nothing may wait; Credentials may (for an exec plugin), so callers put them here beforehand.
class CurrentTls {
 public:
  void Set(TlsMaterial material) {
    MutexLock lock(mutex_);
    material_ = std::move(material);
  }
  void Apply(boost::asio::ssl::context& context) {
    MutexLock lock(mutex_);
    // It was checked before; and a connection without authorities fails its handshake.
    ApplyTlsMaterial(material_, context.native_handle()).IgnoreError();
  }

 private:
  Mutex mutex_;
  TlsMaterial material_ ABSL_GUARDED_BY(mutex_);
};

class HttpTransport final : public Transport {
 public:
  HttpTransport(ClientConfig config, std::shared_ptr<Credentials> credentials)
      : config_(std::move(config)), credentials_(std::move(credentials)) {
    DropConnections();
  }

  absl::StatusOr<HttpResponse> Unary(const HttpRequest& request, std::int64_t deadline_ms,
                                     std::stop_token stop) override {
    YM_RETURN_IF_ERROR(RefreshTls());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
    YM_ASSIGN_OR_RETURN(web::http::http_request built, Build(request));
    Running running(Client(/*watch=*/false), std::move(built),
                    std::make_shared<HttpExchange>(0, request.max_answer_bytes));
    YM_ASSIGN_OR_RETURN(HttpResponse response, running.exchange().WaitForHead(deadline, stop));
    YM_RETURN_IF_ERROR(
        ReadBody(running.exchange(), deadline, stop, request.max_answer_bytes, response));
    return response;
  }

  absl::StatusOr<HttpResponse> Stream(const HttpRequest& request, const StreamDeadlines& deadlines,
                                      std::stop_token stop, const OnLine& on_line) override {
    YM_RETURN_IF_ERROR(RefreshTls());
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(deadlines.total_ms);
    auto in = [&](std::int64_t ms) {
      return std::min(end, std::chrono::steady_clock::now() + std::chrono::milliseconds(ms));
    };
    const std::int64_t head_ms = std::min(config_.attempt_deadline_ms, deadlines.idle_ms);
    YM_ASSIGN_OR_RETURN(web::http::http_request built, Build(request));
    Running running(Client(/*watch=*/true), std::move(built),
                    std::make_shared<HttpExchange>(kStreamHighWaterBytes, kMaxLineBytes));
    YM_ASSIGN_OR_RETURN(HttpResponse response, running.exchange().WaitForHead(in(head_ms), stop));
    if (response.code != 200) {
      YM_RETURN_IF_ERROR(
          ReadBody(running.exchange(), in(head_ms), stop, kMaxErrorBodyBytes, response));
      return response;
    }
    LineSplitter lines(kMaxLineBytes);
    HttpExchange::Taken taken;
    for (;;) {
      YM_RETURN_IF_ERROR(running.exchange().Take(in(deadlines.idle_ms), stop, taken));
      YM_ASSIGN_OR_RETURN(const bool go_on, lines.Push(taken.bytes, on_line));
      if (!go_on) return response;
      if (!taken.end) continue;
      YM_RETURN_IF_ERROR(*taken.end);
      if (lines.InsideLine()) return absl::UnavailableError("the stream ended within a line");
      return response;
    }
  }

  void DropConnections() override {
    auto unary = std::make_shared<http_client>(
        config_.server,
        LibraryConfig(std::chrono::milliseconds(config_.attempt_deadline_ms + 5'000)));
    auto watch = std::make_shared<http_client>(
        config_.server, LibraryConfig(std::chrono::milliseconds(config_.watch_idle_ms + 5'000)));
    MutexLock lock(mutex_);
    unary_ = std::move(unary);
    watch_ = std::move(watch);
  }

 private:
  http_client_config LibraryConfig(std::chrono::milliseconds idle_timeout) const {
    http_client_config config;
    config.set_timeout(idle_timeout);
    config.set_max_redirects(0);
    config.set_validate_certificates(!config_.insecure_skip_tls_verify);
    if (!config_.proxy_url.empty()) {
      config.set_proxy(web::web_proxy(web::uri(config_.proxy_url)));
    }
    if (const auto family = PeerFamily()) {
      const bool tls = config_.server.starts_with("https://");
      config.set_nativehandle_options([family = *family, tls](web::http::client::native_handle at) {
        using Socket = boost::asio::ip::tcp::socket;
        using TlsStream = boost::asio::ssl::stream<Socket&>;
        Prepare(tls ? static_cast<TlsStream*>(at)->next_layer() : *static_cast<Socket*>(at),
                family);
      });
    }
    config.set_ssl_context_callback(
        [tls = tls_](boost::asio::ssl::context& context) { tls->Apply(context); });
    return config;
  }

  // Of the first address of the server. Nothing behind a proxy, where the library shows sockets of
  // another kind, or when the name has no address yet.
  std::optional<boost::asio::ip::tcp> PeerFamily() const {
    const auto url = ParseServerUrl("server", config_.server);
    if (!config_.proxy_url.empty() || !url.ok()) return std::nullopt;
    const auto family = FirstAddressFamily(url->host, url->port);
    if (!family) return std::nullopt;
    return *family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4();
  }

  // Before every request. A bad certificate is an error that says so, not a failed handshake.
  absl::Status RefreshTls() {
    if (!config_.server.starts_with("https://")) return absl::OkStatus();
    absl::StatusOr<TlsMaterial> material = credentials_->Tls();
    if (!material.ok()) return MarkNeverSent(material.status());
    tls_->Set(*std::move(material));
    return absl::OkStatus();
  }

  std::shared_ptr<http_client> Client(bool watch) {
    MutexLock lock(mutex_);
    return watch ? watch_ : unary_;
  }

  absl::StatusOr<web::http::http_request> Build(const HttpRequest& request) const {
    web::http::http_request built(request.method);
    try {
      built.set_request_uri(request.target);
    } catch (const web::uri_exception& error) {
      return absl::InvalidArgumentError(StrCat(request.target, ": ", error.what()));
    }
    if (!request.body.empty()) built.set_body(request.body);
    for (const auto& [name, value] : request.headers) {
      if (name == "Content-Type") {
        built.headers().set_content_type(value);
      } else {
        built.headers().add(name, value);
      }
    }
    // The library verifies, and sends as SNI, the name in this header.
    if (!config_.tls_server_name.empty()) built.headers().add("Host", config_.tls_server_name);
    return built;
  }

  static absl::Status ReadBody(HttpExchange& exchange, HttpExchange::SteadyTime deadline,
                               std::stop_token stop, std::size_t max_bytes,
                               HttpResponse& response) {
    HttpExchange::Taken taken;
    for (;;) {
      YM_RETURN_IF_ERROR(exchange.Take(deadline, stop, taken));
      if (response.body.empty()) {
        response.body = std::move(taken.bytes);
      } else {
        response.body.append(taken.bytes);
      }
      if (taken.end) return *taken.end;
      if (response.body.size() > max_bytes) {
        return MarkTooLarge(
            absl::DataLossError(StrCat("an answer of more than ", max_bytes, " bytes")));
      }
    }
  }

  const ClientConfig config_;
  const std::shared_ptr<Credentials> credentials_;
  const std::shared_ptr<CurrentTls> tls_ = std::make_shared<CurrentTls>();
  Mutex mutex_;
  std::shared_ptr<http_client> unary_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<http_client> watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void PrepareProcessForHttp() {
  UseEmptyCertificateBundle();
  try {
    crossplat::threadpool::initialize_with_threads(kLibraryThreads);
  } catch (const std::exception&) {
    // The pool is there already, from an earlier call.
  }
}

absl::StatusOr<std::unique_ptr<Transport>> MakeHttpTransport(
    const ClientConfig& config, std::shared_ptr<Credentials> credentials) {
  YM_RETURN_IF_ERROR(ValidateClientConfig(config));
  try {
    return std::make_unique<HttpTransport>(config, std::move(credentials));
  } catch (const std::exception& error) {
    return FieldError("server", error.what(), "check the URL");
  }
}

}  // namespace yardmaster::kube
