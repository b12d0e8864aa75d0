// The seam to the Kubernetes API: everything above pkg/kube talks to a Client and nothing else.
// RestClient (rest_client.h) is the real one, FakeClient (testing/fake_client.h) the one of tests.
//
// Errors. Every call maps what happened to one status code, so that callers never look at HTTP:
//   NotFound            404
//   AlreadyExists       409, reason AlreadyExists (create)
//   Aborted             409 otherwise: a stale resourceVersion, a failed precondition; also a patch
//                       that names another uid. Read again and decide again.
//   OutOfRange          410: the resourceVersion or continue token is too old. List again.
//   FailedPrecondition  a JSON patch that does not fit the object: a `test` that failed or a path
//                       that is not there. Read again and decide again.
//   InvalidArgument     422, 400, 406, 413 and 415: the request is refused; the message carries
//                       every cause
//   Unauthenticated     401      PermissionDenied  403
//   ResourceExhausted   429      RetryAfterMs(status) says how long the server asks to wait
//   Unavailable         5xx, no connection, connection lost; the call may have taken effect
//   DeadlineExceeded    no answer in time; the call may have taken effect
//   Cancelled           stopped by the caller
//   DataLoss            an answer or a watch line that cannot be understood
//   Unimplemented       405      Unknown           any other code of 300 or more
// The message reads "<VERB> <path>: <what the server said>".
//
// Thread safety: all methods from any thread, at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/kube/object.h"
#include "pkg/kube/resource.h"

namespace yardmaster::kube {

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  int limit = 500;
  std::string continue_token = {};
};

// What a page says besides its objects.
struct PageEnd {
  std::string resource_version = {};  // of the whole list, the same on every page
  std::string continue_token = {};    // empty: the last page
  // The limit that was taken in place of the one asked for, because of large objects; 0: none was.
  int cut_to = 0;
};
// Of the page after `end`, which was read with `options`: its limit is the one that was cut to,
// else twice the last one, up to `most`.
ListOptions NextPage(ListOptions options, const PageEnd& end, int most);

// Receives one object; the view lives as long as the call.
using OnObject = std::function<void(JsonView object)>;

enum class PatchType { kJson, kMerge };

// What to send with PATCH, and how the server reads it.
struct PatchBody {
  PatchType type;
  // The JSON text of the patch.
  std::string body = {};
  // The manager's name in metadata.managedFields.
  std::string field_manager = {};
};
// RFC 6902 operations, an array. Begin with `test` operations for what must still be true.
PatchBody JsonPatch(const nlohmann::json& operations);
// RFC 7386. Put metadata.uid or metadata.resourceVersion in it as a precondition.
PatchBody MergePatch(const nlohmann::json& body);

struct WriteOptions {
  // As in PatchBody, whose name goes before this one.
  std::string field_manager = {};
  // Of Create: the answer is what admission would make of the object, and nothing is written.
  bool dry_run = false;
};

struct DeleteOptions {
  // Preconditions; empty means none.
  std::string uid = {};
  std::string resource_version = {};
  // "Background", "Foreground", "Orphan"; empty leaves it to the server.
  std::string propagation = {};
  // Negative leaves it to the server.
  int grace_period_seconds = -1;
};

struct WatchOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  // Events after this version. Take it from a list or an earlier event.
  std::string resource_version = {};
  // A list and its watch in one (WatchList): every object there is comes as kAdded, and what
  // changes meanwhile as a watch has it; then a bookmark for which EndsInitialEvents is true, then
  // the changes. `resource_version` stays empty. Servers without the feature answer
  // InvalidArgument.
  bool send_initial_events = false;
  // The server ends the watch after this long.
  int timeout_seconds = 300;
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchEventType type;
  // Lives as long as the call that hands it over. Of a bookmark only metadata.resourceVersion means
  // anything, and whether it EndsInitialEvents.
  JsonView object;
};
// Whether a bookmark says that all objects that were there have been sent.
bool EndsInitialEvents(const WatchEvent& bookmark);

class Client {
 public:
  virtual ~Client() = default;

  virtual absl::StatusOr<nlohmann::json> Get(const Target& target) = 0;
  // One page of a collection: calls `on_object`, on the calling thread, for every object in order.
  // Built-in types come without apiVersion and kind, as the server sends them. DataLoss, before any
  // object, where the answer's `items` is not a list; no items at all are an empty list only in an
  // object whose kind ends with "List". DataLoss after some objects where the answer is broken
  // behind them. A page of large objects has fewer than `options.limit`: no page takes more than 32
  // MiB.
  virtual absl::StatusOr<PageEnd> ReadPage(const Target& target, const ListOptions& options,
                                           const OnObject& on_object) = 0;
  // Creates in the collection `target`; with a subresource set, POSTs to that subresource of the
  // named object (binding, eviction, token). Returns the server's answer.
  virtual absl::StatusOr<nlohmann::json> Create(const Target& target, const nlohmann::json& object,
                                                const WriteOptions& options = {}) = 0;
  // PUT. With metadata.resourceVersion in `object` a stale one gives Aborted.
  virtual absl::StatusOr<nlohmann::json> Replace(const Target& target, const nlohmann::json& object,
                                                 const WriteOptions& options = {}) = 0;
  virtual absl::StatusOr<nlohmann::json> Patch(const Target& target, const PatchBody& patch,
                                               const WriteOptions& options = {}) = 0;
  // OK also when deletion has only begun (finalizers, grace period).
  virtual absl::Status Delete(const Target& target, const DeleteOptions& options = {}) = 0;
  // Blocks and calls `on_event`, on the calling thread, for every event in order. Returns OK when
  // the server ended the watch in the ordinary way (resume from the last version seen), Cancelled
  // after `stop`, OutOfRange when only a new list helps, else as above.
  virtual absl::Status Watch(const Target& target, const WatchOptions& options,
                             std::stop_token stop,
                             const std::function<void(const WatchEvent&)>& on_event) = 0;
};

// All pages, one after the other: `begin`, then `on_object` for every object. A continue token that
// got too old makes it begin again, three times at most; then OutOfRange. `options.continue_token`
// must be empty.
absl::Status ReadAll(Client& client, const Target& target, const std::function<void()>& begin,
                     const OnObject& on_object, const ListOptions& options = {});
// The same as documents, with apiVersion and kind.
absl::StatusOr<std::vector<ObjectPtr>> ListAll(Client& client, const Target& target,
                                               const ListOptions& options = {});

// How long the server asked to wait before the next try; 0 if it did not.
std::int64_t RetryAfterMs(const absl::Status& status);
// The HTTP code behind a status; 0 if there was no answer.
int HttpCodeOf(const absl::Status& status);

}  // namespace yardmaster::kube
