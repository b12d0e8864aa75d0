// Whether a certificate is to be renewed now, given what it says and the time. No I/O, no clock, no
// keys: the caller reads, signs and writes (op::CertificateKeeper).
//
// A certificate is due after two thirds of its life, so that its readers have a third of that life
// to reload it. A life longer than the one that is asked for is treated as the one asked for.
//
// Thread safety: values and pure functions. Deterministic.
#pragma once

#include <cstdint>

#include "pkg/tls/certificate.h"

namespace yardmaster::tls {

enum class Renewal {
  kKeep,           // not due
  kRenew,          // due
  kAuthorityEnds,  // due, and a new one would end no later: the authority itself has to be replaced
};

// When a certificate is to be renewed, milliseconds since the Unix epoch. `life_ms` is the life
// asked for.
std::int64_t DueMs(const Certificate& certificate, std::int64_t life_ms);

// `authority` is what would sign the new one.
Renewal DecideRenewal(const Certificate& certificate, const Certificate& authority,
                      std::int64_t life_ms, std::int64_t now_ms);

}  // namespace yardmaster::tls
