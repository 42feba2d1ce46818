// The context of the last connection, for the next.
#ifndef SEGANET_CORE_UPLINK_TLS_CACHE_H_
#define SEGANET_CORE_UPLINK_TLS_CACHE_H_

#include <memory>

#include "core/uplink/tls_context.h"

namespace seganet {

// Most attempts to connect want what the one before wanted, and most of the time that TlsContext::
// Make takes goes to the 150 authorities that Node trusts.
//
// Thread safety: one thread. It keeps the private key in memory.
class TlsCache {
 public:
  // Like TlsContext::Make. What was made last is given again as long as every option is the same,
  // byte for byte: with renewed certificates it is not. What cannot be made is not kept.
  bool Get(TlsOptions options, std::shared_ptr<TlsContext>* out, TlsFailure* why);

 private:
  TlsOptions options_;
  std::shared_ptr<TlsContext> context_;  // of options_; null = none yet
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_CACHE_H_
