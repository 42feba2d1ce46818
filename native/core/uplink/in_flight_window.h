// The PUBLISH packets that are on their way to the broker, by packet identifier.
#ifndef SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
#define SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_

#include <cstdint>
#include <vector>

namespace seganet {

struct Flight {
  uint64_t batch = 0;
  uint64_t serial = 0;  // ascends in the order of sending
  int64_t sent_us = 0;  // CLOCK_MONOTONIC
  uint32_t bytes = 0;   // of the packet
  bool is_urgent = false;
  bool is_open = false;
};

// The rules are those of nodes/lib/uplink/sending/in-flight-window.js for packets that nobody has
// refused: where class 1 shares the session, all others fill what its reserve leaves, one place at
// least.
class Flights {
 public:
  static constexpr uint32_t kMaxWindow = 1024;

  // `window` packets at most, of them `reserved` for class 1 alone. REQUIRES: 1 <= window <=
  // kMaxWindow.
  Flights(uint32_t window, uint32_t reserved);

  // Places for a packet that is of class 1, or is not.
  uint32_t Room(bool is_urgent) const;

  // Takes an identifier, 1..window; they rotate. REQUIRES: Room().
  uint16_t Open(const Flight& flight);

  // Null: no packet is on its way under this identifier. It is valid until the next Open().
  const Flight* Find(uint16_t id) const;

  // REQUIRES: Find(id).
  void Close(uint16_t id);

  uint32_t open() const { return open_; }
  uint64_t sent() const { return last_serial_; }  // packets, ever

  // The packet that was sent first of those on their way; null = there is none.
  const Flight* Oldest() const;
  // A later packet than this one was acknowledged.
  bool IsPassed(const Flight& flight) const { return flight.serial < closed_serial_; }

  // Every packet on its way, in the order of sending.
  struct Entry {
    uint16_t id;
    Flight flight;
  };
  std::vector<Entry> List() const;

 private:
  const uint32_t window_;
  const uint32_t others_limit_;
  uint32_t open_ = 0;
  uint32_t others_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t closed_serial_ = 0;   // the highest that was acknowledged
  std::vector<Flight> flights_;  // by identifier
  std::vector<uint16_t> free_;   // ring
  uint32_t first_free_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
