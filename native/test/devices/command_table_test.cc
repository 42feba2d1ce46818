#include "core/devices/command_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

// Gives scripted answers, and keeps the ids.
class FakeCarrier : public CommandCarrier {
 public:
  CommandStart SendCommand(uint64_t id, const Command&) override {
    ids.push_back(id);
    if (at_once != nullptr) at_once->Answer(id, true);
    return start;
  }
  void Withdraw(std::string_view device, uint64_t id) override {
    withdrawn.emplace_back(device, id);
  }
  CommandStart start = CommandStart::kSent;
  CommandTable* at_once = nullptr;
  std::vector<uint64_t> ids;
  std::vector<std::pair<std::string, uint64_t>> withdrawn;
};

class CommandTableTest : public testing::Test {
 protected:
  void Start(uint32_t ticket, std::string device = "d", int64_t deadline_us = 1000) {
    const Command command{ticket, std::move(device), "cmd/d/x", "12", 1, deadline_us};
    ASSERT_TRUE(desk_.Open(command));
    table_.Start(command);
  }
  std::vector<std::pair<uint32_t, CommandEnd>> Results() {
    std::vector<std::pair<uint32_t, CommandEnd>> results;
    for (const CommandResult& r : desk_.Take()) results.emplace_back(r.ticket, r.end);
    return results;
  }
  using Ends = std::vector<std::pair<uint32_t, CommandEnd>>;

  test::CountingBell bell_;
  PendingCommands desk_{&bell_};
  CommandTable table_{&desk_};
  FakeCarrier first_, second_;
};

TEST_F(CommandTableTest, TheDevicesAnswerIsTheEnd) {
  table_.Add(&first_);
  Start(7);
  Start(8);
  EXPECT_EQ(Results(), Ends());
  table_.Answer(first_.ids[1], false);
  table_.Answer(first_.ids[0], true);
  table_.Answer(first_.ids[0], true);
  EXPECT_EQ(Results(), (Ends{{8, CommandEnd::kRefused}, {7, CommandEnd::kTaken}}));
  EXPECT_EQ(table_.waiting(), 0u);
}

TEST_F(CommandTableTest, ACommandThatCannotBeSentEndsAtOnce) {
  Start(1);
  table_.Add(&first_);
  const std::pair<CommandStart, CommandEnd> kCases[] = {
      {CommandStart::kDone, CommandEnd::kTaken},
      {CommandStart::kOffline, CommandEnd::kOffline},
      {CommandStart::kNotListening, CommandEnd::kNotListening},
      {CommandStart::kBusy, CommandEnd::kBusy},
      {CommandStart::kTooLarge, CommandEnd::kTooLarge}};
  Ends expected{{1, CommandEnd::kOffline}};
  uint32_t ticket = 2;
  for (const auto& [start, end] : kCases) {
    first_.start = start;
    expected.emplace_back(ticket, end);
    Start(ticket++);
  }
  EXPECT_EQ(Results(), expected);
}

TEST_F(CommandTableTest, ACarrierThatListensIsBetterThanOneThatDoesNot) {
  table_.Add(&first_);
  table_.Add(&second_);
  first_.start = CommandStart::kNotListening;
  Start(1);
  EXPECT_EQ(second_.ids.size(), 1u);
  second_.start = CommandStart::kOffline;
  Start(2);
  EXPECT_EQ(Results(), (Ends{{2, CommandEnd::kNotListening}}));
  first_.start = CommandStart::kSent;
  Start(3);
  EXPECT_EQ(second_.ids.size(), 2u) << "none is tried after one that took it";
}

TEST_F(CommandTableTest, AnAnswerMayComeBeforeTheCallIsOver) {
  table_.Add(&first_);
  first_.at_once = &table_;
  Start(1);
  EXPECT_EQ(Results(), (Ends{{1, CommandEnd::kTaken}}));
}

TEST_F(CommandTableTest, NoAnswerInTimeIsTheEndAndALateOneIsIgnored) {
  table_.Add(&first_);
  Start(1, "d", 1000);
  Start(2, "d", 500);
  table_.Expire(499);
  EXPECT_EQ(Results(), Ends());
  table_.Expire(999);
  EXPECT_EQ(Results(), (Ends{{2, CommandEnd::kTimeout}}));
  const std::vector<std::pair<std::string, uint64_t>> second{{"d", first_.ids[1]}};
  EXPECT_EQ(first_.withdrawn, second);
  EXPECT_TRUE(table_.Has(first_.ids[0]));
  EXPECT_FALSE(table_.Has(first_.ids[1]));
  table_.Expire(1000);
  table_.Answer(first_.ids[0], true);
  EXPECT_EQ(Results(), (Ends{{1, CommandEnd::kTimeout}}));
}

TEST_F(CommandTableTest, ADeviceThatIsGoneEndsItsOwn) {
  table_.Add(&first_);
  Start(1, "a");
  Start(2, "b");
  Start(3, "a");
  table_.Gone("a");
  table_.Gone("a");
  EXPECT_EQ(Results(), (Ends{{1, CommandEnd::kGone}, {3, CommandEnd::kGone}}));
  const std::vector<std::pair<std::string, uint64_t>> of_a{{"a", first_.ids[0]},
                                                           {"a", first_.ids[2]}};
  EXPECT_EQ(first_.withdrawn, of_a) << "also from a session that is kept on another transport";
  table_.AllGone();
  EXPECT_EQ(Results(), (Ends{{2, CommandEnd::kGone}}));
}

TEST_F(CommandTableTest, TheDeskBoundsCommandsUntilTheirResultsAreTaken) {
  const Command command{1, "d", "t", "", 1, 0};
  for (size_t i = 0; i < PendingCommands::kMost; ++i) ASSERT_TRUE(desk_.Open(command));
  EXPECT_FALSE(desk_.Open(command));
  desk_.End(1, CommandEnd::kTaken, command.bytes());
  EXPECT_FALSE(desk_.Open(command));
  EXPECT_EQ(desk_.Take().size(), 1u);
  EXPECT_TRUE(desk_.Open(command));
}

TEST_F(CommandTableTest, TheDeskBoundsTheirBytesButForOneAlone) {
  desk_.SetMostBytes(100);
  const Command large{1, "d", "t", std::string(200, 'x'), 1, 0};
  const Command small{2, "d", "t", std::string(10, 'x'), 1, 0};
  ASSERT_TRUE(desk_.Open(large));
  EXPECT_FALSE(desk_.Open(small));
  desk_.End(1, CommandEnd::kTaken, large.bytes());
  EXPECT_TRUE(desk_.Open(small));
}

}  // namespace
}  // namespace seganet
