#include "pkg/http/router.h"

#include <utility>
#include <vector>

#include "pkg/base/strings.h"

namespace yardmaster::http {

void Router::Add(std::string_view method, std::string_view path, Handler handler) {
  routes_[std::string(path)][std::string(method)] = std::move(handler);
}

void Router::Handle(Request request, Done done) const {
  const auto path = routes_.find(request.path());
  if (path == routes_.end()) {
    return done(ErrorResponse(404, "nothing is served at " + std::string(request.path())));
  }
  const auto& methods = path->second;
  auto method = methods.find(request.method);
  if (method == methods.end() && request.method == "HEAD") method = methods.find("GET");
  if (method != methods.end()) return method->second(std::move(request), std::move(done));

  std::vector<std::string> allowed;
  for (const auto& [name, handler] : methods) allowed.push_back(name);
  Response response = ErrorResponse(405, request.method + " is not served here");
  response.headers.Add("Allow", Join(allowed, ", "));
  done(std::move(response));
}

Handler HandlerOf(std::shared_ptr<const Router> router) {
  return [router = std::move(router)](Request request, Done done) {
    router->Handle(std::move(request), std::move(done));
  };
}

}  // namespace yardmaster::http
