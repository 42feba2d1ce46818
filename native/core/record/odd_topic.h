// Topics and device ids that MQTT allows but some brokers reject.
#ifndef SEGANET_CORE_RECORD_ODD_TOPIC_H_
#define SEGANET_CORE_RECORD_ODD_TOPIC_H_

#include <string_view>

namespace seganet {

// True if a topic or device id begins with '$', which brokers reserve [MQTT-4.7.2-1], or contains a
// character that a receiver may refuse (MQTT 5, 1.5.4): U+0000 to U+001F, U+007F to U+009F, and the
// non-characters U+FDD0 to U+FDEF, U+xxFFFE and U+xxFFFF. Also true for bytes that are not UTF-8. A
// broker may close the connection on such a PUBLISH, so that one record would block all records
// behind it.
bool IsOddTopic(std::string_view topic);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_ODD_TOPIC_H_
