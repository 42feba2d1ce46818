// A compact hash table of series: no pointers, no memory of its own for each series.
#ifndef SEGANET_CORE_FORECAST_SERIES_TABLE_H_
#define SEGANET_CORE_FORECAST_SERIES_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/forecast/series_state.h"

namespace seganet {

// A series in a table. Valid until the table changes.
struct Series {
  SeriesState* state = nullptr;  // null = there is none
  float* season = nullptr;       // one for each slot
  explicit operator bool() const { return state != nullptr; }
};

// Series lie one after the other in pages, which never move, so growth copies only the index.
// Removal moves the last series into the gap.
//
// Thread safety: none.
class SeriesTable {
 public:
  // REQUIRES: kMinForecastSlots <= slots <= kMaxForecastSlots.
  explicit SeriesTable(uint32_t slots);
  SeriesTable(const SeriesTable&) = delete;
  SeriesTable& operator=(const SeriesTable&) = delete;

  // Keys must be hashes that nobody can predict.
  Series Find(uint64_t key) const;
  // Adds a series with a state that has only its key, and a season that is not set. REQUIRES:
  // Find(key) is null, size() < 2^31.
  Series Add(uint64_t key);
  // Removes the series at(index).
  void Erase(size_t index);
  // Removes the series with this key, if there is one.
  void EraseKey(uint64_t key);
  // Removes all, and returns the memory.
  void Clear();

  size_t size() const { return size_; }
  // REQUIRES: index < size().
  Series at(size_t index) const;
  size_t bytes() const { return pages_.size() * page_bytes() + index_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  size_t page_bytes() const { return per_page_ * stride_; }
  // Returns the place in index_ of the key, or the empty place where it belongs.
  size_t PlaceOf(uint64_t key) const;
  void Grow();

  const size_t stride_;    // bytes of a series, a multiple of 8
  const size_t per_page_;  // series
  std::vector<std::unique_ptr<uint64_t[]>> pages_;
  std::vector<uint32_t> index_;  // open addressing, a power of two; position of the series
  size_t size_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_FORECAST_SERIES_TABLE_H_
