#include "pkg/page/hub.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/page/assets.h"
#include "pkg/page/cluster_page.h"

namespace yardmaster::page {

namespace {

constexpr int kRetryMs = 250;  // before EventSource asks again
// No resource from elsewhere, no inline script or style, no frame around the page.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

http::Response Guarded(http::Response response) {
  response.headers.Add("Content-Security-Policy", kPolicy);
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.headers.Add("Referrer-Policy", "no-referrer");
  response.headers.Add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.Add("Cache-Control", "no-store");
  return response;
}

// The decoded value of a query field; nothing: it is not there. Names and values of ours need no
// escapes but of '/' and ':'.
std::optional<std::string> QueryField(std::string_view query, std::string_view name) {
  for (const std::string& field : Split(std::string(query), '&')) {
    const std::size_t equals = field.find('=');
    if (equals == std::string::npos || field.substr(0, equals) != name) continue;
    std::string out;
    for (std::size_t i = equals + 1; i < field.size(); ++i) {
      if (field[i] != '%' || i + 2 >= field.size()) {
        out += field[i];
        continue;
      }
      int code = 0;
      const char* hex = field.data() + i + 1;
      if (std::from_chars(hex, hex + 2, code, 16).ptr != hex + 2) return std::nullopt;
      out += static_cast<char>(code);
      i += 2;
    }
    return out;
  }
  return std::nullopt;
}

std::optional<std::int64_t> QueryNumber(std::string_view query, std::string_view name) {
  const auto text = QueryField(query, name);
  return text ? ParseNumber<std::int64_t>(*text) : std::nullopt;
}

std::string ContentType(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

// One event, or none, and the end of the response.
http::Response EventResponse(const Frame* from, const Frame* to) {
  http::Response response;
  response.content_type = "text/event-stream; charset=utf-8";
  response.body = StrCat("retry: ", kRetryMs, "\n");
  if (to == nullptr) {
    response.body += ": nothing new\n\n";
  } else {
    response.body += StrCat("id: ", to->id, "\ndata: ", EncodeChange(from, *to), "\n\n");
  }
  return Guarded(std::move(response));
}

}  // namespace

void Hub::AddRoutes(http::Router& router) {
  for (const Asset& asset : Assets()) {
    const auto serve = [asset](const http::Request&, const http::Done& done) {
      http::Response response;
      response.content_type = ContentType(asset.name);
      response.body = std::string(asset.text);
      done(Guarded(std::move(response)));
    };
    router.Add("GET", StrCat("/", asset.name), serve);
    if (asset.name == "index.html") router.Add("GET", "/", serve);
  }
  router.Add("GET", "/api/events", [this](const http::Request& request, http::Done done) {
    HandleEvents(request, std::move(done));
  });
  router.Add("GET", "/api/frames",
             [this](const http::Request&, const http::Done& done) { done(HandleFrames()); });
  router.Add("GET", "/api/frame", [this](const http::Request& request, const http::Done& done) {
    done(HandleFrame(request));
  });
  router.Add("GET", "/api/paths", [this](const http::Request& request, const http::Done& done) {
    done(HandlePaths(request));
  });
}

void Hub::HandleEvents(const http::Request& request, http::Done done) {
  const auto id = request.headers.Find("Last-Event-ID");
  const std::int64_t from = id ? ParseNumber<std::int64_t>(*id).value_or(0) : 0;
  MutexLock lock(mutex_);
  last_asked_ms_ = clock_.SteadyMs();
  const FrameHistory::FramePtr latest = history_.Latest();
  if (latest == nullptr || latest->id == from) {
    waiters_.push_back({from, clock_.SteadyMs() + options_.hold_ms,
                        request.remote.substr(0, request.remote.rfind(':')), std::move(done)});
    const std::optional<Waiter> surplus = TakeSurplus();
    lock.unlock();
    if (surplus) surplus->done(EventResponse(nullptr, nullptr));
    return;
  }
  const FrameHistory::FramePtr known = history_.Find(from);
  lock.unlock();
  done(EventResponse(known.get(), latest.get()));
}

std::optional<Hub::Waiter> Hub::TakeSurplus() {
  if (waiters_.size() <= options_.waiters) return std::nullopt;
  std::map<std::string, int> of_address;
  for (const Waiter& waiter : waiters_) ++of_address[waiter.address];
  // The first of equals: requests are in the order in which they came.
  const auto most =
      std::max_element(waiters_.begin(), waiters_.end(), [&](const Waiter& a, const Waiter& b) {
        return of_address[a.address] < of_address[b.address];
      });
  std::optional<Waiter> surplus = std::move(*most);
  waiters_.erase(most);
  return surplus;
}

void Hub::Publish(Blocks blocks, std::shared_ptr<const NetworkPicture> picture) {
  std::vector<Waiter> waiters;
  FrameHistory::FramePtr latest;
  std::map<std::int64_t, FrameHistory::FramePtr> known;
  {
    MutexLock lock(mutex_);
    picture_ = std::move(picture);
    if (!history_.Add(clock_.WallMs(), std::move(blocks))) return;
    latest = history_.Latest();
    waiters.swap(waiters_);
    for (const Waiter& waiter : waiters) known[waiter.from] = history_.Find(waiter.from);
  }
  std::map<std::int64_t, http::Response> answers;  // the same for all that know the same frame
  for (const Waiter& waiter : waiters) {
    const auto [at, is_new] = answers.try_emplace(waiter.from);
    if (is_new) at->second = EventResponse(known[waiter.from].get(), latest.get());
    waiter.done(at->second);
  }
}

void Hub::Tick() {
  std::vector<Waiter> expired;
  {
    MutexLock lock(mutex_);
    const std::int64_t now_ms = clock_.SteadyMs();
    std::vector<Waiter> left;
    for (Waiter& waiter : waiters_) {
      (waiter.until_ms <= now_ms ? expired : left).push_back(std::move(waiter));
    }
    waiters_ = std::move(left);
  }
  for (const Waiter& waiter : expired) waiter.done(EventResponse(nullptr, nullptr));
}

bool Hub::watched() const {
  MutexLock lock(mutex_);
  return last_asked_ms_ && clock_.SteadyMs() - *last_asked_ms_ <= options_.watched_ms;
}

std::size_t Hub::frames() const {
  MutexLock lock(mutex_);
  return history_.frames().size();
}

std::size_t Hub::bytes() const {
  MutexLock lock(mutex_);
  return history_.bytes();
}

http::Response Hub::HandleFrames() const {
  std::string out = "[";
  MutexLock lock(mutex_);
  for (const FrameHistory::FramePtr& frame : history_.frames()) {
    out += StrCat(out.size() > 1 ? "," : "", "[", frame->id, ",", frame->time_ms, "]");
  }
  return Guarded(http::JsonResponse(200, out + "]"));
}

http::Response Hub::HandleFrame(const http::Request& request) const {
  const auto id = QueryNumber(request.query(), "id");
  if (!id) return Guarded(http::ErrorResponse(400, "id: not a number; /api/frames lists them"));
  FrameHistory::FramePtr frame, from;
  {
    MutexLock lock(mutex_);
    frame = history_.Find(*id);
    from = history_.Find(QueryNumber(request.query(), "from").value_or(0));
  }
  if (frame == nullptr) {
    return Guarded(http::ErrorResponse(404, "that frame is not kept any more"));
  }
  return Guarded(http::JsonResponse(200, EncodeChange(from.get(), *frame)));
}

http::Response Hub::HandlePaths(const http::Request& request) const {
  const std::string job = QueryField(request.query(), "job").value_or("");
  const std::size_t slash = job.find('/');
  if (slash == std::string::npos) {
    return Guarded(http::ErrorResponse(400, "job: not NAMESPACE/GANG"));
  }
  std::shared_ptr<const NetworkPicture> picture;
  {
    MutexLock lock(mutex_);
    picture = picture_;
  }
  if (picture == nullptr) {
    return Guarded(http::ErrorResponse(404, "this replica plans no network; its leader does"));
  }
  return Guarded(http::JsonResponse(
      200, EncodePaths(*picture, {job.substr(0, slash), job.substr(slash + 1)})));
}

}  // namespace yardmaster::page
