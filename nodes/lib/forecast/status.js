'use strict';
// The status of a forecast node.

const { rate } = require('../base/status');

/**
 * Returns the function that makes the status of one node.
 * @param {number} maxSeries
 * @param {() => { done: number, of: number } | null} [progressOf] series that were learned from the history
 */
function shownOf(maxSeries, progressOf = () => null) {
  /**
   * @param {{ recordsIn: number, copiesDropped: number }} rates
   * @param {{ stages: { id: number, forecast?: import('../../../native/index.js').ForecastCounters }[] }} stats
   * @param {{ stage: number, carriage: () => string }} member
   * @returns {import('../base/status').Shown}
   */
  return ({ recordsIn, copiesDropped }, { stages }, member) => {
    if (copiesDropped > 0) {
      return { fill: 'yellow', shape: 'ring', text: `${rate(copiesDropped)}/s copies dropped` };
    }
    const forecast = stages.find(({ id }) => id === member.stage)?.forecast;
    if (!forecast) return { fill: 'grey', shape: 'dot', text: `0/s${member.carriage()}` };
    const { begun, series, points, untrusted, anomalies, refused } = forecast;
    const progress = progressOf();
    if (!begun && progress) {
      return {
        fill: 'yellow',
        shape: 'ring',
        text: `learning from ${progress.done} of ${progress.of} series`
      };
    }
    if (!begun) return { fill: 'yellow', shape: 'ring', text: 'reading what it had learned' };
    if (refused > 0 && series >= maxSeries) {
      return { fill: 'yellow', shape: 'ring', text: `more than ${maxSeries} series` };
    }
    const isLearning = points > 0 && points === untrusted;
    const state = isLearning ? ' · learning' : anomalies > 0 ? ` · ${anomalies} anomalies` : '';
    return {
      fill: recordsIn > 0 ? 'green' : 'grey',
      shape: 'dot',
      text: `${rate(recordsIn)}/s · ${series} series${state}${member.carriage()}`
    };
  };
}

module.exports = { shownOf };
