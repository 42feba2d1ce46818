#include "core/forecast/season_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/require.h"

namespace seganet {
namespace {

// Damping of the trend, and smoothing of the trend as a share of that of the level.
constexpr double kPhi = 0.95;
constexpr double kBeta = 0.02;
// Where the adapted smoothings begin and end, and how far one residual moves them (season_model.h).
// Chosen on the series of native/bench/forecast/compare.py, which prints what they achieve.
constexpr float kFirstAlpha = 0.2F;
constexpr float kMinAlpha = 0.01F;
constexpr float kMaxAlpha = 0.9F;
constexpr double kAlphaStep = 0.02;
constexpr float kFirstGamma = 0.1F;
constexpr float kMinGamma = 0.01F;
constexpr float kMaxGamma = 0.6F;
constexpr double kGammaStep = 0.1;
// Seasons in which a slot's mean of all seasons is learned, whatever kFirstGamma says.
constexpr uint32_t kMeanSeasons = 4;
// A residual counts as at most this many sigmas, so that an outlier neither moves the level nor
// widens the band by more.
constexpr double kClip = 3;
// A slot is far off if its mean residual is beyond this share of the clip.
constexpr double kFar = 0.8;
// Slots over which sigma and the quantiles are averaged: this many, or four seasons.
constexpr uint32_t kSpreadSlots = 32;
// Sigma of a constant series: the rounding of floats, relative to its numbers.
constexpr double kRounding = 1e-6;
constexpr double kSmallest = 1e-12;
// Quantile of the normal distribution at 1 - kLowShare, and the step of an estimate of a quantile.
constexpr double kNormalHigh = 1.645;
constexpr double kQuantileStep = 8;
constexpr double kMostMagnitude = 1e32;

constexpr uint32_t kMostCount = std::numeric_limits<uint16_t>::max();

uint16_t Count(uint64_t count) {
  return static_cast<uint16_t>(std::min<uint64_t>(count, kMostCount));
}

// The last bit of a season's float is the sign of the latest residual of its slot, 1 = positive.
// Without it, the season would need twice the memory to adapt its smoothing.
float Seasonal(float kept) { return std::bit_cast<float>(std::bit_cast<uint32_t>(kept) & ~1U); }
bool WasUp(float kept) { return (std::bit_cast<uint32_t>(kept) & 1U) != 0; }
float Keep(double seasonal, bool up) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(seasonal));
  return std::bit_cast<float>((bits & ~1U) | (up ? 1U : 0U));
}

float Adapt(float smoothing, double by, float least, float most) {
  return std::clamp(smoothing * static_cast<float>(std::exp(by)), least, most);
}

bool IsWithin(double number, double low, double high) { return low <= number && number <= high; }

}  // namespace

uint32_t SeasonModel::SlotOf(int64_t ts_ms) const {
  // Beyond the year 5138 and before 1970, all times are in one slot.
  const int64_t slot = std::clamp<int64_t>(ts_ms, 0, 100'000'000'000'000) * slots_ / period_ms_;
  return static_cast<uint32_t>(std::min<int64_t>(slot, UINT32_MAX));
}

void SeasonModel::Begin(double value, int64_t ts_ms, SeriesState* state, float* season) const {
  SEGANET_REQUIRE(std::abs(value) <= kMaxForecastValue);
  const SeriesState old = *state;
  *state = {};
  state->key = old.key;
  state->place = old.place;
  state->level = value;
  state->slot = SlotOf(ts_ms);
  state->points = 1;
  state->alpha = kFirstAlpha;
  state->gamma = kFirstGamma;
  std::fill_n(season, slots_, std::numeric_limits<float>::quiet_NaN());
}

double SeasonModel::Expected(const SeriesState& state, float seasonal) const {
  if (state.age < slots_) return state.level;
  const double base = std::isnan(seasonal) ? state.level : state.level + seasonal;
  return model_ == ForecastModel::kSeasonalNaive ? base : base + kPhi * state.trend;
}

double SeasonModel::Scale(const SeriesState& state, float seasonal) const {
  const double size = std::abs(state.level) + (std::isnan(seasonal) ? 0 : std::abs(seasonal));
  return std::max({static_cast<double>(state.sigma), kRounding * size, kSmallest});
}

ForecastDoubt SeasonModel::Doubt(const SeriesState& state, float seasonal) const {
  if (state.age < std::min(kTrustedSeasons * slots_, kMostCount)) return ForecastDoubt::kSeasons;
  if (state.learned < std::max(slots_, kTrustedSlots)) return ForecastDoubt::kSlots;
  if ((state.run & SeriesState::kAnchor) != 0) return ForecastDoubt::kShift;
  return std::isnan(seasonal) ? ForecastDoubt::kSlot : ForecastDoubt::kNone;
}

ForecastDoubt SeasonModel::DoubtOf(const SeriesState& state, const float* season) const {
  return Doubt(state, Seasonal(season[state.slot % slots_]));
}

