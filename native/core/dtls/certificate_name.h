// The device id in a certificate. The same rule as nodes/lib/tls/certificate-name.js.
#ifndef SEGANET_CORE_DTLS_CERTIFICATE_NAME_H_
#define SEGANET_CORE_DTLS_CERTIFICATE_NAME_H_

#include <string>
#include <string_view>

struct x509_st;

namespace seganet {

// Returns the only common name, or the first alternative name that is a DNS name, URI or e-mail
// address. Empty if the certificate has no such name, or if it is not a valid device id.
std::string CommonDeviceName(x509_st* certificate);
std::string AlternativeDeviceName(x509_st* certificate);

// Returns the only organization name of the subject. Empty if there is none, or no valid device id.
std::string OrganizationName(x509_st* certificate);

// True for 1 to 256 bytes of UTF-8 without control characters and U+FFFD.
bool IsDeviceName(std::string_view name);

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_CERTIFICATE_NAME_H_
