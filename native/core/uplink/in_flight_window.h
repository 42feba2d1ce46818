// The in-flight window: PUBLISH packets that were sent and not acknowledged, by packet identifier.
#ifndef SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
#define SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_

#include <cstdint>
#include <vector>

namespace seganet {

// A packet in flight.
struct Flight {
  uint64_t batch = 0;      // id
  uint64_t serial = 0;     // ascends in the order of sending
  int64_t sent_us = 0;     // CLOCK_MONOTONIC
  uint32_t bytes = 0;      // of the packet
  bool is_urgent = false;  // class 1
  bool is_open = false;    // in flight
};

// Follows the rules of nodes/lib/uplink/sending/in-flight-window.js for packets that were not
// refused: the other classes fill the places that are not reserved for class 1, at least one place.
//
// Thread safety: none.
class InFlightWindow {
 public:
  static constexpr uint32_t kMaxWindow = 1024;

  // Makes a window of at most `window` packets, with `reserved` places only for class 1.
  // REQUIRES: 1 <= window <= kMaxWindow.
  InFlightWindow(uint32_t window, uint32_t reserved);

  // Returns the number of free places for packets of class 1, or of the other classes.
  uint32_t Room(bool is_urgent) const;

  // Adds a packet and returns its identifier, 1..window; identifiers rotate.
  // REQUIRES: Room(flight.is_urgent) > 0.
  uint16_t Open(const Flight& flight);

  // Returns the packet in flight with this identifier, null = none. Valid until the next Open().
  const Flight* Find(uint16_t id) const;

  // Removes a packet that was acknowledged. REQUIRES: Find(id) != nullptr.
  void Close(uint16_t id);

  // Returns the number of packets in flight.
  uint32_t open() const { return open_; }
  // Returns the total number of packets sent.
  uint64_t sent() const { return last_serial_; }

  // Returns the packet in flight that was sent first, null = none.
  const Flight* Oldest() const;
  // True if a packet that was sent later was acknowledged.
  bool IsPassed(const Flight& flight) const { return flight.serial < closed_serial_; }

  // Returns all packets in flight, in the order of sending.
  struct Entry {
    uint16_t id;
    Flight flight;
  };
  std::vector<Entry> List() const;

 private:
  const uint32_t window_;
  const uint32_t others_limit_;  // places for classes other than 1
  uint32_t open_ = 0;
  uint32_t others_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t closed_serial_ = 0;   // the highest acknowledged one
  std::vector<Flight> flights_;  // by identifier
  std::vector<uint16_t> free_;   // ring of free identifiers
  uint32_t first_free_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
