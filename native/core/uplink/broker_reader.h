// Extracts PUBACKs from the bytes that a broker sends, and passes on all other bytes unchanged.
#ifndef SEGANET_CORE_UPLINK_BROKER_READER_H_
#define SEGANET_CORE_UPLINK_BROKER_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace seganet {

// Reads one connection, of MQTT 3.1.1 or 5. Buffers the beginning of a packet until its length is
// known, and a PUBACK until it is complete: never more than kMaxPubackBytes.
//
// Thread safety: none.
class BrokerReader {
 public:
  // Larger PUBACKs (a reason string and many user properties) go to OnOther.
  static constexpr size_t kMaxPubackBytes = 65'536;

  // Receives the results. Its functions may call PassAll(), but must not call Read() or destroy the
  // reader.
  class Sink {
   public:
    // [MQTT 3.4.2] `reason_code` is 0 if the PUBACK has none.
    virtual void OnPuback(uint16_t id, uint8_t reason_code) = 0;
    // All other bytes in order: packets or pieces of packets, valid during the call. After bytes
    // that are not an MQTT packet [MQTT 2.2.3], all bytes come here.
    virtual void OnOther(std::span<const uint8_t> bytes) = 0;

   protected:
    ~Sink() = default;
  };

  // Reads bytes of the connection, which may be split anywhere.
  void Read(std::span<const uint8_t> bytes, Sink* sink);

  // From now on passes every byte to OnOther(), including PUBACKs: those after the current one, and
  // also an incomplete one. Its buffered bytes are passed on by the next Read(), which may have no
  // bytes.
  void PassAll() { skip_ = kUnlimited; }

 private:
  // More bytes than any connection carries.
  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

  std::span<const uint8_t> FinishHeld(std::span<const uint8_t> bytes, Sink* sink);
  void HandOverHeld(Sink* sink);

  std::vector<uint8_t> held_;  // the beginning of a packet
  uint64_t skip_ = 0;          // number of following bytes to pass on without inspection
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_BROKER_READER_H_
