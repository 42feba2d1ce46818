#include "core/dtls/client_hello.h"

#include "core/base/bytes.h"
#include "core/base/keyed_hash.h"

namespace seganet {
namespace {

constexpr uint8_t kHandshake = 22;
constexpr uint8_t kClientHello = 1;
constexpr uint8_t kHelloVerifyRequest = 3;
constexpr size_t kMessageHeaderBytes = 12;
constexpr size_t kRandomBytes = 32;
constexpr int64_t kPeriodUs = 60'000'000;

// Reads fields of a message. After the first field that does not fit, all are empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      size = rest_.size();
    }
    const std::string_view field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  size_t Number(size_t size) {
    size_t number = 0;
    for (const char c : Take(size)) number = number << 8 | static_cast<uint8_t>(c);
    return number;
  }

  std::string_view rest() const { return rest_; }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void AppendNumber(std::string* to, size_t number, size_t size) {
  for (size_t i = size; i-- > 0;) to->push_back(static_cast<char>(number >> (8 * i)));
}

// Returns the bytes from the begin of `first` to the end of `last`, two views of the same buffer.
std::string_view Cover(std::string_view first, std::string_view last) {
  return {first.data(), static_cast<size_t>(last.data() + last.size() - first.data())};
}

bool IsDtls(size_t version) { return version == 0xFEFF || version == 0xFEFD; }

}  // namespace

std::optional<uint16_t> DtlsEpoch(std::span<const uint8_t> datagram) {
  Fields record(TextOf(datagram));
  record.Number(1);
  const size_t version = record.Number(2);
  const size_t epoch = record.Number(2);
  record.Take(8);
  if (!record.good() || !IsDtls(version)) return std::nullopt;
  return static_cast<uint16_t>(epoch);
}

std::span<const uint8_t> LimitEncrypted(std::span<const uint8_t> datagram, size_t* allowed) {
  for (size_t at = 0; datagram.size() - at >= kDtlsRecordHeaderBytes;) {
    Fields header(TextOf(datagram.subspan(at, kDtlsRecordHeaderBytes)));
    header.Take(3);
    const bool encrypted = header.Number(2) > 0;
    header.Take(6);
    const size_t length = header.Number(2);
    if (encrypted && *allowed == 0) return datagram.first(at);
    if (encrypted) --*allowed;
    if (length > datagram.size() - at - kDtlsRecordHeaderBytes) break;
    at += kDtlsRecordHeaderBytes + length;
  }
  return datagram;
}

std::optional<ClientHello> ReadClientHello(std::span<const uint8_t> datagram) {
  Fields record(TextOf(datagram));
  const size_t type = record.Number(1);
  const size_t record_version = record.Number(2);
  const size_t epoch = record.Number(2);
  ClientHello hello;
  hello.record_sequence = record.Take(6);
  const size_t length = record.Number(2);
  if (!record.good() || type != kHandshake || !IsDtls(record_version) || epoch != 0 ||
      length != record.rest().size()) {
    return std::nullopt;
  }
  Fields message(record.rest());
  const size_t message_type = message.Number(1);
  const size_t message_length = message.Number(3);
  message.Number(2);  // message_seq: 0 without a cookie, 1 with one
  const size_t offset = message.Number(3);
  const size_t fragment_length = message.Number(3);
  if (!message.good() || message_type != kClientHello || offset != 0 ||
      fragment_length != message_length || message_length != message.rest().size()) {
    return std::nullopt;
  }
  Fields body(message.rest());
  const std::string_view version = body.Take(2);
  hello.random = body.Take(kRandomBytes);
  const std::string_view id = body.Take(body.Number(1));
  hello.version_random_id = Cover(version, id);
  hello.cookie = body.Take(body.Number(1));
  const std::string_view after = body.rest();
  body.Take(body.Number(2));
  body.Take(body.Number(1));
  hello.suites_compression = after.substr(0, after.size() - body.rest().size());
  if (!body.good() || static_cast<uint8_t>(version[0]) != 0xFE) return std::nullopt;
  return hello;
}

std::array<char, HelloCookies::kBytes> HelloCookies::Make(std::string_view address,
                                                          const ClientHello& hello,
                                                          int64_t period) const {
  std::string input;
  AppendNumber(&input, static_cast<size_t>(period), sizeof period);
  AppendNumber(&input, address.size(), 2);
  input.append(address);
  AppendNumber(&input, hello.version_random_id.size(), 2);
  input.append(hello.version_random_id);
  input.append(hello.suites_compression);
  const uint64_t halves[] = {KeyedHash(secret_[0], secret_[1], input),
                             KeyedHash(secret_[2], secret_[3], input)};
  std::array<char, kBytes> cookie;
  for (size_t i = 0; i < kBytes; ++i) cookie[i] = static_cast<char>(halves[i / 8] >> (i % 8 * 8));
  return cookie;
}

std::string HelloCookies::Challenge(std::string_view address, const ClientHello& hello,
                                    int64_t now_us) const {
  const std::array<char, kBytes> cookie = Make(address, hello, now_us / kPeriodUs);
  constexpr size_t kBodyBytes = 2 + 1 + kBytes;
  std::string bytes;
  // RFC 6347 4.2.1: the version is DTLS 1.0 whatever is negotiated later, and the record has the
  // sequence number of the ClientHello's.
  AppendNumber(&bytes, kHandshake, 1);
  AppendNumber(&bytes, 0xFEFF, 2);
  AppendNumber(&bytes, 0, 2);
  bytes.append(hello.record_sequence);
  AppendNumber(&bytes, kMessageHeaderBytes + kBodyBytes, 2);
  AppendNumber(&bytes, kHelloVerifyRequest, 1);
  AppendNumber(&bytes, kBodyBytes, 3);
  AppendNumber(&bytes, 0, 2);
  AppendNumber(&bytes, 0, 3);
  AppendNumber(&bytes, kBodyBytes, 3);
  AppendNumber(&bytes, 0xFEFF, 2);
  AppendNumber(&bytes, kBytes, 1);
  bytes.append(cookie.data(), cookie.size());
  return bytes;
}

bool HelloCookies::IsValid(std::string_view address, const ClientHello& hello,
                           int64_t now_us) const {
  if (hello.cookie.size() != kBytes) return false;
  const int64_t period = now_us / kPeriodUs;
  for (const int64_t each : {period, period - 1}) {
    const std::array<char, kBytes> cookie = Make(address, hello, each);
    unsigned different = 0;  // compared in constant time
    for (size_t i = 0; i < kBytes; ++i) {
      different |= static_cast<uint8_t>(cookie[i] ^ hello.cookie[i]);
    }
    if (different == 0) return true;
  }
  return false;
}

}  // namespace seganet
