// The names of a forecast's doubts in JavaScript.
#ifndef SEGANET_BINDING_DOUBT_NAME_H_
#define SEGANET_BINDING_DOUBT_NAME_H_

#include "core/forecast/season_model.h"

namespace seganet::binding {

inline const char* DoubtName(ForecastDoubt doubt) {
  switch (doubt) {
    case ForecastDoubt::kSeasons:
      return "seasons";
    case ForecastDoubt::kSlots:
      return "slots";
    case ForecastDoubt::kShift:
      return "shift";
    case ForecastDoubt::kSlot:
      return "slot";
    case ForecastDoubt::kNone:
      break;
  }
  return "";
}

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_DOUBT_NAME_H_
