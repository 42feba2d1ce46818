// The resource, device, topic and class of a request, and the worker that must get it.
#include <gtest/gtest.h>

#include <string>

#include "core/protocol/coap/message.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/route.h"
#include "test/support/coap_bytes.h"

namespace seganet {
namespace {

using coap::ParseRequest;
using coap::Request;
using coap::Resource;
using coap::Route;
using coap::Settings;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kPostCode;
using coap_test::kRst;
using coap_test::Lit;
using coap_test::Options;
using coap_test::Path;
using coap_test::Span;

coap::Refusal Parse(const Options& options, Request* request, const Settings& settings = {}) {
  const Bytes body = coap_test::Body(options, "");
  coap::Message message;
  message.options = Span(body);
  *request = {};
  return ParseRequest(message, settings, request);
}

// Of the last routed datagram.
coap::Arrival arrival;

Route RouteTo(const Bytes& datagram, const Settings& settings) {
  ReadArrival(Span(datagram), settings, &arrival);
  return RouteOf(arrival);
}

TEST(CoapUri, APartPrecedesTheDevice) {
  Settings settings;
  settings.parted = true;
  Request request;
  EXPECT_EQ(Parse(Path("r/pump/t"), &request, settings).code, coap::kForbidden);
  EXPECT_EQ(request.device, "");
  EXPECT_EQ(Parse(Path(".well-known/core"), &request, settings).code, coap::kEmpty);
  settings.part = "acme";
  EXPECT_EQ(Parse(Path("r/pump/t"), &request, settings).code, coap::kEmpty);
  EXPECT_EQ(request.device, "acme:pump");
  EXPECT_EQ(request.topic, "r/pump/t");
  EXPECT_EQ(Parse(Path("cmd/acme:pump"), &request, settings).code, coap::kEmpty);
  EXPECT_EQ(request.device, "acme:acme:pump");
  EXPECT_EQ(Parse(Path("r/" + std::string(251, 'x')), &request, settings).code, coap::kEmpty);
  EXPECT_EQ(Parse(Path("r/" + std::string(252, 'x')), &request, settings).code, coap::kBadRequest);
  EXPECT_EQ(request.device, "");
}

TEST(CoapUri, APathNamesResourceDeviceAndTopic) {
  struct {
    Bytes path;
    Options queries;
    Resource resource;
    Bytes device, topic;
    int record_class;
  } const cases[] = {
      {"r/dev", {}, Resource::kRecords, "dev", "r/dev", 0},
      {"r/dev/a/b", {}, Resource::kRecords, "dev", "r/dev/a/b", 0},
      {"r/dev/", {}, Resource::kRecords, "dev", "r/dev/", 0},
      {"r", {{15, "d=dev"}}, Resource::kRecords, "dev", "r/dev", 0},
      {"r/x", {{15, "d=dev"}}, Resource::kRecords, "dev", "r/dev/x", 0},
      {"r/dev", {{15, "t=plant/7"}}, Resource::kRecords, "dev", "plant/7", 0},
      {"r/dev", {{15, "c=1"}}, Resource::kRecords, "dev", "r/dev", 1},
      {"r/dev", {{15, "c=bulk"}}, Resource::kRecords, "dev", "r/dev", 4},
      {"r/dev", {{15, "c=critical"}}, Resource::kRecords, "dev", "r/dev", 1},
      {"r/dev", {{15, "c=8"}}, Resource::kRecords, "dev", "r/dev", 8},
      {"r/dev", {{15, "c=9"}}, Resource::kRecords, "dev", "r/dev", 0},
      {"r/dev", {{15, "c=0"}}, Resource::kRecords, "dev", "r/dev", 0},
      {"r/dev", {{15, "c=Bulk"}}, Resource::kRecords, "dev", "r/dev", 0},
      {"r/dev", {{15, "else"}}, Resource::kRecords, "dev", "r/dev", 0},
      {"cmd/dev", {}, Resource::kCommands, "dev", "", 0},
      {"cmd/dev/led", {}, Resource::kCommands, "dev", "cmd/dev/led", 0},
      {"cmd/led", {{15, "d=dev"}}, Resource::kCommands, "dev", "cmd/dev/led", 0},
      {".well-known/core", {{15, "rt=x"}}, Resource::kDiscovery, "", "", 0},
      {"r/gr\xC3\xBC\xC3\x9F",
       {},
       Resource::kRecords,
       "gr\xC3\xBC\xC3\x9F",
       "r/gr\xC3\xBC\xC3\x9F",
       0},
  };
  for (const auto& c : cases) {
    Request request;
    EXPECT_EQ(Parse(Path(c.path, c.queries), &request).code, coap::kEmpty) << c.path;
    EXPECT_EQ(request.resource, c.resource) << c.path;
    EXPECT_EQ(request.device, c.device) << c.path;
    EXPECT_EQ(request.topic, c.topic) << c.path;
    EXPECT_EQ(request.record_class, c.record_class) << c.path;
  }
}

TEST(CoapUri, PathsOfSeveralSegmentsAndAnotherClassQueryMayBeSet) {
  Settings settings;
  settings.path = "plant/in";
  settings.class_query = "priority";
  Request request;
  EXPECT_EQ(
      Parse(Path("plant/in/dev/x", {{15, "priority=2"}, {15, "c=1"}}), &request, settings).code,
      coap::kEmpty);
  EXPECT_EQ(request.device, "dev");
  EXPECT_EQ(request.topic, "plant/in/dev/x");
  EXPECT_EQ(request.record_class, 2);
  EXPECT_EQ(Parse(Path("plant/dev"), &request, settings).code, coap::kNotFound);
  EXPECT_EQ(Parse(Path("plant"), &request, settings).code, coap::kNotFound);
}

TEST(CoapUri, RefusesPathsWithoutADeviceOrATopic) {
  struct {
    const char* what;
    Options options;
    unsigned code;
  } const cases[] = {
      {"nothing", {}, coap::kNotFound},
      {"another path", Path("x/dev"), coap::kNotFound},
      {"a longer first segment", Path("rr/dev"), coap::kNotFound},
      {"no device", Path("r"), coap::kBadRequest},
      {"an empty device", Path("r//x"), coap::kBadRequest},
      {"an empty device in the query", Path("r", {{15, "d="}}), coap::kBadRequest},
      {"dots", Path("r/../x"), coap::kBadRequest},
      {"a dot", Path("r/./x"), coap::kBadRequest},
      {"a wildcard", Path("r/dev/+"), coap::kBadRequest},
      {"another", Path("r/dev", {{15, "t=a/#"}}), coap::kBadRequest},
      {"an empty topic", Path("r/dev", {{15, "t="}}), coap::kBadRequest},
      {"NUL", {{11, "r"}, {11, Lit("a\0b")}}, coap::kBadRequest},
      {"bad UTF-8", {{11, "r"}, {11, "\xC0\x80"}}, coap::kBadRequest},
      {"bad UTF-8 in the query", Path("r/dev", {{15, "t=\xED\xA0\x80"}}), coap::kBadRequest},
      {"a segment of 256 bytes", Path("r/" + Bytes(256, 'x')), coap::kBadOption},
      {"129 segments", Options(129, {11, "x"}), coap::kBadRequest},
  };
  for (const auto& c : cases) {
    Request request;
    EXPECT_EQ(Parse(c.options, &request).code, c.code) << c.what;
  }
}

TEST(CoapUri, RefusesUnknownCriticalOptionsAndIgnoresOthers) {
  struct {
    const char* what;
    Options more;
    unsigned code;
  } const cases[] = {
      {"critical, unknown", {{9, "x"}}, coap::kBadOption},
      {"critical, large", {{65001, ""}}, coap::kBadOption},
      {"elective, unknown", {{65000, "x"}, {65002, ""}}, coap::kEmpty},
      {"host and port", {{3, "gw"}, {7, "\x16\x33"}}, coap::kEmpty},
      {"host twice", {{3, "gw"}, {3, "gw"}}, coap::kBadOption},
      {"host empty", {{3, ""}}, coap::kBadOption},
      {"accept twice", {{17, ""}, {17, "\x01"}}, coap::kBadOption},
      {"block1 twice", {{27, ""}, {27, ""}}, coap::kBadOption},
      {"block1 of 4 bytes", {{27, "1234"}}, coap::kBadOption},
      {"block2 of 4 bytes", {{23, "1234"}}, coap::kBadOption},
      {"if-match", {{1, "tag"}}, coap::kPreconditionFailed},
      {"if-none-match", {{5, ""}}, coap::kEmpty},
      {"if-none-match with a value", {{5, "x"}}, coap::kBadOption},
      {"proxy-uri", {{35, "coap://x/"}}, coap::kProxying},
      {"proxy-scheme", {{39, "http"}}, coap::kProxying},
      {"content format", {{12, "\x32"}}, coap::kEmpty},
      {"a reserved content format", {{12, "\xFF\xFF"}}, coap::kUnsupportedFormat},
  };
  for (const auto& c : cases) {
    Options options = c.more;
    for (const auto& segment : Path("r/dev")) options.push_back(segment);
    std::stable_sort(options.begin(), options.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Request request;
    EXPECT_EQ(Parse(options, &request).code, c.code) << c.what;
    EXPECT_EQ(request.device, "dev") << c.what;  // so that its worker refuses it
  }
}

TEST(CoapRoute, RequestsGoToTheDevicesWorkerAndAnswersToTheRequester) {
  const Settings settings;
  Route route = RouteTo(Datagram(kCon, kPostCode, 1, "t", Path("r/dev/x")), settings);
  EXPECT_EQ(route.kind, Route::Kind::kDevice);
  EXPECT_EQ(route.device, "dev");
  route = RouteTo(Datagram(kCon, 1, 1, "t", Path("cmd", {{15, "d=b"}})), settings);
  EXPECT_EQ(route.device, "b");
  for (const unsigned type : {kAck, kRst}) {
    route = RouteTo(Datagram(type, 0, 0xBEEF), settings);
    EXPECT_EQ(route.kind, Route::Kind::kMessageId);
    EXPECT_EQ(route.message_id, 0xBEEF);
  }
  for (const Bytes& any : {Datagram(kCon, 0, 1), Datagram(kCon, 1, 1, "", Path(".well-known/core")),
                           Bytes("x"), Bytes(), Datagram(kCon, 0x45, 1, "", Path("r/dev"))}) {
    EXPECT_EQ(RouteTo(any, settings).kind, Route::Kind::kAny);
  }
}

}  // namespace
}  // namespace seganet
