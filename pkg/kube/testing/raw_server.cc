#include "pkg/kube/testing/raw_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

class PlainConnection final : public RawConnection {
 public:
  explicit PlainConnection(int fd) : fd_(fd) {}
  std::string Read() override {
    std::array<char, 8192> buffer;
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    return n <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
  }
  bool Write(std::string_view data) override {
    while (!data.empty()) {
      const ssize_t n = send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  std::string PeerName() override { return ""; }

 private:
  const int fd_;
};

class TlsConnection final : public RawConnection {
 public:
  TlsConnection(SSL_CTX* context, int fd) : ssl_(SSL_new(context)) { SSL_set_fd(ssl_, fd); }
  ~TlsConnection() override { SSL_free(ssl_); }
  bool Accept() { return SSL_accept(ssl_) == 1; }
  std::string Read() override {
    std::array<char, 8192> buffer;
    const int n = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
    return n <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
  }
  bool Write(std::string_view data) override {
    return SSL_write(ssl_, data.data(), static_cast<int>(data.size())) > 0;
  }
  std::string PeerName() override {
    X509* cert = SSL_get0_peer_certificate(ssl_);
    if (cert == nullptr) return "";
    std::array<char, 100> name = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    return name.data();
  }

 private:
  SSL* const ssl_;
};

std::shared_ptr<void> MakeTlsContext(const RawServerTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  auto bio = [](const std::string& pem) {
    return std::shared_ptr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                BIO_free);
  };
  X509* cert = PEM_read_bio_X509(bio(tls.cert_pem).get(), nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio(tls.key_pem).get(), nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, cert);
  SSL_CTX_use_PrivateKey(context, key);
  X509_free(cert);
  EVP_PKEY_free(key);
  if (!tls.client_ca_pem.empty()) {
    X509* ca = PEM_read_bio_X509(bio(tls.client_ca_pem).get(), nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return {context, [](void* c) { SSL_CTX_free(static_cast<SSL_CTX*>(c)); }};
}

}  // namespace

std::string RawConnection::ReadRequest() {
  for (;;) {
    const std::size_t end = buffered_.find("\r\n\r\n");
    if (end != std::string::npos) {
      constexpr std::string_view kLength = "Content-Length:";
      std::size_t length = 0;
      std::size_t at = buffered_.find(kLength);
      if (at < end) {
        at = buffered_.find_first_not_of(' ', at + kLength.size());
        const std::size_t line_end = buffered_.find('\r', at);
        length = ParseNumber<std::size_t>(std::string_view(buffered_).substr(at, line_end - at))
                     .value_or(0);
      }
      if (buffered_.size() >= end + 4 + length) {
        std::string request = buffered_.substr(0, end + 4 + length);
        buffered_.erase(0, request.size());
        return request;
      }
    }
    const std::string more = Read();
    if (more.empty()) return "";
    buffered_ += more;
  }
}

RawServer::RawServer(Handler handler) : handler_(std::move(handler)) { Listen(); }

RawServer::RawServer(RawServerTls tls, Handler handler)
    : handler_(std::move(handler)), tls_context_(MakeTlsContext(tls)) {
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets without MSG_NOSIGNAL
  Listen();
}

RawServer::~RawServer() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    for (int fd : open_fds_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listen_fd_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& worker : workers_) worker.join();
  close(listen_fd_);
}

void RawServer::Listen() {
  listen_fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listen_fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listen_fd_, 64);
  socklen_t size = sizeof address;
  getsockname(listen_fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

void RawServer::AcceptLoop() {
  for (;;) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    MutexLock lock(mutex_);
    if (fd < 0 || closing_) {
      if (fd >= 0) close(fd);
      return;
    }
    ++connections_;
    open_fds_.push_back(fd);
    workers_.emplace_back([this, fd] { Serve(fd); });
  }
}

void RawServer::Serve(int fd) {
  if (tls_context_ == nullptr) {
    PlainConnection connection(fd);
    handler_(connection);
  } else {
    TlsConnection connection(static_cast<SSL_CTX*>(tls_context_.get()), fd);
    if (connection.Accept()) handler_(connection);
  }
  MutexLock lock(mutex_);
  std::erase(open_fds_, fd);
  close(fd);
}

}  // namespace yardmaster::kube
