#include "core/protocol/cbor/cbor_map.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace seganet {
namespace {

// Returns the bytes of a text in hexadecimal digits.
std::string Hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

bool IsMap(std::string_view digits, const CborBounds& bounds = {}) {
  return IsCborMap(Hex(digits), bounds);
}

TEST(CborMap, AcceptsWellFormedMapsWithTextKeys) {
  for (const char* map :
       {"a0", "bfff", "a1617401", "b801617401", "a16174f97e00", "a16174fb7ff0000000000000",
        "a161743bffffffffffffffff", "a1617480", "a161749fff", "a161745f4101420203ff",
        "a161747f6161ff", "bf617401ff", "a1617fa0", "a26161f56162f6", "a16174f820", "a160a0",
        "a162c3a4a1616181a0", "a17f6174ff01"}) {
    EXPECT_TRUE(IsMap(map)) << map;
  }
}

TEST(CborMap, RefusesEverythingElse) {
  for (const char* bytes : {"",
                            "00",
                            "80",
                            "60",
                            "a1",
                            "a161",
                            "a16174",
                            "a10101",
                            "a1617401ff",
                            "a000",
                            "bf",
                            "bf6174ff",
                            "bf617401",
                            "a16174c100",
                            "a1617418",
                            "a1617419ff",
                            "a161741c",
                            "a161743f",
                            "a161741f",
                            "a16174ff",
                            "a16174f800",
                            "a16174f81f",
                            "a16174fc",
                            "a1617462c328",
                            "a1617461ff",
                            "a161745f6161ff",
                            "a161745f5f4101ffff",
                            "a161745f41",
                            "a161745f",
                            "a161745b7fffffffffffffff",
                            "a161749b7fffffffffffffff",
                            "bbffffffffffffffff",
                            "a161745bffffffffffffffff",
                            "a14101f5",
                            "a16174a101f5",
                            "df",
                            "ff"}) {
    EXPECT_FALSE(IsMap(bytes)) << bytes;
  }
}

TEST(CborMap, EachBoundIsExact) {
  EXPECT_TRUE(IsMap("a1617401", {.bytes = 4}));
  EXPECT_FALSE(IsMap("a1617401", {.bytes = 3}));
  // The map, its key and its value.
  EXPECT_TRUE(IsMap("a1617401", {.items = 3}));
  EXPECT_FALSE(IsMap("a1617401", {.items = 2}));
  EXPECT_TRUE(IsMap("a161745f4101ff", {.items = 4}));
  EXPECT_FALSE(IsMap("a161745f4101ff", {.items = 3}));
  EXPECT_TRUE(IsMap("a1617481a0", {.depth = 3}));
  EXPECT_FALSE(IsMap("a1617481a0", {.depth = 2}));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += Hex("bf6174");
  EXPECT_FALSE(IsCborMap(deep, {.bytes = 1 << 20}));
}

}  // namespace
}  // namespace seganet
