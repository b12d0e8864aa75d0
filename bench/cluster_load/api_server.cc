#include "bench/cluster_load/api_server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>  // before Boost.Asio 1.74, which forgets it in C++20

#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using nlohmann::json;

constexpr std::chrono::seconds kBookmarkEvery{20};

std::string Unquoted(const std::string& text) {  // percent decoding
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::map<std::string, std::string> QueryOf(const std::string& text) {
  std::map<std::string, std::string> out;
  std::size_t from = 0;
  while (from < text.size()) {
    std::size_t end = text.find('&', from);
    if (end == std::string::npos) end = text.size();
    const std::string pair = text.substr(from, end - from);
    const std::size_t equals = pair.find('=');
    out[pair.substr(0, equals)] =
        equals == std::string::npos ? "" : Unquoted(pair.substr(equals + 1));
    from = end + 1;
  }
  return out;
}

std::string At(const std::map<std::string, std::string>& map, const char* key) {
  const auto it = map.find(key);
  return it == map.end() ? "" : it->second;
}

std::string Whole(int code, const std::string& body) {
  return StrCat("HTTP/1.1 ", code, code < 300 ? " OK" : " Error",
                "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n",
                body);
}

std::string Failure(int code, const char* reason, const std::string& message) {
  return Whole(code, json{{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"status", "Failure"},
                          {"reason", reason},
                          {"code", code},
                          {"message", message}}
                         .dump());
}

constexpr char kChunkedHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr char kLastChunk[] = "0\r\n\r\n";

void AppendChunk(const std::string& data, std::string& out) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  out.append(size).append(data).append("\r\n");
}

std::string EventLine(const char* type, const std::string& object) {
  return StrCat("{\"type\":\"", type, "\",\"object\":", object, "}\n");
}

}  // namespace

ApiServer::ApiServer(const CloudCluster& cluster, ApiServerOptions options)
    : cluster_(cluster), options_(std::move(options)) {
  const std::string own = "yardmaster.dev/v1alpha1";
  const std::string own_prefix = "/apis/" + own;
  AddCollection({"/api/v1", "pods", "v1", "Pod", cluster.pods(),
                 [&](std::size_t i, std::string& out) { cluster.AppendPod(i, out); }},
                [&](std::size_t i) { return cluster.PodPath(i); });
  AddCollection({"/api/v1", "nodes", "v1", "Node", cluster.nodes(),
                 [&](std::size_t i, std::string& out) { cluster.AppendNode(i, out); }},
                [&](std::size_t i) { return cluster.NodeName(i); });
  AddCollection({own_prefix, "gangs", own, "Gang", cluster.gangs(),
                 [&](std::size_t i, std::string& out) { cluster.AppendGang(i, out); }},
                [&](std::size_t i) { return "team/" + cluster.GangNameOf(i); });
  AddCollection({own_prefix, "fabrics", own, "Fabric", 1,
                 [&](std::size_t, std::string& out) { out += cluster.fabric(); }},
                [&](std::size_t) {
                  return json::parse(cluster.fabric())["metadata"]["name"].get<std::string>();
                });
  AddCollection({own_prefix, "trainingjobs", own, "TrainingJob", 0, nullptr}, nullptr);
  AddCollection({own_prefix, "capacitypools", own, "CapacityPool", 0, nullptr}, nullptr);
  AddCollection(
      {"/apis/policy/v1", "poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", 0, nullptr},
      nullptr);
  AddCollection({"/apis/events.k8s.io/v1", "events", "events.k8s.io/v1", "Event", 0, nullptr},
                nullptr);
  AddCollection(
      {"/apis/coordination.k8s.io/v1", "leases", "coordination.k8s.io/v1", "Lease", 0, nullptr},
      nullptr);
  version_ = static_cast<std::int64_t>(std::max(cluster.pods(), cluster.nodes())) + 1;
}

void ApiServer::AddCollection(Collection collection,
                              const std::function<std::string(std::size_t)>& key) {
  for (std::size_t i = 0; i < collection.count; ++i) {
    collection.keys.push_back(key(i));
    collection.index[collection.keys.back()] = i;
  }
  collections_.push_back(std::move(collection));
}