ForecastBand SeasonModel::Around(double expected, const SeriesState& state) const {
  const bool has_quantiles = state.age / slots_ >= 2;
  return {expected, expected + (has_quantiles ? state.low : -kNormalHigh * state.sigma),
          expected + (has_quantiles ? state.high : kNormalHigh * state.sigma)};
}

void SeasonModel::GoTo(int64_t ts_ms, SeriesState* state, float* season) const {
  const uint32_t slot = SlotOf(ts_ms);
  if (slot > state->slot) Enter(slot, state, season);
}

ForecastBand SeasonModel::BandOver(int64_t from_ms, int64_t to_ms, const SeriesState& state,
                                   const float* season) const {
  SEGANET_REQUIRE(HasForecast(state) && from_ms < to_ms);
  const uint32_t first = SlotOf(from_ms);
  const uint32_t count = std::min(SlotOf(to_ms - 1) - first + 1, slots_);
  double least = 0;
  double most = 0;
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    double expected = Expected(state, Seasonal(season[(first + i) % slots_]));
    const double apart = static_cast<double>(first) + i - state.slot;
    if (model_ == ForecastModel::kHoltWinters) {
      // Ahead, the trend is damped further with each slot. Behind, it is what it was.
      expected += state.trend * (apart > 0 ? kPhi * kPhi * (1 - std::pow(kPhi, apart)) / (1 - kPhi)
                                           : std::max(apart, -static_cast<double>(slots_)));
    }
    least = i == 0 ? expected : std::min(least, expected);
    most = i == 0 ? expected : std::max(most, expected);
    sum += expected;
  }
  return {sum / count, Around(least, state).low, Around(most, state).high};
}

ForecastVerdict SeasonModel::Observe(double value, int64_t ts_ms, double sigmas, double least,
                                     SeriesState* state, float* season) const {
  SEGANET_REQUIRE(std::abs(value) <= kMaxForecastValue);
  ForecastVerdict verdict;
  const uint32_t slot = SlotOf(ts_ms);
  verdict.late = !Enter(slot, state, season);
  const float seasonal = Seasonal(season[slot % slots_]);
  const double expected = Expected(*state, seasonal);
  const double scale = Scale(*state, seasonal);
  const double residual = value - expected;
  const bool is_trusted = IsTrusted(*state, seasonal);
  const uint32_t seasons = state->age / slots_;
  if (seasons >= 1) {
    verdict.has_forecast = true;
    verdict.expected = expected;
    verdict.sigma = state->sigma;
    const ForecastBand band = Around(expected, *state);
    verdict.low = band.low;
    verdict.high = band.high;
    verdict.trusted = is_trusted && !verdict.late;
    verdict.anomaly = verdict.trusted && std::abs(residual) > std::max(sigmas * scale, least);
  }
  if (verdict.late || state->points == kMostCount) return verdict;
  const double clip = std::max(kClip * scale, least);
  ++state->points;
  state->sum += static_cast<float>(is_trusted ? std::clamp(residual, -clip, clip) : residual);
  if (seasons >= 1 && !std::isnan(seasonal) && (state->run & SeriesState::kAnchor) == 0) {
    Spread(residual, clip, is_trusted, state);
  }
  return verdict;
}

// Goes to the slot of a value. Returns false if the slot is over.
bool SeasonModel::Enter(uint32_t slot, SeriesState* state, float* season) const {
  if (slot < state->slot) {
    if (++state->late < kLateValues) return false;
    // The clock was set back, or had been ahead for a while. What was learned stays.
    state->points = 0;
    state->sum = 0;
    state->slot = slot;
  }
  state->late = 0;
  if (slot == state->slot) return true;
  const uint32_t gap = slot - state->slot;
  const bool was_first = state->age < slots_;
  Complete(state, season);
  state->age = Count(uint64_t{state->age} + gap);
  state->slot = slot;
  if (was_first) {
    if (state->age >= slots_) EndFirstSeason(state, season);
  } else {
    Advance(gap - 1, state);
  }
  return true;
}

// Learns the current slot, which is over, and goes one slot on.
void SeasonModel::Complete(SeriesState* state, float* season) const {
  if (state->points == 0) {
    if (state->age >= slots_) Advance(1, state);
    return;
  }
  const double residual = state->sum / state->points;
  state->usual = state->points;
  state->points = 0;
  state->sum = 0;
  state->learned = Count(uint64_t{state->learned} + 1);
  float* const kept = &season[state->slot % slots_];
  const float seasonal = Seasonal(*kept);
  if (state->age < slots_) {
    *kept = Keep(residual, false);
    return;
  }
  if ((state->run & SeriesState::kAnchor) != 0) {
    state->level = Expected(*state, 0) + residual;
    state->trend = 0;
    state->run = 0;
    return;
  }
  if (std::isnan(seasonal)) {
    *kept = Keep(residual, residual > 0);
    if (model_ == ForecastModel::kHoltWinters) Advance(1, state);
    return;
  }
  Smooth(residual, Scale(*state, seasonal), state, kept);
}

