#include "core/runtime/slot_moves.h"

namespace seganet {

SlotMoves::Leaving* SlotMoves::Find(uint32_t slot) {
  for (Leaving& leaving : all_) {
    if (leaving.move.slot == slot) return &leaving;
  }
  return nullptr;
}

void SlotMoves::Forget(Agent* agent) {
  for (Leaving& leaving : all_) std::erase(leaving.agents, agent);
}

}  // namespace seganet