ApiServer::Collection* ApiServer::Find(const std::string& path, std::string& key) {
  for (Collection& collection : collections_) {
    if (path.rfind(collection.prefix + "/", 0) != 0) continue;
    std::string rest = path.substr(collection.prefix.size() + 1);
    std::string ns;
    if (rest.rfind("namespaces/", 0) == 0) {
      rest = rest.substr(11);
      ns = rest.substr(0, rest.find('/')) + "/";
      rest = rest.substr(std::min(rest.size(), ns.size()));
    }
    if (rest != collection.plural && rest.rfind(collection.plural + "/", 0) != 0) continue;
    rest = rest.substr(std::min(rest.size(), collection.plural.size() + 1));
    const std::string name = rest.substr(0, rest.find('/'));  // a subresource is left out
    key = name.empty() ? "" : ns + name;
    return &collection;
  }
  return nullptr;
}

void ApiServer::AppendCurrent(const Collection& collection, std::size_t index, std::string& out) {
  {
    std::lock_guard lock(mutex_);
    const auto at = collection.written.empty() ? collection.written.end()
                                               : collection.written.find(collection.keys[index]);
    if (at != collection.written.end()) {
      out += at->second;
      return;
    }
  }
  collection.append(index, out);
}

std::optional<std::string> ApiServer::Current(const Collection& collection,
                                              const std::string& key) const {
  if (const auto at = collection.written.find(key); at != collection.written.end()) {
    return at->second;
  }
  const auto at = collection.index.find(key);
  if (at == collection.index.end()) return std::nullopt;
  std::string text;
  collection.append(at->second, text);
  return text;
}

bool ApiServer::AnswerList(Collection& collection, const Request& request, const Send& send) {
  std::size_t from = 0;
  std::int64_t version = 0;
  {
    std::lock_guard lock(mutex_);
    version = version_;
  }
  if (const std::string token = At(request.query, "continue"); !token.empty()) {
    from = std::stoul(token);
    version = std::stoll(token.substr(token.find(':') + 1));
  }
  const std::string limit = At(request.query, "limit");
  const std::size_t to =
      limit.empty() ? collection.count : std::min(collection.count, from + std::stoul(limit));
  std::string out = kChunkedHead;
  json metadata = {{"resourceVersion", StrCat(version)}};
  if (to < collection.count) {
    metadata["continue"] = StrCat(to, ":", version);
    metadata["remainingItemCount"] = collection.count - to;
  }
  AppendChunk(StrCat("{\"kind\":\"", collection.kind, "List\",\"apiVersion\":\"",
                     collection.api_version, "\",\"metadata\":", metadata.dump(), ",\"items\":["),
              out);
  std::string item;
  for (std::size_t i = from; i < to; ++i) {
    item.assign(i == from ? "" : ",");
    AppendCurrent(collection, i, item);
    AppendChunk(item, out);
    if (!send(out)) return false;
    out.clear();
  }
  AppendChunk("]}\n", out);
  return send(out + kLastChunk);
}

bool ApiServer::AnswerWatch(Collection& collection, const Request& request, const Send& send) {
  const bool streamed = At(request.query, "sendInitialEvents") == "true";
  if (streamed && !options_.watch_list) {
    return send(Failure(422, "Invalid",
                        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                        "sendInitialEvents is forbidden for watch unless the WatchList feature "
                        "gate is enabled"));
  }
  std::size_t seen = 0;
  std::int64_t version = 0;
  {
    std::lock_guard lock(mutex_);
    seen = streamed ? collection.events.size() : 0;
    version = version_;
  }
  std::string out = kChunkedHead;
  const auto bookmark = [&](const json& annotations) {
    AppendChunk(
        EventLine(
            "BOOKMARK",
            json{{"kind", collection.kind},
                 {"apiVersion", collection.api_version},
                 {"metadata", {{"resourceVersion", StrCat(version)}, {"annotations", annotations}}}}
                .dump()),
        out);
  };
  if (streamed) {
    std::string object;
    for (std::size_t i = 0; i < collection.count; ++i) {
      object.clear();
      AppendCurrent(collection, i, object);
      AppendChunk(EventLine("ADDED", object), out);
      if (!send(out)) return false;
      out.clear();
    }
    bookmark({{"k8s.io/initial-events-end", "true"}});
  }
  const int seconds = std::max(1, std::atoi(At(request.query, "timeoutSeconds").c_str()));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    if (!out.empty() && !send(out)) return false;
    out.clear();
    std::unique_lock lock(mutex_);
    const auto until = std::min(end, std::chrono::steady_clock::now() + kBookmarkEvery);
    changed_.wait_until(lock, until, [&] { return collection.events.size() > seen; });
    for (; seen < collection.events.size(); ++seen) AppendChunk(collection.events[seen], out);
    version = version_;
    lock.unlock();
    if (std::chrono::steady_clock::now() >= end) return send(out + kLastChunk);
    if (out.empty()) bookmark(json::object());
  }
}

