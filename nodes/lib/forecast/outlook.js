'use strict';
// What forecast nodes expect of the last values, for the status page: a band behind the line of the last hour and a
// little ahead, the latest anomalies, and whether the forecast is trusted.

const { parsePath } = require('../series');

const STEP_MS = 60000;
/** Steps of the line that a value has, the last one of which is now, and steps ahead of it. */
const PAST = 60;
const AHEAD = 15;
/** Values of one answer that have a forecast; a page shows fewer. */
const MOST_ROWS = 24;
const MOST_ANOMALIES = 60;
/** As SeasonModel in native/core/forecast/season_model.h. */
const TRUSTED_SEASONS = 3;
const TRUSTED_SLOTS = 24;
/** The engine's line leaves these out. */
const TIMES = new Set(['ts', 'time', 'timestamp']);

/**
 * @typedef {import('../../../native/index.js').ForecastView} ForecastView
 * @typedef {{ path: string, slots: number }} Season of a stage
 * @typedef {{ engine: Pick<import('../../../native/index.js').Engine, 'lookAtForecasts'>,
 *   members: { id: string, stage: number, kind: string, node: { name?: string } }[] }} Host
 * @typedef {{ device: string, topic: string, payload?: string, forecast?: object }} Row
 */

/** Of the stages of each host. @type {WeakMap<object, Map<number, Season>>} */
const seasons = new WeakMap();

/** Call it when a plan with the stage is in use. @param {object} host @param {number} stage @param {Season} season */
function noteSeason(host, stage, { path, slots }) {
  const ofHost = seasons.get(host) ?? new Map();
  seasons.set(host, ofHost.set(stage, { path, slots }));
}

/**
 * Adds `forecast` to rows of last values that a forecast node knows: the first one in the order of the nodes.
 * @param {Host} host
 * @param {Row[]} rows
 * @param {number} [now] ms since 1970
 */
function addOutlooks(host, rows, now = Date.now()) {
  const from = now - (now % STEP_MS) - (PAST - 1) * STEP_MS;
  let left = rows.slice(0, MOST_ROWS);
  for (const { id, stage, kind, node } of host.members) {
    const season = kind === 'forecast' && seasons.get(host)?.get(stage);
    if (!season || left.length === 0) continue;
    const keys = left.map(({ device, topic }) => ({ device, topic }));
    const views = host.engine.lookAtForecasts(stage, keys, from, STEP_MS, PAST + AHEAD) ?? [];
    for (const [i, view] of views.entries()) {
      if (view)
        left[i].forecast = { node: id, name: node.name ?? '', ...outlookOf(view, season, left[i], from) };
    }
    left = left.filter(({ forecast }) => !forecast);
  }
}

/**
 * @param {ForecastView} view
 * @param {Season} season
 * @param {Row} row
 * @param {number} from ms since 1970
 */
function outlookOf({ doubt, bands, anomalies, ...view }, { path, slots }, row, from) {
  const { expected = null, low = null, high = null } = bands[PAST - 1] ?? {};
  const shown = {
    path,
    trusted: doubt === '',
    doubt,
    seasons: view.seasons,
    seasonsNeeded: TRUSTED_SEASONS,
    slots: view.learned,
    slotsNeeded: Math.max(slots, TRUSTED_SLOTS),
    expected: rounded(expected),
    low: rounded(low),
    high: rounded(high)
  };
  // The line shows another number of the payload.
  if (!isFirstNumber(row.payload, path)) return shown;
  return {
    ...shown,
    from,
    stepMs: STEP_MS,
    bands: bands.map((band) => [rounded(band.expected), rounded(band.low), rounded(band.high)]),
    anomalies: anomalies
      .filter(({ ts }) => ts >= from)
      .sort((a, b) => a.ts - b.ts)
      .slice(-MOST_ANOMALIES)
  };
}

/** @param {number | null} number */
const rounded = (number) => (number === null ? null : Number(number.toPrecision(6)));

/**
 * @param {string | undefined} payload
 * @param {string} path
 * @returns {boolean} true: the number at the path is the first one of the payload, which the line of a value shows
 */
function isFirstNumber(payload, path) {
  try {
    const found = firstNumber(JSON.parse(payload ?? ''), []);
    return JSON.stringify(found) === JSON.stringify(parsePath(path).map(String));
  } catch {
    return false;
  }
}

/**
 * @param {unknown} value
 * @param {string[]} keys of it
 * @returns {string[] | null} keys of its first number
 */
function firstNumber(value, keys) {
  if (typeof value === 'number') return keys;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const found = typeof inner !== 'object' && TIMES.has(key) ? null : firstNumber(inner, [...keys, key]);
    if (found) return found;
  }
  return null;
}

module.exports = { addOutlooks, noteSeason };
