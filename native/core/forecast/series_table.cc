#include "core/forecast/series_table.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/require.h"
#include "core/forecast/forecast_options.h"

namespace seganet {
namespace {

constexpr size_t kPageBytes = 65'536;
constexpr size_t kFirstIndex = 64;

}  // namespace

SeriesTable::SeriesTable(uint32_t slots)
    : stride_((sizeof(SeriesState) + slots * sizeof(float) + 7) / 8 * 8),
      per_page_(std::max<size_t>(1, kPageBytes / stride_)) {
  SEGANET_REQUIRE(kMinForecastSlots <= slots && slots <= kMaxForecastSlots);
}

Series SeriesTable::at(size_t index) const {
  SEGANET_REQUIRE(index < size_);
  char* const bytes =
      reinterpret_cast<char*>(pages_[index / per_page_].get()) + index % per_page_ * stride_;
  return {reinterpret_cast<SeriesState*>(bytes),
          reinterpret_cast<float*>(bytes + sizeof(SeriesState))};
}

size_t SeriesTable::PlaceOf(uint64_t key) const {
  const size_t mask = index_.size() - 1;
  size_t place = key & mask;
  while (index_[place] != kEmpty && at(index_[place]).state->key != key) place = (place + 1) & mask;
  return place;
}

Series SeriesTable::Find(uint64_t key) const {
  if (size_ == 0) return {};
  const uint32_t position = index_[PlaceOf(key)];
  return position == kEmpty ? Series() : at(position);
}

Series SeriesTable::Add(uint64_t key) {
  SEGANET_REQUIRE(!Find(key));
  // At most three quarters of the index are in use.
  if ((size_ + 1) * 4 > index_.size() * 3) Grow();
  const size_t place = PlaceOf(key);
  if (size_ == pages_.size() * per_page_) {
    pages_.push_back(std::make_unique<uint64_t[]>(page_bytes() / sizeof(uint64_t)));
  }
  index_[place] = static_cast<uint32_t>(size_++);
  const Series series = at(size_ - 1);
  new (series.state) SeriesState;
  series.state->key = key;
  return series;
}

void SeriesTable::Grow() {
  index_.assign(std::max(kFirstIndex, index_.size() * 2), kEmpty);
  for (size_t i = 0; i < size_; ++i) index_[PlaceOf(at(i).state->key)] = static_cast<uint32_t>(i);
}

void SeriesTable::Erase(size_t index) {
  SEGANET_REQUIRE(index < size_);
  const size_t mask = index_.size() - 1;
  size_t hole = PlaceOf(at(index).state->key);
  const size_t last = size_ - 1;
  if (index != last) {
    index_[PlaceOf(at(last).state->key)] = static_cast<uint32_t>(index);
    index_[hole] = static_cast<uint32_t>(last);  // until the hole is closed, each key is in it once
    std::memcpy(at(index).state, at(last).state, stride_);
  }
  // Closes the hole: moves up what could not be found behind an empty place.
  for (size_t place = (hole + 1) & mask; index_[place] != kEmpty; place = (place + 1) & mask) {
    const size_t wanted = at(index_[place]).state->key & mask;
    if (((place - wanted) & mask) >= ((place - hole) & mask)) {
      index_[hole] = index_[place];
      hole = place;
    }
  }
  index_[hole] = kEmpty;
  --size_;
  // One spare page stays, so that a table at the border does not allocate each time.
  if (size_ + 2 * per_page_ <= pages_.size() * per_page_) pages_.pop_back();
}

void SeriesTable::EraseKey(uint64_t key) {
  if (size_ == 0) return;
  const uint32_t position = index_[PlaceOf(key)];
  if (position != kEmpty) Erase(position);
}

void SeriesTable::Clear() {
  pages_.clear();
  index_.clear();
  index_.shrink_to_fit();
  size_ = 0;
}

}  // namespace seganet
