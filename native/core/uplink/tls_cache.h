// Keeps the TLS context of the last connection for the next one.
#ifndef SEGANET_CORE_UPLINK_TLS_CACHE_H_
#define SEGANET_CORE_UPLINK_TLS_CACHE_H_

#include <memory>

#include "core/uplink/tls_context.h"

namespace seganet {

// Most connections use the same options as the one before, and TlsContext::Make spends most of its
// time on the 150 authorities that Node trusts. The cache keeps the private key in memory.
//
// Thread safety: one thread.
class TlsCache {
 public:
  // Like TlsContext::Make, but returns the last context if all options are equal to its own, byte
  // for byte. Renewed certificates therefore make a new context. Failures are not cached.
  bool Get(TlsOptions options, std::shared_ptr<TlsContext>* out, TlsFailure* why);

 private:
  TlsOptions options_;
  std::shared_ptr<TlsContext> context_;  // of options_; null = none yet
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_CACHE_H_
