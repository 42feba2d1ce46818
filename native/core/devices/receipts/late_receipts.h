// Receipts of records whose connection has ended while their device's session is kept.
#ifndef SEGANET_CORE_DEVICES_RECEIPTS_LATE_RECEIPTS_H_
#define SEGANET_CORE_DEVICES_RECEIPTS_LATE_RECEIPTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/devices/receipt_table.h"
#include "core/loop/memory_share.h"
#include "core/protocol/mqtt/late_publish.h"

namespace seganet {

// Takes the place of an agent in the table of receipts until the records of its QoS 2 packets have
// ended. Its memory is part of that of the kept sessions.
//
// Thread safety: owned by one worker.
class LateReceipts {
 public:
  // Called for each record that has ended; may call Drop() and TakeOver().
  using Ended = std::function<void(const std::string& device, const mqtt::LatePublish& late,
                                   mqtt::LateEnd end)>;
  // `table` and `memory` must outlive this object.
  LateReceipts(ReceiptTable* table, MemoryShare* memory, Ended ended)
      : table_(table), memory_(memory), ended_(std::move(ended)) {}
  ~LateReceipts();
  LateReceipts(const LateReceipts&) = delete;
  LateReceipts& operator=(const LateReceipts&) = delete;

  // Removes `from` from the table, and gets the receipts of its records `late`. If there is no
  // memory for them, the records end as lost, so that a repetition becomes a second record.
  // REQUIRES: `from` is enrolled; `late` is not empty, and its handles ascend.
  void TakeOver(ReceiptHolder* from, const std::string& device,
                std::vector<mqtt::LatePublish> late);
  // The session of the device has ended: nothing waits for its receipts.
  void Drop(std::string_view device);

  // Frees what has ended. To be called while the table serves no receipts.
  void EndTurn() { over_.clear(); }

  // Calls see(device) for each device with receipts to come, for some more than once.
  template <typename See>
  void ForEachDevice(See&& see) const {
    for (const auto& [device, row] : rows_) see(std::string_view(device));
  }
  size_t size() const { return rows_.size(); }

 private:
  class Row;
  using Rows = std::multimap<std::string, std::unique_ptr<Row>, std::less<>>;

  // The connection that has ended.
  class Row final : public ReceiptHolder {
   public:
    Row(LateReceipts* owner, std::vector<mqtt::LatePublish> late)
        : owner_(owner), late_(std::move(late)), left_(late_.size()) {}

    void Acknowledge(uint64_t handle) override;
    void Withhold(uint64_t handle) override { End(Find(handle), mqtt::LateEnd::kLost); }
    void Refuse(uint64_t handle) override { End(Find(handle), mqtt::LateEnd::kRefused); }
    void Flush() override {}
    // All records end as lost.
    void EndAll();

    int64_t bytes() const {
      return static_cast<int64_t>(sizeof(Row) + late_.capacity() * sizeof(mqtt::LatePublish) +
                                  place->first.capacity() + kNodeBytes);
    }

    Rows::iterator place;

   private:
    // Returns null if the record has ended.
    mqtt::LatePublish* Find(uint64_t handle);
    void End(mqtt::LatePublish* late, mqtt::LateEnd end);

    LateReceipts* const owner_;
    std::vector<mqtt::LatePublish> late_;  // handles ascend; missing is 0 if it has ended
    size_t left_;                          // of late_
  };

  static constexpr size_t kNodeBytes = 96;  // about what an entry of the map takes

  void Retire(Rows::iterator it);

  ReceiptTable* const table_;
  MemoryShare* const memory_;
  const Ended ended_;
  Rows rows_;  // by device
  // Rows that have left the table, which may still refer to them while it serves receipts.
  std::vector<std::unique_ptr<Row>> over_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_RECEIPTS_LATE_RECEIPTS_H_
