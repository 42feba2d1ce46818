// Reads the PUBACKs out of what a broker sends; everything else is left as it was. Does what
// nodes/lib/uplink/session/puback-reader.js does.
#ifndef SEGANET_CORE_UPLINK_BROKER_READER_H_
#define SEGANET_CORE_UPLINK_BROKER_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace seganet {

// For one connection, of MQTT 3.1.1 or 5. Holds the beginning of a packet until its length is
// there, and of a PUBACK until it is whole: never more than kMaxPubackBytes.
//
// Thread safety: none.
class BrokerReader {
 public:
  // Larger PUBACKs (a reason string and many user properties) are left to the other reader.
  static constexpr size_t kMaxPubackBytes = 65'536;

  // Must not call Read() or destroy the reader from inside of these; PassAll() may be called.
  class Sink {
   public:
    // [MQTT 3.4.2] `reason_code` is 0 where the PUBACK has none.
    virtual void OnPuback(uint16_t id, uint8_t reason_code) = 0;
    // All other bytes in their order: packets or pieces of them. Valid during the call. From what
    // is no packet [MQTT 2.2.3] on, all bytes come here.
    virtual void OnOther(std::span<const uint8_t> bytes) = 0;

   protected:
    ~Sink() = default;
  };

  void Read(std::span<const uint8_t> bytes, Sink* sink);

  // From now on every byte goes to OnOther(), PUBACKs too: those after the present one, and also
  // one of which only the beginning has come. What is held of that goes there with the next Read(),
  // which may be one of no bytes.
  void PassAll() { skip_ = kForEver; }

 private:
  // More bytes than any connection brings.
  static constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();

  std::span<const uint8_t> FinishHeld(std::span<const uint8_t> bytes, Sink* sink);
  void HandOverHeld(Sink* sink);

  std::vector<uint8_t> held_;  // the beginning of a packet
  uint64_t skip_ = 0;          // bytes to come that are not looked at
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_BROKER_READER_H_
