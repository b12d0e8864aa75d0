// As much of an API server as the processes' informers and writers need, over a CloudCluster: lists
// in pages, watches, streamed lists (WatchList), GET, PUT, merge and JSON patches and POST, in
// plain HTTP/1.1 or over TLS, on 127.0.0.1. Lists and watches are chunked as kube-apiserver chunks
// them: one chunk for every object. GET /bench returns hosts for requests and counts of requests.
//
// Unlike kube-apiserver: no DELETE, admission, validation or conflicts. A write is kept and sent to
// watches. Lists hold only the objects that were there from the start, in their newest version. A
// watch ignores resourceVersion and namespace: it begins with all events since the start, after a
// streamed list with those after the list. One thread for every connection.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster_load/cloud_objects.h"

namespace yardmaster::bench {

struct ApiServerOptions {
  int port = 0;                       // 0: any; Run prints it
  std::string certificate_file = {};  // PEM; empty: plain HTTP
  std::string key_file = {};
  bool watch_list = true;  // false: streamed lists are refused, as servers without the feature do
};

class ApiServer {
 public:
  // `cluster` must outlive this.
  ApiServer(const CloudCluster& cluster, ApiServerOptions options);
  // Serves until the process ends; returns only on a failure, with the reason: the port, the
  // certificate or the key cannot be used, or a connection cannot be accepted.
  std::string Run();

 private:
  // Where one kind lives, and how its objects are written.
  struct Collection {
    std::string prefix;  // "/api/v1"
    std::string plural;
    std::string api_version;
    std::string kind;
    std::size_t count = 0;
    std::function<void(std::size_t, std::string&)> append;
    std::vector<std::string> keys = {};               // "ns/name" or "name", by index
    std::map<std::string, std::size_t> index = {};    // by key
    std::map<std::string, std::string> written = {};  // later versions, and new objects
    std::vector<std::string> events = {};             // lines of a watch, since the start
  };
  struct Request {
    std::string method, path, body;
    std::map<std::string, std::string> query;
  };
  // Sends bytes; false when the peer is gone.
  using Send = std::function<bool(const std::string&)>;

  template <typename Stream>
  void Serve(Stream& stream);
  bool Answer(const Request& request, const Send& send);
  bool AnswerList(Collection& collection, const Request& request, const Send& send);
  bool AnswerWatch(Collection& collection, const Request& request, const Send& send);
  bool AnswerObject(Collection& collection, const std::string& key, const Request& request,
                    const Send& send);
  Collection* Find(const std::string& path, std::string& key);
  std::optional<std::string> Current(const Collection& collection, const std::string& key) const;
  // The newest version of an object that was there from the start.
  void AppendCurrent(const Collection& collection, std::size_t index, std::string& out);
  void AddCollection(Collection collection, const std::function<std::string(std::size_t)>& key);
  std::string Counts();

  const CloudCluster& cluster_;
  const ApiServerOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Collection> collections_;
  std::int64_t version_ = 0;
  std::map<std::string, int> requests_;  // by "METHOD plural"
};

}  // namespace yardmaster::bench
