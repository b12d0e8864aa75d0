// Exact path and method to handler: 404 for an unknown path, 405 with Allow for a method the
// path does not serve. HEAD is served by the GET handler of its path (the server leaves the body
// out). Thread safety: Add before the server starts; Handle from any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/http/message.h"

namespace yardmaster::http {

class Router {
 public:
  // A second handler for the same method and path replaces the first.
  void Add(std::string_view method, std::string_view path, Handler handler);
  void Handle(Request request, Done done) const;

 private:
  // path -> method -> handler
  std::map<std::string, std::map<std::string, Handler, std::less<>>, std::less<>> routes_;
};

// Serves the routes of `router`: what a Server is made with.
Handler HandlerOf(std::shared_ptr<const Router> router);

}  // namespace yardmaster::http
