// Topics and device ids that MQTT allows and some brokers refuse.
#ifndef SEGANET_CORE_RECORD_ODD_TOPIC_H_
#define SEGANET_CORE_RECORD_ODD_TOPIC_H_

#include <string_view>

namespace seganet {

// True for a topic or device id that begins with '$', which brokers keep for themselves
// [MQTT-4.7.2-1], or that has a character a receiver may refuse (5: 1.5.4): U+0000 to U+001F,
// U+007F to U+009F, and the non-characters U+FDD0 to U+FDEF and U+xxFFFE, U+xxFFFF. A broker ends
// the connection at such a PUBLISH, so that one record would hold up all behind it. Bytes that are
// not UTF-8 count as well.
bool IsOddTopic(std::string_view topic);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_ODD_TOPIC_H_
