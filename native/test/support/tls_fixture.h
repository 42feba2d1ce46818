// An authority, a broker with a certificate of it, and clients that trust it.
#ifndef SEGANET_TEST_SUPPORT_TLS_FIXTURE_H_
#define SEGANET_TEST_SUPPORT_TLS_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>

#include "core/uplink/tls_client.h"
#include "test/support/tls_server.h"

namespace seganet::tls_test {

constexpr int kTls13 = 0x0304;

inline std::shared_ptr<TlsContext> Context(const TlsOptions& options) {
  std::shared_ptr<TlsContext> context;
  TlsFailure why;
  EXPECT_TRUE(TlsContext::Make(options, &context, &why)) << why.code << why.message;
  return context;
}

class TlsTest : public testing::Test {
 protected:
  using State = TlsClient::State;

  TlsTest() { options_.ca = authority_.cert(); }

  // Of options_, in their current state.
  TlsClient Client() const { return TlsClient(Context(options_)); }

  const Identity authority_ = Identity::Authority();
  const Identity broker_ = authority_.Issue();
  TlsOptions options_;
};

}  // namespace seganet::tls_test

#endif  // SEGANET_TEST_SUPPORT_TLS_FIXTURE_H_