void SeasonModel::Smooth(double residual, double scale, SeriesState* state, float* kept) const {
  const float seasonal = Seasonal(*kept);
  const bool is_up = residual > 0;
  const uint32_t seasons = state->age / slots_;
  if (IsTrusted(*state, seasonal) && std::abs(residual) >= kFar * kClip * scale) {
    const bool goes_on = is_up == ((state->run & SeriesState::kUp) != 0);
    const int run = 1 + (goes_on ? state->run & SeriesState::kRun : 0);
    state->run = static_cast<uint8_t>(run | (is_up ? SeriesState::kUp : 0));
    const int most = model_ == ForecastModel::kHoltWinters ? kShiftSlots : kNaiveShiftSlots;
    if (run >= most) state->run = SeriesState::kAnchor;
  } else {
    state->run = 0;
  }
  if (model_ == ForecastModel::kSeasonalNaive) {
    *kept = Keep(seasonal + residual, is_up);
    return;
  }
  const double in_sigmas = residual / scale;
  double gamma = 1.0 / (seasons + 1);
  if (seasons >= 2) {
    state->alpha = Adapt(state->alpha, kAlphaStep * std::clamp(in_sigmas * state->last, -1.0, 1.0),
                         kMinAlpha, kMaxAlpha);
    state->gamma =
        Adapt(state->gamma, is_up == WasUp(*kept) ? kGammaStep : -kGammaStep, kMinGamma, kMaxGamma);
    gamma = seasons < kMeanSeasons ? std::max<double>(state->gamma, gamma) : state->gamma;
  }
  state->last = static_cast<float>(std::clamp(in_sigmas, -kClip, kClip));
  const double alpha = state->alpha;
  const double trend = kPhi * state->trend;
  state->level += trend + alpha * residual;
  state->trend = static_cast<float>(trend + alpha * kBeta * residual);
  *kept = Keep(seasonal + gamma * (1 - alpha) * residual, is_up);
}

// Turns the values of the first season into a level and a season around it.
void SeasonModel::EndFirstSeason(SeriesState* state, float* season) const {
  double sum = 0;
  uint32_t known = 0;
  for (uint32_t k = 0; k < slots_; ++k) {
    if (std::isnan(season[k])) continue;
    sum += Seasonal(season[k]);
    ++known;
  }
  if (known == 0) return;
  const double mean = sum / known;
  for (uint32_t k = 0; k < slots_; ++k) {
    if (!std::isnan(season[k])) season[k] = Keep(Seasonal(season[k]) - mean, false);
  }
  state->level += mean;
}

// Goes on by slots without a value. After a season without one, the next value sets the level.
void SeasonModel::Advance(uint32_t slots, SeriesState* state) const {
  if (slots >= slots_) state->run = SeriesState::kAnchor;
  if (model_ == ForecastModel::kSeasonalNaive) return;
  const double damping = std::pow(kPhi, slots);
  state->level += state->trend * kPhi * (1 - damping) / (1 - kPhi);
  state->trend = static_cast<float>(state->trend * damping);
}

// Learns how far single values are from their forecast.
void SeasonModel::Spread(double residual, double clip, bool clips, SeriesState* state) const {
  const double usual = std::max<uint16_t>(state->usual, 1);
  const double seen = (state->age - slots_) * usual + state->points;
  const double rate = 1 / std::min(seen, std::max(kSpreadSlots, 4 * slots_) * usual);
  const double size = clips ? std::min(std::abs(residual), clip) : std::abs(residual);
  const double variance = double{state->sigma} * state->sigma;
  state->sigma = static_cast<float>(std::sqrt(variance + rate * (size * size - variance)));
  if (state->age < 2 * slots_) return;
  if (state->low == 0 && state->high == 0) {
    state->high = static_cast<float>(kNormalHigh * state->sigma);
    state->low = -state->high;
  }
  // Stochastic approximation (Robbins and Monro, 1951): each value moves a quantile a little
  // toward the side on which there are too many.
  const double step = std::min(kQuantileStep * rate, 1.0) * state->sigma;
  state->low += static_cast<float>(step * (kLowShare - (residual < state->low ? 1 : 0)));
  state->high += static_cast<float>(step * (1 - kLowShare - (residual < state->high ? 1 : 0)));
  if (state->low > state->high) state->low = state->high = (state->low + state->high) / 2;
}

bool SeasonModel::IsValid(const SeriesState& state, const float* season) const {
  const auto is_size = [](double number) {
    return IsWithin(number, -kMostMagnitude, kMostMagnitude);
  };
  return is_size(state.level) && is_size(state.trend) && is_size(state.low) &&
         is_size(state.high) && IsWithin(state.sigma, 0, kMostMagnitude) &&
         state.low <= state.high && IsWithin(state.alpha, kMinAlpha, kMaxAlpha) &&
         IsWithin(state.gamma, kMinGamma, kMaxGamma) && IsWithin(state.last, -kClip, kClip) &&
         is_size(state.sum / (kMostCount + 1.0)) && state.late < kLateValues &&
         std::all_of(season, season + slots_,
                     [&](float kept) { return std::isnan(kept) || is_size(Seasonal(kept)); });
}

}  // namespace seganet
