'use strict';
// Settings of a forecast node.

const { choice, decimal, flag, integer, recordClass, text } = require('../base/options');
const { shown } = require('../base/values');

/** @typedef {import('../../../native/index.js').ForecastSettings} ForecastSettings */

/** A series: its state, its season, and its share of the index, as in native/core/forecast/series_state.h. */
const SERIES_BYTES = 75;
const SLOT_BYTES = 4;
const MAX_MIB = 256;
const MAX_VALUE = 1e30;

const schema = {
  model: choice(/** @type {const} */ (['holtWinters', 'seasonalNaive']), 'holtWinters'),
  path: text('$'),
  periodS: integer(2, 31622400, 86400),
  slots: integer(2, 1024, 24),
  sigmas: decimal(4, 1, 100),
  least: decimal(0, 0, MAX_VALUE),
  anomalyClass: recordClass(0),
  annotate: flag(false),
  maxSeries: integer(1, 1000000, 10000)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} ForecastValues */

/**
 * Returns the stage's settings.
 * @param {ForecastValues} values
 * @returns {ForecastSettings & Omit<ForecastValues, 'anomalyClass'>}
 * @throws {RangeError} with a sentence
 */
function parseForecast({ anomalyClass, ...values }) {
  const { path, periodS, slots, maxSeries } = values;
  const reason = require('../../../native/index.js').checkPath(path);
  if (reason) throw new RangeError(`The value "${shown(path)}" is not a path (${reason}).`);
  if (periodS < slots) {
    throw new RangeError(
      `A season of ${periodS} s cannot have ${slots} slots: a slot takes a second at least. Choose fewer slots.`
    );
  }
  const bytes = maxSeries * (SERIES_BYTES + slots * SLOT_BYTES);
  if (bytes > MAX_MIB * 2 ** 20) {
    throw new RangeError(
      `${maxSeries} series of ${slots} slots need ${Math.ceil(bytes / 2 ** 20)} MiB; a forecast node may use ${MAX_MIB} MiB. Choose fewer series or slots.`
    );
  }
  return { ...values, forecastClass: /** @type {ForecastSettings['forecastClass']} */ (anomalyClass) };
}

module.exports = { schema, parseForecast };
