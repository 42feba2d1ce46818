// Pipeline: filters that aggregate the records of a time window.

#include <string>
#include <utility>

#include "core/plan/pipeline.h"

namespace seganet {
namespace {

// How many windows end before the message ring is looked at again.
constexpr size_t kWindowsPerLook = 16;
// How long windows wait for room in the message ring.
constexpr int64_t kWindowPauseUs = 20'000;

}  // namespace

std::unique_ptr<Windows> Pipeline::MakeWindows(const Stage& stage) {
  WindowOptions options = stage.spec.filter.window;
  options.hold = options.hold && context_.held != nullptr;
  WindowTotals* const totals = context_.windows != nullptr ? context_.windows : &own_windows_;
  const uint32_t id = stage.spec.id;
  return std::make_unique<Windows>(
      options, context_.budget, totals,
      [this, id](Window* window, WindowEnd end) { OnWindow(*plan_->Find(id), window, end); });
}

// Returns the windows of the stages of a new plan, and ends the others.
std::vector<std::unique_ptr<Windows>> Pipeline::TakeOverWindows(const Plan& plan, int64_t now_us) {
  const auto keeps = [&plan](const Stage& old) {
    const Stage* stage = plan.Find(old.spec.id);
    return stage != nullptr && stage->spec.kind == StageKind::kFilter && stage->takes &&
           stage->spec.filter == old.spec.filter;
  };
  EndWindowsOf([&](const Stage& old) { return !keeps(old); }, nullptr, now_us);
  std::vector<std::unique_ptr<Windows>> windows(plan.stages().size());
  for (const Stage& stage : plan.stages()) {
    if (stage.spec.kind != StageKind::kFilter || stage.spec.filter.mode != FilterMode::kWindow) {
      continue;
    }
    const Stage* old = plan_->Find(stage.spec.id);
    windows[stage.index] =
        old != nullptr && keeps(*old) ? std::move(windows_[old->index]) : MakeWindows(stage);
  }
  return windows;
}

// A record that enters a window counts as filtered: its window's record replaces it. A record
// without any of the values passes.
void Pipeline::RunWindow(const Stage& stage, const Record& record) {
  if (!stage.takes) return;
  Windows& windows = *windows_[stage.index];
  int64_t wall_us = record.arrived_us;
  if (context_.now != nullptr) {
    wall_us += context_.now->wall_ms * 1000 - context_.now->mono_us;
  }
  if (!windows.Add(record, wall_us)) {
    Forward(stage, record);
    return;
  }
  CountersOf(stage).filtered.Add();
  context_.counters->Add(Counter::kRecordsFiltered);
  passage_.taken = true;
  if (!windows.options().hold) return;
  if (record.receipt.handle != 0) ++passage_.copies;
  if (record.deferred.handle != 0) ++passage_.deferred;
}

// Runs the record of a window that has ended. May be called while another record runs.
void Pipeline::OnWindow(const Stage& stage, Window* window, WindowEnd end) {
  context_.counters->Add(Counter::kWindowsEnded);
  if (end == WindowEnd::kEarly) context_.counters->Add(Counter::kWindowsEndedEarly);
  context_.counters->Add(Counter::kRecordsReceived);
  std::string payload;
  AppendWindow(*window, stage.spec.filter.window, end, &payload);
  Record record;
  record.device = window->device;
  record.topic = window->topic;
  record.payload = payload;
  record.record_class = window->record_class;
  record.flags = window->flags;
  record.seq = window->seq;
  record.ts_ms = window->ts_ms;
  record.arrived_us = window->end_us;
  Receipt held;
  if (!window->receipts.empty()) {
    held = context_.held->Hold(std::move(window->receipts));
    if (window->has_receipts) record.receipt = held;
    if (window->has_deferred) record.deferred = held;
  }
  const Passage outer = std::exchange(passage_, {});
  const bool outer_is_counted = std::exchange(is_counted_, false);
  Forward(stage, record);
  const Passage mine = std::exchange(passage_, outer);
  const bool is_counted = std::exchange(is_counted_, outer_is_counted);
  if (!mine.taken && !is_counted) context_.counters->Add(Drop::kNoRoute, record.record_class);
  if (held.handle == 0) return;
  if (mine.taken) {
    context_.held->Expect(held.handle, (window->has_receipts ? mine.copies : 0) + mine.deferred);
  } else {
    context_.held->WithholdHeld(held.handle);
  }
}

void Pipeline::EndDueWindows(int64_t now_us) {
  for (Windows* const windows : window_stages_) {
    for (size_t ended = 0; ended < kWindowsPerTurn; ended += kWindowsPerLook) {
      if (windows->NextEnd() > now_us) break;
      if (MessagesHigh()) {
        windows_from_us_ = now_us + kWindowPauseUs;
        return;
      }
      windows->EndDue(now_us, kWindowsPerLook);
    }
  }
  windows_from_us_ = INT64_MIN;
}

void Pipeline::EndWindows(uint32_t id, const std::function<bool(std::string_view device)>& ends,
                          int64_t now_us) {
  EndWindowsOf([id](const Stage& stage) { return id == 0 || stage.spec.id == id; }, ends, now_us);
}

void Pipeline::EndWindowsOf(const std::function<bool(const Stage&)>& of,
                            const std::function<bool(std::string_view device)>& ends,
                            int64_t now_us) {
  // A window that ends may open one of a stage behind its own. There are no cycles, so this ends.
  for (bool again = true; again;) {
    again = false;
    for (const Stage& stage : plan_->stages()) {
      Windows* const windows = windows_[stage.index].get();
      if (windows == nullptr || !of(stage)) continue;
      again = windows->EndEarly(ends, now_us) > 0 || again;
    }
  }
}

}  // namespace seganet
