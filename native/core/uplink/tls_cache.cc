#include "core/uplink/tls_cache.h"

#include <utility>

namespace seganet {

bool TlsCache::Get(TlsOptions options, std::shared_ptr<TlsContext>* out, TlsFailure* why) {
  if (context_ == nullptr || options != options_) {
    std::shared_ptr<TlsContext> made;
    if (!TlsContext::Make(options, &made, why)) return false;
    context_ = std::move(made);
    options_ = std::move(options);
  }
  *out = context_;
  return true;
}

}  // namespace seganet
