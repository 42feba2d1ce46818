#include "core/uplink/in_flight_window.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet {

InFlightWindow::InFlightWindow(uint32_t window, uint32_t reserved)
    : window_(window),
      others_limit_(std::max<uint32_t>(1, window - std::min(window, reserved))),
      flights_(window + 1),
      free_(window) {
  SEGANET_REQUIRE(1 <= window && window <= kMaxWindow);
  for (uint32_t i = 0; i < window; ++i) free_[i] = static_cast<uint16_t>(i + 1);
}

uint32_t InFlightWindow::Room(bool is_urgent) const {
  const uint32_t room = window_ - open_;
  if (is_urgent) return room;
  return std::min(room, others_limit_ - std::min(others_limit_, others_));
}

uint16_t InFlightWindow::Open(const Flight& flight) {
  SEGANET_REQUIRE(Room(flight.is_urgent) > 0);
  const uint16_t id = free_[first_free_];
  first_free_ = (first_free_ + 1) % window_;
  ++open_;
  if (!flight.is_urgent) ++others_;
  flights_[id] = flight;
  flights_[id].serial = ++last_serial_;
  flights_[id].is_open = true;
  return id;
}

const Flight* InFlightWindow::Find(uint16_t id) const {
  return id >= 1 && id <= window_ && flights_[id].is_open ? &flights_[id] : nullptr;
}

void InFlightWindow::Close(uint16_t id) {
  SEGANET_REQUIRE(Find(id) != nullptr);
  Flight& flight = flights_[id];
  flight.is_open = false;
  closed_serial_ = std::max(closed_serial_, flight.serial);
  if (!flight.is_urgent) --others_;
  --open_;
  free_[(first_free_ + window_ - open_ - 1) % window_] = id;
}

const Flight* InFlightWindow::Oldest() const {
  const Flight* oldest = nullptr;
  if (open_ == 0) return oldest;
  for (const Flight& flight : flights_) {
    if (flight.is_open && (!oldest || flight.serial < oldest->serial)) oldest = &flight;
  }
  return oldest;
}

std::vector<InFlightWindow::Entry> InFlightWindow::List() const {
  std::vector<Entry> list;
  for (uint32_t id = 1; id <= window_; ++id) {
    if (flights_[id].is_open) list.push_back({static_cast<uint16_t>(id), flights_[id]});
  }
  std::sort(list.begin(), list.end(),
            [](const Entry& a, const Entry& b) { return a.flight.serial < b.flight.serial; });
  return list;
}

}  // namespace seganet