bool ApiServer::AnswerObject(Collection& collection, const std::string& key, const Request& request,
                             const Send& send) {
  std::unique_lock lock(mutex_);
  const std::optional<std::string> before = Current(collection, key);
  if (request.method == "GET") {
    lock.unlock();
    return send(before ? Whole(200, *before) : Failure(404, "NotFound", key + " not found"));
  }
  json body = json::parse(request.body, nullptr, false);
  json after = before ? json::parse(*before) : json::object();
  std::string at = key;
  if (request.method == "PATCH" && body.is_array()) {
    try {
      after = after.patch(body);
    } catch (const json::exception& error) {
      return send(Failure(422, "Invalid", error.what()));
    }
  } else if (request.method == "PATCH") {
    after.merge_patch(body);
  } else {
    after = std::move(body);
    after["apiVersion"] = collection.api_version;
    after["kind"] = collection.kind;
    if (request.method == "POST") {
      at = after["metadata"].value("namespace", "default") + "/" +
           after["metadata"].value("name", StrCat("generated-", version_));
      after["metadata"]["uid"] = StrCat("uid-", version_);
    }
  }
  after["metadata"]["resourceVersion"] = StrCat(++version_);
  const std::string text = after.dump();
  collection.written[at] = text;
  collection.events.push_back(EventLine(before ? "MODIFIED" : "ADDED", text));
  changed_.notify_all();
  lock.unlock();
  return send(Whole(request.method == "POST" ? 201 : 200, text));
}

std::string ApiServer::Counts() {
  std::lock_guard lock(mutex_);
  json out = {{"promised", cluster_.PromisedHosts(3)},
              {"backup", cluster_.BackupHosts(2)},
              {"free", cluster_.FreeHosts(3)},
              {"requests", requests_}};
  return out.dump();
}

bool ApiServer::Answer(const Request& request, const Send& send) {
  if (request.path == "/bench") return send(Whole(200, Counts()));
  std::string key;
  Collection* collection = Find(request.path, key);
  const bool watch = !At(request.query, "watch").empty();
  {
    std::lock_guard lock(mutex_);
    ++requests_[StrCat(watch ? "WATCH" : request.method, " ",
                       collection == nullptr ? request.path : collection->plural)];
  }
  if (collection == nullptr) return send(Failure(404, "NotFound", "no such resource"));
  if (watch) return AnswerWatch(*collection, request, send);
  if (request.method == "GET" && key.empty()) return AnswerList(*collection, request, send);
  return AnswerObject(*collection, key, request, send);
}

template <typename Stream>
void ApiServer::Serve(Stream& stream) {
  boost::beast::flat_buffer buffer;
  const Send send = [&stream](const std::string& bytes) {
    boost::system::error_code error;
    asio::write(stream, asio::buffer(bytes), error);
    return !error;
  };
  for (;;) {
    http::request<http::string_body> message;
    boost::system::error_code error;
    http::read(stream, buffer, message, error);
    if (error) return;
    const std::string target(message.target());
    const std::size_t mark = target.find('?');
    const Request request{std::string(message.method_string()), target.substr(0, mark),
                          message.body(),
                          QueryOf(mark == std::string::npos ? "" : target.substr(mark + 1))};
    if (!Answer(request, send)) return;
  }
}

std::string ApiServer::Run() {
  try {
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_server);
    const bool encrypted = !options_.certificate_file.empty();
    if (encrypted) {
      tls.use_certificate_chain_file(options_.certificate_file);
      tls.use_private_key_file(options_.key_file, asio::ssl::context::pem);
    }
    tcp::acceptor acceptor(
        context, {asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(options_.port)});
    std::printf("serving on 127.0.0.1:%d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    for (;;) {
      auto socket = std::make_shared<tcp::socket>(context);
      acceptor.accept(*socket);
      socket->set_option(tcp::no_delay(true));
      std::thread([this, socket, encrypted, &tls] {
        try {
          if (!encrypted) return Serve(*socket);
          asio::ssl::stream<tcp::socket> stream(std::move(*socket), tls);
          stream.handshake(asio::ssl::stream_base::server);
          Serve(stream);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "connection: %s\n", error.what());
        }
      }).detach();
    }
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace yardmaster::bench
