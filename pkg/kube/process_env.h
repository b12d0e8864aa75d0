// The certificate variables of this process's environment.
// Thread safety: the readers from any thread, as long as no other thread changes the environment.
#pragma once

#include <string>
#include <vector>

namespace yardmaster::kube {

// Points OpenSSL's default certificate bundle, which the HTTP library loads for every connection,
// to an empty one. Part of PrepareProcessForHttp (http_transport.h). Calling it again does nothing.
// REQUIRES: no other thread runs yet.
void UseEmptyCertificateBundle();

// The environment for child processes: that of this one with the change above undone, so that a
// credential program finds the system's certificates.
std::vector<std::string> ChildEnvironment();

// Where to find the system's certificates for a server whose configuration names no authority;
// empty if this system has none in the usual places.
std::string SystemCertificatesPath();

}  // namespace yardmaster::kube
