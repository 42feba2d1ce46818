// Keeps the acknowledgements of one device in packet order. Clauses are those of MQTT 3.1.1.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_
#define SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/require.h"

namespace seganet::mqtt {

// The PUBLISH packets from one device that still need a PUBACK (QoS 1) or PUBREC (QoS 2), in order
// of arrival. They may be acknowledged in any order; identifiers are released in order of arrival
// [MQTT-4.6.0-2], [MQTT-4.6.0-3], each as soon as all earlier packets are acknowledged.
//
// A handle is a count from 1 that is never reused, so a stale handle is recognized. Each waiting
// packet takes six bytes in a ring that grows by doubling. An empty ring above kKeptCapacity is
// freed.
//
// Thread safety: none; owned by one session.
class AckQueue {
 public:
  // A client has 65,535 identifiers [MQTT-2.3.1-2], so a client with more waiting packets violates
  // the protocol. One more makes a power of two, so that only Grow() checks the limit.
  static constexpr size_t kMaxPending = 65536;
  static constexpr size_t kKeptCapacity = 128;

  // Adds a packet and returns its handle, 0 when kMaxPending are waiting. A repeated identifier
  // gets a second handle, because the sender expects one PUBACK for each packet.
  uint64_t Push(uint16_t packet_id, uint8_t qos = 1) {
    if (pending() == capacity_ && !Grow()) return 0;
    ring_[tail_ & (capacity_ - 1)] = {packet_id, 1, qos, 0};
    return tail_++;
  }

  // Requires `n` acknowledgements before the PUBACK may leave, one for each copy of the record that
  // must become safe.
  // REQUIRES: the handle is waiting, n > 0.
  void Expect(uint64_t handle, uint16_t n) {
    SEGANET_REQUIRE(n > 0 && Waiting(handle) != nullptr);
    ring_[handle & (capacity_ - 1)].missing = n;
  }

  // An acknowledgement that may leave.
  struct Released {
    uint16_t packet_id;
    uint8_t qos;
    uint8_t code;  // 0, or the code of Refuse()
  };

  // Counts one acknowledgement and calls release(const Released&) for each packet that may leave
  // now. If the packet needs no further acknowledgement and waits for earlier packets, it calls
  // wait(const Released&). False when the handle is not waiting: never given out, or already
  // acknowledged.
  template <typename Release, typename Wait>
  bool Acknowledge(uint64_t handle, Release&& release, Wait&& wait) {
    Entry* const entry = Waiting(handle);
    if (entry == nullptr) return false;
    if (--entry->missing > 0) return true;
    if (handle == head_) {
      ReleaseHead(release);
    } else {
      wait(Released{entry->packet_id, entry->qos, entry->code});
    }
    return true;
  }

  // Like Acknowledge(), for all missing acknowledgements at once and with the code to send.
  template <typename Release>
  bool Refuse(uint64_t handle, uint8_t code, Release&& release) {
    Entry* const entry = Waiting(handle);
    if (entry == nullptr) return false;
    entry->missing = 0;
    entry->code = code;
    if (handle == head_) ReleaseHead(release);
    return true;
  }

  // Gives the packet up: it is never released, and neither are later ones. `code` marks it in
  // ForEach(). No effect when the handle is not waiting.
  void GiveUp(uint64_t handle, uint8_t code) {
    Entry* const entry = Waiting(handle);
    if (entry != nullptr) entry->code = code;
  }

  // Calls see(handle, const Released&, missing) for each packet that was not released, in order.
  template <typename See>
  void ForEach(See&& see) const {
    for (uint64_t i = head_; i != tail_; ++i) {
      const Entry& entry = ring_[i & (capacity_ - 1)];
      see(i, Released{entry.packet_id, entry.qos, entry.code}, entry.missing);
    }
  }

  size_t pending() const { return static_cast<size_t>(tail_ - head_); }
  size_t memory_bytes() const { return capacity_ * sizeof(Entry); }

 private:
  struct Entry {
    uint16_t packet_id;
    uint16_t missing;  // acknowledgements still to come
    uint8_t qos;
    uint8_t code;
  };
  static constexpr size_t kFirstCapacity = 16;

  // Returns null if the handle is not waiting.
  Entry* Waiting(uint64_t handle) {
    // A handle below head_ wraps around to a large distance.
    if (handle - head_ >= tail_ - head_) return nullptr;
    Entry* const entry = &ring_[handle & (capacity_ - 1)];
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
  uint64_t head_ = 1;    // the oldest handle in the ring
  uint64_t tail_ = 1;    // the next handle to give out
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_ACK_QUEUE_H_
