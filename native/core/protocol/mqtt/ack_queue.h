#ifndef SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_
#define SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace seganet::mqtt {

// The PUBLISH packets of one device that it is still owed a PUBACK (QoS 1) or PUBREC (QoS 2) for,
// in the order they arrived. They may be acknowledged in any order; identifiers are released in the
// order of arrival [MQTT-4.6.0-2], [MQTT-4.6.0-3], each as soon as all before it are done.
//
// A slot is a count from 1 that never comes again, so a stale one is recognised. Six bytes are
// held for each waiting packet, in a ring that grows by doubling and is given back above
// kKeptCapacity once it is empty.
class AckQueue {
 public:
  // A client has 65,535 identifiers [MQTT-2.3.1-2]: who has more waiting breaks the protocol. One
  // more makes it a power of two, so that only growing has to ask.
  static constexpr size_t kMaxPending = 65536;
  static constexpr size_t kKeptCapacity = 128;

  // Returns the slot, 0 when kMaxPending are waiting. An identifier that is already waiting gets a
  // slot of its own: the sender counts on one PUBACK for each packet.
  uint64_t Push(uint16_t packet_id, uint8_t qos = 1) {
    if (pending() == capacity_ && !Grow()) return 0;
    ring_[tail_ & (capacity_ - 1)] = {packet_id, 1, qos, 0};
    return tail_++;
  }

  // The slot needs `n` acknowledgements before its PUBACK may leave: one for each copy of the
  // record that has to get safe. REQUIRES: waiting, n > 0.
  void Expect(uint64_t slot, uint16_t n) { ring_[slot & (capacity_ - 1)].missing = n; }

  // What may leave.
  struct Released {
    uint16_t packet_id;
    uint8_t qos;
    uint8_t code;  // 0, or that of Refuse
  };

  // Marks `slot` and calls release(const Released&) for each that may leave now. False when the
  // slot is not waiting: never given out, or acknowledged before.
  template <typename Release>
  bool Acknowledge(uint64_t slot, Release&& release) {
    Entry* const entry = Waiting(slot);
    if (entry == nullptr) return false;
    --entry->missing;
    if (entry->missing > 0 || slot != head_) return true;
    ReleaseHead(release);
    return true;
  }

  // The same with all that is missing, and with the code that is to be sent.
  template <typename Release>
  bool Refuse(uint64_t slot, uint8_t code, Release&& release) {
    Entry* const entry = Waiting(slot);
    if (entry == nullptr) return false;
    entry->missing = 0;
    entry->code = code;
    if (slot == head_) ReleaseHead(release);
    return true;
  }

  size_t pending() const { return static_cast<size_t>(tail_ - head_); }
  size_t memory_bytes() const { return capacity_ * sizeof(Entry); }

 private:
  struct Entry {
    uint16_t packet_id;
    uint16_t missing;  // acknowledgements
    uint8_t qos;
    uint8_t code;
  };
  static constexpr size_t kFirstCapacity = 16;

  Entry* Waiting(uint64_t slot) {
    // A slot below head_ wraps around to a large distance.
    if (slot - head_ >= tail_ - head_) return nullptr;
    Entry* const entry = &ring_[slot & (capacity_ - 1)];
    return entry->missing == 0 ? nullptr : entry;
  }

  template <typename Release>
  void ReleaseHead(Release&& release) {
    do {
      const Entry& entry = ring_[head_ & (capacity_ - 1)];
      release(Released{entry.packet_id, entry.qos, entry.code});
      ++head_;
    } while (head_ != tail_ && ring_[head_ & (capacity_ - 1)].missing == 0);
    if (head_ == tail_ && capacity_ > kKeptCapacity) {
      ring_.reset();
      capacity_ = 0;
    }
  }

  bool Grow() {
    if (pending() >= kMaxPending) return false;
    const size_t capacity = std::max(kFirstCapacity, capacity_ * 2);
    std::unique_ptr<Entry[]> ring(new Entry[capacity]);
    for (uint64_t i = head_; i != tail_; ++i) {
      ring[i & (capacity - 1)] = ring_[i & (capacity_ - 1)];
    }
    ring_ = std::move(ring);
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<Entry[]> ring_;
  size_t capacity_ = 0;  // 0 or a power of two
  uint64_t head_ = 1;    // the oldest waiting slot
  uint64_t tail_ = 1;    // the next slot to give out
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_
