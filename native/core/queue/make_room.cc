#include "core/queue/make_room.h"

namespace seganet {
namespace {

// Returns the lanes with the oldest batch of the class that can be dropped, null = there is none.
Lanes* NextToGiveUp(const std::vector<std::shared_ptr<Lanes>>& all, uint8_t record_class) {
  Lanes* next = nullptr;
  uint64_t oldest = Lanes::kNoBatch;
  for (const std::shared_ptr<Lanes>& lanes : all) {
    const uint64_t id = lanes->FirstToGo(record_class);
    if (id >= oldest) continue;
    oldest = id;
    next = lanes.get();
  }
  return next;
}

}  // namespace

void MakeRoom(const std::vector<std::shared_ptr<Lanes>>& all, const Budget& budget,
              uint8_t record_class) {
  for (uint8_t c = kClasses; c >= kCritical && budget.overflows(c); --c) {
    for (const std::shared_ptr<Lanes>& lanes : all) lanes->SpillFull(c);
  }
  for (uint8_t c = kClasses; c >= record_class && budget.overflows(c); --c) {
    while (budget.overflows(c)) {
      Lanes* lanes = NextToGiveUp(all, c);
      if (lanes == nullptr || !lanes->GiveUpFirst(c)) break;
    }
  }
}

}  // namespace seganet
