#include "core/uplink/tls_cache.h"

#include <functional>
#include <string>
#include <vector>

#include "test/support/tls_fixture.h"

namespace seganet {
namespace {

using tls_test::Identity;

class TlsCacheTest : public tls_test::TlsTest {
 protected:
  TlsCacheTest() {
    const Identity own = authority_.Issue({.name = "gateway"});
    options_.cert = own.cert();
    options_.key = own.EncryptedKey("open");
    options_.passphrase = "open";
  }

  std::shared_ptr<TlsContext> Get(const TlsOptions& options) {
    std::shared_ptr<TlsContext> context;
    why_ = {};
    const bool made = cache_.Get(options, &context, &why_);
    EXPECT_EQ(made, why_.code.empty());
    return context;
  }

  TlsCache cache_;
  TlsFailure why_;
};

TEST_F(TlsCacheTest, ARepeatedRequestIsNotReadAgain) {
  const auto first = Get(options_);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Get(options_), first);
  EXPECT_EQ(Get(TlsOptions(options_)), first);
}

TEST_F(TlsCacheTest, EveryOptionCounts) {
  const Identity next = authority_.Issue({.name = "gateway"});
  const std::vector<std::function<void(TlsOptions*)>> changes = {
      [&](TlsOptions* options) { options->ca += Identity::Authority("Another").cert(); },
      [](TlsOptions* options) { options->ca += "\n"; },
      [&](TlsOptions* options) {
        options->cert = next.cert();
        options->key = next.key();
      },
      [](TlsOptions* options) { options->passphrase = "unused now"; },
      [](TlsOptions* options) { options->min_version = 0x0304; },
      [](TlsOptions* options) { options->ciphers = "ECDHE-ECDSA-AES256-SHA384"; },
      [](TlsOptions* options) { options->server_name = "broker.example"; },
      [](TlsOptions* options) { options->alpn = {"mqtt"}; }};
  auto before = Get(options_);
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i](&options_);
    const auto made = Get(options_);
    ASSERT_NE(made, nullptr) << i << why_.code;
    EXPECT_NE(made, before) << i;
    EXPECT_EQ(Get(options_), made) << i;
    before = made;
  }
}

TEST_F(TlsCacheTest, UnreadableFilesAreRefusedEachTimeAndKeepThePreviousEntry) {
  const auto good = Get(options_);
  TlsOptions wrong = options_;
  wrong.cert = "no certificate";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Get(wrong), nullptr);
    EXPECT_EQ(why_.code, "ERR_OSSL_PEM_NO_START_LINE");
  }
  EXPECT_EQ(Get(options_), good);
}

TEST_F(TlsCacheTest, AConnectionMayOutliveIt) {
  std::shared_ptr<TlsContext> context;
  {
    TlsCache own;
    ASSERT_TRUE(own.Get(options_, &context, &why_));
  }
  EXPECT_EQ(context.use_count(), 1);
}

}  // namespace
}  // namespace seganet
