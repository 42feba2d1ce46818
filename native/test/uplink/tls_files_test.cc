// Unusable certificates, keys and other options, with the codes that Node gives.
#include <cstring>
#include <string>

#include "core/tls/pem_files.h"
#include "test/support/tls_fixture.h"

namespace seganet {
namespace {

using tls_test::Identity;

// The results of tls.createSecureContext of Node 24 for the same files.
class TlsFiles : public tls_test::TlsTest {
 protected:
  TlsFiles() {
    options_.cert = own_.cert();
    options_.key = own_.key();
  }

  std::string Code() {
    std::shared_ptr<TlsContext> context;
    why_ = {};
    const bool made = TlsContext::Make(options_, &context, &why_);
    EXPECT_EQ(made, why_.code.empty());
    EXPECT_EQ(context != nullptr, why_.code.empty());
    EXPECT_EQ(ERR_peek_error(), 0u);
    return why_.code;
  }

  const Identity own_ = authority_.Issue({.name = "gateway"});
  TlsFailure why_;
};

// As in a damaged file of the same length.
std::string Damaged(std::string pem, const char* bytes) {
  const size_t first = pem.find('\n') + 1;
  return pem.replace(first, strlen(bytes), bytes);
}

TEST_F(TlsFiles, NoPem) {
  EXPECT_EQ(Code(), "");
  options_.cert = "this is no certificate";
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_NO_START_LINE");
  EXPECT_EQ(why_.message, "error:0480006C:PEM routines::no start line");
  options_.cert = own_.key();
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_NO_START_LINE");
  options_.cert = own_.cert();
  for (const std::string& key : {std::string("this is no key"), own_.cert()}) {
    options_.key = key;
    EXPECT_EQ(Code(), "ERR_OSSL_UNSUPPORTED");
    EXPECT_EQ(why_.message, "error:1E08010C:DECODER routines::unsupported");
  }
}

TEST_F(TlsFiles, ADamagedCertificate) {
  options_.cert = Damaged(own_.cert(), "!!!!");
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_BAD_BASE64_DECODE");
  options_.cert = Damaged(own_.cert(), "MIA");
  EXPECT_EQ(Code().substr(0, 14), "ERR_OSSL_ASN1_");
  options_.cert = own_.cert().substr(0, 200);
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_BAD_END_LINE");
  options_.cert = own_.cert() + Damaged(authority_.cert(), "!!!!");
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_BAD_BASE64_DECODE");
  options_.cert = own_.cert() + "and a remark\n";
  EXPECT_EQ(Code(), "");
}

TEST_F(TlsFiles, ALockedKey) {
  for (const std::string& locked : {own_.EncryptedKey("open"), own_.OldEncryptedKey("open")}) {
    options_.key = locked;
    for (const char* wrong : {"", "shut"}) {
      options_.passphrase = wrong;
      const std::string code = Code();
      // One wrong passphrase in 256 ends in bytes that could be padding (RFC 5652 6.3), but in no
      // key.
      EXPECT_TRUE(code == "ERR_OSSL_BAD_DECRYPT" || code == "ERR_OSSL_UNSUPPORTED") << code;
    }
    options_.passphrase = std::string(5000, 'x');
    EXPECT_NE(Code(), "");
    options_.passphrase = "open";
    EXPECT_EQ(Code(), "");
  }
}

TEST_F(TlsFiles, AKeyOfAnotherCertificate) {
  options_.key = broker_.key();
  EXPECT_EQ(Code(), "ERR_OSSL_X509_KEY_VALUES_MISMATCH");
  EXPECT_EQ(why_.message, "error:05800074:x509 certificate routines::key values mismatch");
}

TEST_F(TlsFiles, OfTheAuthoritiesThoseBeforeADamagedOneAreTaken) {
  options_.ca = authority_.cert() + Damaged(own_.cert(), "!!!!");
  EXPECT_EQ(Code(), "");
  options_.ca = authority_.cert() + authority_.cert() + "# a remark";
  EXPECT_EQ(Code(), "");
  options_.ca = "this is no certificate";
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_NO_START_LINE");
  options_.ca = Damaged(authority_.cert(), "!!!!");
  EXPECT_EQ(Code(), "ERR_OSSL_PEM_BAD_BASE64_DECODE");
}

TEST_F(TlsFiles, Limits) {
  options_.alpn = {std::string(255, 'x')};
  EXPECT_EQ(Code(), "");
  for (const std::string& name : {std::string(), std::string(256, 'x')}) {
    options_.alpn = {name};
    EXPECT_EQ(Code(), "ERR_OUT_OF_RANGE");
  }
  options_.alpn.clear();
  options_.ciphers = "no such cipher";
  EXPECT_EQ(Code(), "ERR_SSL_NO_CIPHER_MATCH");
  options_.ciphers.clear();
  options_.ca.resize(kMaxPemBytes, '\n');
  EXPECT_EQ(Code(), "");
  options_.ca += '\n';
  EXPECT_EQ(Code(), "ERR_OUT_OF_RANGE");
}

TEST_F(TlsFiles, AServerNameThatIsTooLong) {
  options_.server_name = std::string(256, 'x');
  TlsClient client = Client();
  client.Start();
  EXPECT_EQ(client.state(), State::kFailed);
  EXPECT_EQ(client.failure().code.substr(0, 8), "ERR_SSL_");
  EXPECT_TRUE(client.pending().empty());
}

TEST(TlsFailureTest, AFaultThatNodeHasNoNameForIsUnspecified) {
  EXPECT_EQ(CertificateFailure(X509_V_ERR_EE_KEY_TOO_SMALL).code, "UNSPECIFIED");
  EXPECT_EQ(CertificateFailure(X509_V_ERR_CERT_REVOKED).code, "CERT_REVOKED");
}

}  // namespace
}  // namespace seganet
