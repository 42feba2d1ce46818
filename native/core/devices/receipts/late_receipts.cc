#include "core/devices/receipts/late_receipts.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"

namespace seganet {

LateReceipts::~LateReceipts() {
  for (const auto& [device, row] : rows_) memory_->Add(-row->bytes());
}

void LateReceipts::TakeOver(ReceiptHolder* from, const std::string& device,
                            std::vector<mqtt::LatePublish> late) {
  SEGANET_REQUIRE(!late.empty());
  const auto it = rows_.emplace(device, std::make_unique<Row>(this, std::move(late)));
  it->second->place = it;
  table_->Pass(from, it->second.get());
  if (!memory_->Add(it->second->bytes())) it->second->EndAll();
}

void LateReceipts::Drop(std::string_view device) {
  for (auto it = rows_.lower_bound(device); it != rows_.end() && it->first == device;) Retire(it++);
}

void LateReceipts::Retire(Rows::iterator it) {
  memory_->Add(-it->second->bytes());
  table_->Leave(it->second.get());
  over_.push_back(std::move(it->second));
  rows_.erase(it);
}

mqtt::LatePublish* LateReceipts::Row::Find(uint64_t handle) {
  const auto at = std::lower_bound(
      late_.begin(), late_.end(), handle,
      [](const mqtt::LatePublish& one, uint64_t wanted) { return one.handle < wanted; });
  const bool is_there = at != late_.end() && at->handle == handle && at->missing > 0;
  return is_there ? &*at : nullptr;
}

void LateReceipts::Row::Acknowledge(uint64_t handle) {
  mqtt::LatePublish* const late = Find(handle);
  if (late == nullptr) return;  // a QoS 1 packet
  if (late->missing > 1) {
    --late->missing;
  } else {
    End(late, mqtt::LateEnd::kSafe);
  }
}

void LateReceipts::Row::EndAll() {
  // A report may end this row with the session of its device.
  for (size_t i = 0; left_ > 0 && i < late_.size(); ++i) {
    if (late_[i].missing > 0) End(&late_[i], mqtt::LateEnd::kLost);
  }
}

void LateReceipts::Row::End(mqtt::LatePublish* late, mqtt::LateEnd end) {
  if (late == nullptr) return;
  late->missing = 0;
  const mqtt::LatePublish ended = *late;
  const std::string device = place->first;
  LateReceipts* const owner = owner_;
  // This row lives until EndTurn().
  if (--left_ == 0) owner->Retire(place);
  owner->ended_(device, ended, end);
}

}  // namespace seganet
