#include "core/dtls/certificate_name.h"

#include "core/base/utf8.h"
#include "core/record/record.h"
#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

#include <memory>

namespace seganet {
namespace {

std::string Utf8Of(const ASN1_STRING* text) {
  uint8_t* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return name;
}

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string Checked(const std::string& name) { return IsDeviceName(name) ? name : std::string(); }

std::string OnlyName(x509_st* certificate, int nid) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int first = X509_NAME_get_index_by_NID(subject, nid, -1);
  // With two names, it is unknown which one the authority checked.
  if (first < 0 || X509_NAME_get_index_by_NID(subject, nid, first) >= 0) return {};
  return Checked(Utf8Of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first))));
}

}  // namespace

std::string CommonDeviceName(x509_st* certificate) { return OnlyName(certificate, NID_commonName); }

std::string OrganizationName(x509_st* certificate) {
  return OnlyName(certificate, NID_organizationName);
}

std::string AlternativeDeviceName(x509_st* certificate) {
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return {};
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type != GEN_DNS && type != GEN_URI && type != GEN_EMAIL) continue;
    const auto* const text = static_cast<const ASN1_STRING*>(value);
    const std::string name(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                           static_cast<size_t>(ASN1_STRING_length(text)));
    // These types are ASCII (IA5String).
    for (const char c : name) {
      if (static_cast<uint8_t>(c) > 0x7F) return {};
    }
    return Checked(name);
  }
  return {};
}

bool IsDeviceName(std::string_view name) {
  if (name.empty() || name.size() > kMaxDeviceBytes) return false;
  while (!name.empty()) {
    const size_t size = Utf8Length(name);
    const auto first = static_cast<uint8_t>(name[0]);
    const bool is_c1 = size == 2 && first == 0xC2 && static_cast<uint8_t>(name[1]) < 0xA0;
    if (size == 0 || first < 0x20 || first == 0x7F || is_c1) return false;
    if (name.substr(0, size) == "\xEF\xBF\xBD") return false;  // U+FFFD
    name.remove_prefix(size);
  }
  return true;
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL
