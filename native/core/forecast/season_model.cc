#include "core/forecast/season_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

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

// The last bits of a season's float are of the latest residual of its slot: its sign, 1 = positive,
// and whether it was far off before there was a sigma to trust. Without them, the season would need
// twice the memory.
constexpr uint32_t kUpBit = 1;
constexpr uint32_t kFarBit = 2;
float Seasonal(float kept) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(kept) & ~(kUpBit | kFarBit));
}
bool WasUp(float kept) { return (std::bit_cast<uint32_t>(kept) & kUpBit) != 0; }
bool WasFar(float kept) { return (std::bit_cast<uint32_t>(kept) & kFarBit) != 0; }
float Keep(double seasonal, bool up, bool far = false) {
  const auto bits = std::bit_cast<uint32_t>(Seasonal(static_cast<float>(seasonal)));
  return std::bit_cast<float>(bits | (up ? kUpBit : 0U) | (far ? kFarBit : 0U));
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
  if (state.age < kTrustedSeasons * slots_) return ForecastDoubt::kSeasons;
  if (!HasStarted(state)) return ForecastDoubt::kSlots;
  if ((state.run & SeriesState::kAnchor) != 0) return ForecastDoubt::kShift;
  return std::isnan(seasonal) ? ForecastDoubt::kSlot : ForecastDoubt::kNone;
}

ForecastDoubt SeasonModel::DoubtOf(const SeriesState& state, const float* season) const {
  return Doubt(state, Seasonal(season[state.slot % slots_]));
}

ForecastBand SeasonModel::Around(double expected, const SeriesState& state) const {
  const bool has_quantiles = HasStarted(state);
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
    if (HasStarted(*state)) {
      Spread(residual, clip, is_trusted, state);
    } else {
      const double root = std::hypot(state->high, residual);
      state->high = static_cast<float>(std::min(root, kMostMagnitude));
    }
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
    if (!HasStarted(*state)) state->high = 0;
    state->slot = slot;
  }
  state->late = 0;
  if (slot == state->slot) return true;
  const uint32_t gap = slot - state->slot;
  const bool was_first = state->age < slots_;
  const bool had_started = HasStarted(*state);
  Complete(state, season);
  state->age = Count(uint64_t{state->age} + std::min(gap, slots_));
  state->slot = slot;
  if (was_first && state->age >= slots_) EndFirstSeason(state, season);
  if (state->age >= slots_) Advance(gap - 1, state);
  if (!had_started && HasStarted(*state)) EndStart(state);
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
  if (!HasStarted(*state)) Gather(state->usual, state);
  Smooth(residual, Scale(*state, seasonal), state, kept);
  state->learned = Count(uint64_t{state->learned} + 1);
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
  // Before there is a sigma to trust, a slot that is far off is an outlier, of this season or of
  // the one from which the forecast is. If it is far off in the next season, too, it was the
  // latter.
  const double clip = kClip * scale;
  const bool is_far = !HasStarted(*state) && std::abs(residual) > clip;
  const bool is_confirmed = is_far && WasFar(*kept) && is_up == WasUp(*kept);
  if (model_ == ForecastModel::kSeasonalNaive) {
    const bool is_learned = !is_far || is_confirmed;
    *kept = Keep(is_learned ? seasonal + residual : seasonal, is_up, !is_learned);
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
  const double step = alpha * (is_far ? std::clamp(residual, -clip, clip) : residual);
  state->level += trend + step;
  state->trend = static_cast<float>(trend + kBeta * step);
  const double share = is_confirmed ? 1 : is_far ? 0 : gamma;
  *kept = Keep(seasonal + share * (residual - step), is_up, is_far && !is_confirmed);
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
  // The usual step from slot to slot is all that tells an outlier of this season from the first
  // residual.
  std::vector<float> steps;
  float before = std::numeric_limits<float>::quiet_NaN();
  for (uint32_t k = 0; k < slots_; ++k) {
    if (std::isnan(season[k])) continue;
    if (!std::isnan(before)) steps.push_back(std::abs(season[k] - before));
    before = season[k];
  }
  if (steps.empty()) return;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  state->sigma = *middle;
}

// Goes on by slots without a value. After a season without one, the next value sets the level.
void SeasonModel::Advance(uint32_t slots, SeriesState* state) const {
  if (slots >= slots_) state->run = SeriesState::kAnchor;
  if (model_ == ForecastModel::kSeasonalNaive) return;
  const double damping = std::pow(kPhi, slots);
  state->level += state->trend * kPhi * (1 - damping) / (1 - kPhi);
  state->trend = static_cast<float>(state->trend * damping);
}

// Learns how far the values of a slot that is over were from their forecast, before there is a
// sigma to trust.
void SeasonModel::Gather(uint32_t points, SeriesState* state) const {
  const double root = state->high / std::sqrt(points);
  const double largest = -state->low;
  const uint32_t slots = state->learned;
  state->high = 0;
  if (slots % kStartGroup == 0) {
    state->low = static_cast<float>(-root);
    return;
  }
  AddSquare(std::min(root, largest), slots, state);
  state->low = static_cast<float>(-std::max(root, largest));
  if (slots % kStartGroup < kStartGroup - 1) return;
  AddSquare(std::min(-double{state->low}, kClip * state->sigma), slots + 1, state);
  state->low = 0;
}

// Begins with the quantiles of a normal distribution.
void SeasonModel::EndStart(SeriesState* state) const {
  if (state->learned % kStartGroup != 0) {
    AddSquare(std::min(-double{state->low}, kClip * state->sigma), state->learned, state);
  }
  state->high = static_cast<float>(kNormalHigh * state->sigma);
  state->low = -state->high;
}

// Adds a residual, or the root mean square of some, to the mean over `count` of them.
void SeasonModel::AddSquare(double root, double count, SeriesState* state) const {
  const double variance = double{state->sigma} * state->sigma;
  const double rate = 1 / std::min<double>(count, std::max(kSpreadSlots, 4 * slots_));
  state->sigma = static_cast<float>(std::sqrt(variance + rate * (root * root - variance)));
}

// Learns how far a single value is from its forecast.
void SeasonModel::Spread(double residual, double clip, bool clips, SeriesState* state) const {
  const double usual = std::max<uint16_t>(state->usual, 1);
  const double seen = (state->age - slots_) * usual + state->points;
  const double count = std::min(seen, std::max(kSpreadSlots, 4 * slots_) * usual);
  const double size = clips ? std::min(std::abs(residual), clip) : std::abs(residual);
  const double variance = double{state->sigma} * state->sigma;
  state->sigma = static_cast<float>(std::sqrt(variance + (size * size - variance) / count));
  // Stochastic approximation (Robbins and Monro, 1951): each value moves a quantile a little
  // toward the side on which there are too many.
  const double step = std::min(kQuantileStep / count, 1.0) * state->sigma;
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
