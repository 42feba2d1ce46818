// The in-flight window: PUBLISH packets that were sent and not acknowledged, by packet identifier.
#ifndef SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
#define SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_

#include <cstdint>
#include <vector>

namespace seganet {

// A packet in flight.
struct Flight {
  uint64_t batch = 0;       // id
  uint64_t serial = 0;      // ascends in the order of sending
  int64_t sent_us = 0;      // by the clock of whoever sends, see ShiftTimes()
  uint32_t bytes = 0;       // of the packet
  bool is_urgent = false;   // live, and of class 1
  bool is_backlog = false;  // read from the log
  bool is_awaited = false;  // a device or sender waits for its acknowledgment
  bool is_prompt = false;   // and must not wait longer (Express::is_prompt)
  uint64_t waiter = 0;      // the device or its like, 0 = nobody or unknown
  bool is_open = false;     // in flight
};

// The express path and JavaScript's feeder use one window in turns. A refused packet that waits for
// its next try keeps its place. The other classes fill the places that are not reserved for class 1
// (live batches only), at least one place.
//
// Thread safety: none.
class InFlightWindow {
 public:
  static constexpr uint32_t kMaxWindow = 1024;
  static constexpr uint32_t kNoCeiling = UINT32_MAX;

  // Makes a window of at most `window` packets, with `reserved` places only for class 1.
  // REQUIRES: 1 <= window <= kMaxWindow.
  InFlightWindow(uint32_t window, uint32_t reserved);

  // Sets the most packets that may be in flight or wait, at most `window` of the constructor
  // ([MQTT-3.3.4-9] the broker's Receive Maximum), and how many of these places are reserved.
  void SetLimit(uint32_t limit, uint32_t reserved);
  // Sets a second limit, of packets in flight alone; kNoCeiling = none.
  void SetCeiling(uint32_t ceiling, uint32_t reserved);

  // Returns the number of free places for packets of class 1, or of the other classes.
  uint32_t Room(bool is_urgent) const;

  // A refused packet, which is no longer in flight, starts or ends its wait.
  void Wait(bool is_urgent, bool is_backlog);
  // REQUIRES: such a packet waits.
  void EndWait(bool is_urgent, bool is_backlog);

  // Adds a packet and returns its identifier, 1..window; identifiers rotate.
  // REQUIRES: Room(flight.is_urgent) > 0.
  uint16_t Open(const Flight& flight);

  // Returns the packet in flight with this identifier, null = none. Valid until the next Open().
  const Flight* Find(uint16_t id) const;

  // Removes a packet that was acknowledged. REQUIRES: Find(id) != nullptr.
  void Close(uint16_t id);

  // The batches no longer have an owner: nothing waits, and packets in flight count as no
  // backlog. They keep their places until they are acknowledged.
  void Abandon();
  // The connection is gone: nothing is in flight, and nothing waits. The limits stay.
  void Reset();
  // Adds to the time of each packet in flight, when the other user's clock counts from elsewhere.
  void ShiftTimes(int64_t by_us);

  // Returns the number of packets in flight.
  uint32_t open() const { return open_; }
  // Returns the number of refused packets that wait.
  uint32_t waiting() const { return waiting_; }
  // Returns the number of packets in flight or waiting that are backlog.
  uint32_t backlog() const { return backlog_; }
  // Returns the total number of packets sent.
  uint64_t sent() const { return last_serial_; }

  // Return the packet in flight that was sent first, null = none, and its identifier, 0 = none.
  const Flight* Oldest() const;
  uint16_t OldestId() const;
  // True if a packet that was sent later was acknowledged.
  bool IsPassed(const Flight& flight) const { return flight.serial < closed_serial_; }

  // Returns all packets in flight, in the order of sending.
  struct Entry {
    uint16_t id;
    Flight flight;
  };
  std::vector<Entry> List() const;

 private:
  // A number of places, and how many of them classes other than 1 may fill.
  struct Places {
    uint32_t all, others;
  };
  static Places PlacesOf(uint32_t all, uint32_t reserved);

  const uint32_t window_;
  Places limit_;
  Places ceiling_{kNoCeiling, kNoCeiling};
  uint32_t open_ = 0, others_ = 0;
  uint32_t waiting_ = 0, others_waiting_ = 0;
  uint32_t backlog_ = 0;
  uint64_t last_serial_ = 0;
  uint64_t closed_serial_ = 0;   // the highest acknowledged one
  std::vector<Flight> flights_;  // by identifier
  std::vector<uint16_t> free_;   // ring of free identifiers
  uint32_t first_free_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_IN_FLIGHT_WINDOW_H_
