#include "core/uplink/in_flight_window.h"

#include <algorithm>

#include "core/base/require.h"

namespace seganet {

namespace {

// Returns how much is left of `places`; 0 when more is taken.
uint32_t Left(uint32_t places, uint32_t taken) { return places - std::min(places, taken); }

}  // namespace

InFlightWindow::Places InFlightWindow::PlacesOf(uint32_t all, uint32_t reserved) {
  return {all, std::max<uint32_t>(1, Left(all, reserved))};
}

InFlightWindow::InFlightWindow(uint32_t window, uint32_t reserved)
    : window_(window), limit_(PlacesOf(window, reserved)), flights_(window + 1), free_(window) {
  SEGANET_REQUIRE(1 <= window && window <= kMaxWindow);
  Reset();
}

void InFlightWindow::SetLimit(uint32_t limit, uint32_t reserved) {
  limit_ = PlacesOf(std::min(limit, window_), reserved);
}

void InFlightWindow::SetCeiling(uint32_t ceiling, uint32_t reserved) {
  ceiling_ = ceiling == kNoCeiling ? Places{kNoCeiling, kNoCeiling} : PlacesOf(ceiling, reserved);
}

uint32_t InFlightWindow::Room(bool is_urgent) const {
  const uint32_t room = Left(std::min(Left(limit_.all, waiting_), ceiling_.all), open_);
  if (is_urgent) return room;
  const uint32_t places = std::min(Left(limit_.others, others_waiting_), ceiling_.others);
  return std::min(room, Left(places, others_));
}

void InFlightWindow::Wait(bool is_urgent, bool is_backlog) {
  ++waiting_;
  if (!is_urgent) ++others_waiting_;
  if (is_backlog) ++backlog_;
}

void InFlightWindow::EndWait(bool is_urgent, bool is_backlog) {
  SEGANET_REQUIRE(waiting_ > 0 && (is_urgent || others_waiting_ > 0));
  --waiting_;
  if (!is_urgent) --others_waiting_;
  if (is_backlog) --backlog_;
}

uint16_t InFlightWindow::Open(const Flight& flight) {
  SEGANET_REQUIRE(Room(flight.is_urgent) > 0);
  const uint16_t id = free_[first_free_];
  first_free_ = (first_free_ + 1) % window_;
  ++open_;
  if (!flight.is_urgent) ++others_;
  if (flight.is_backlog) ++backlog_;
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
  if (flight.is_backlog) --backlog_;
  --open_;
  free_[(first_free_ + window_ - open_ - 1) % window_] = id;
}

void InFlightWindow::Abandon() {
  for (Flight& flight : flights_) flight.is_backlog = false;
  waiting_ = others_waiting_ = backlog_ = 0;
}

void InFlightWindow::Reset() {
  for (Flight& flight : flights_) flight.is_open = false;
  open_ = others_ = waiting_ = others_waiting_ = backlog_ = 0;
  closed_serial_ = 0;
  first_free_ = 0;
  for (uint32_t i = 0; i < window_; ++i) free_[i] = static_cast<uint16_t>(i + 1);
}

void InFlightWindow::ShiftTimes(int64_t by_us) {
  for (Flight& flight : flights_) flight.sent_us += by_us;
}

const Flight* InFlightWindow::Oldest() const {
  const Flight* oldest = nullptr;
  if (open_ == 0) return oldest;
  for (const Flight& flight : flights_) {
    if (flight.is_open && (!oldest || flight.serial < oldest->serial)) oldest = &flight;
  }
  return oldest;
}

uint16_t InFlightWindow::OldestId() const {
  const Flight* oldest = Oldest();
  return oldest == nullptr ? 0 : static_cast<uint16_t>(oldest - flights_.data());
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
