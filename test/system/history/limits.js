'use strict';
// Memory, disk, and counters that must add up.

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 */

/** Drop reasons for records queued for an uplink; other records were never counted there. */
const QUEUED_DROPS = [
  'refused',
  'closed',
  'uplinkRemoved',
  'expired',
  'deadLetter',
  'corrupt',
  'logFull',
  'memoryFull'
];

/** @param {number[] | undefined} byClass */
const sum = (byClass) => (byClass || []).reduce((total, each) => total + each, 0);

/**
 * Records that the gateway counted as dropped, by class, over all its incarnations.
 * @param {any[]} stats @param {string[]} reasons @param {string[]} [except]
 */
function dropped(stats, reasons, except = []) {
  const result = [0, 0, 0, 0, 0];
  for (const { drops } of stats) {
    for (const reason of reasons.filter((each) => !except.includes(each))) {
      for (let recordClass = 1; recordClass <= 4; recordClass += 1) {
        result[recordClass] += drops?.[reason]?.[recordClass] || 0;
      }
    }
  }
  return result;
}

/** @param {History} history @param {Settings} settings @param {import('./checker').Findings} findings */
function checkLimits(history, settings, findings) {
  const { rssLimitBytes, diskLimitBytes } = settings;
  for (const { time, rssBytes, diskBytes } of history.samples) {
    const when = `at ${(time / 1000).toFixed(1)} s`;
    if (rssLimitBytes && rssBytes > rssLimitBytes) {
      findings.add(
        'memory',
        `${Math.round(rssBytes / 1e6)} MB resident ${when}, ${Math.round(rssLimitBytes / 1e6)} allowed`
      );
    }
    if (diskLimitBytes && diskBytes > diskLimitBytes) {
      findings.add(
        'disk',
        `${Math.round(diskBytes / 1e6)} MB on disk ${when}, ${Math.round(diskLimitBytes / 1e6)} allowed`
      );
    }
  }
}

/**
 * Checks queued + recovered = delivered + held + backlog + dropped, at the quiet end, and that there is no unexpected
 * drop.
 * @param {History} history @param {Settings} settings @param {import('./checker').Findings} findings
 */
function checkCounters(history, settings, findings) {
  const isAllowed = new Set([...settings.allowedDrops, ...settings.harmlessDrops]);
  for (const { drops } of history.stats) {
    for (const [reason, byClass] of Object.entries(drops || {})) {
      if (sum(/** @type {number[]} */ (byClass)) === 0 || isAllowed.has(reason)) continue;
      findings.add(
        'dropped',
        `the gateway counted drops for the reason ${reason}: ${JSON.stringify(byClass)}`
      );
    }
  }
  const last = history.stats[history.stats.length - 1];
  if (!last) return null;
  const { counters, drops } = last;
  const sides = {
    queued: counters.recordsQueued,
    recovered: counters.recordsRecovered || 0,
    delivered: counters.recordsDelivered,
    held: sum(last.heldRecords),
    backlog: sum(last.backlogRecords),
    dropped: QUEUED_DROPS.reduce((total, reason) => total + sum(drops?.[reason]), 0)
  };
  const { queued, recovered, delivered, held, backlog } = sides;
  if (settings.settled && queued + recovered !== delivered + held + backlog + sides.dropped) {
    findings.add('counters', `the sums differ: ${JSON.stringify(sides)}`);
  }
  return sides;
}

module.exports = { checkLimits, checkCounters, dropped };
