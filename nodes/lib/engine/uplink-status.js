'use strict';
// The status of an uplink node: the state of its broker, and the records that wait for it.

const { odd, classList } = require('./session-summary');
const { classNames } = require('../base/classes');
const { shorten, rate } = require('../base/status');
const { shortReason } = require('../base/texts/short-reasons');
const { sum } = require('./drain');

/**
 * @typedef {import('./modules').UplinkState} UplinkState
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {import('../base/status').Shown} Shown
 */

/**
 * @param {UplinkState} state
 * @param {EngineStats} stats
 * @param {boolean} alone false if the engine has several brokers, because its counters are not per broker
 * @returns {Shown}
 */
function uplinkShown(state, stats, alone) {
  const { state: name } = state;
  if (name === 'stopped') return { fill: 'grey', shape: 'ring', text: 'stopped' };
  const tail = alone ? waiting(stats) : '';
  const session = odd(state);
  if (session) return sessionShown(session, tail);
  if (name === 'connected') {
    if (state.quotaWait) return { fill: 'yellow', shape: 'ring', text: shorten('refused for now', tail) };
    const backlog = alone ? sum(stats.backlogRecords) : 0;
    return { fill: 'green', shape: 'dot', text: withRatio(connected(state, stats.latency, backlog), state) };
  }
  if (name === 'connecting') return { fill: 'yellow', shape: 'ring', text: shorten('connecting', tail) };
  return { fill: 'red', shape: 'ring', text: shorten(trouble(state), tail) };
}

/**
 * Status of an uplink node with wrong settings, whose records wait.
 * @param {string} why
 * @param {EngineStats} stats
 * @param {boolean} alone see uplinkShown
 * @returns {Shown}
 */
function heldShown(why, stats, alone) {
  return { fill: 'red', shape: 'ring', text: shorten(why, alone ? waiting(stats) : '') };
}

/**
 * Status of an uplink that is connected for some classes only.
 * @param {import('./modules').SessionState} session one that is not connected
 * @param {string} tail
 * @returns {Shown}
 */
function sessionShown(session, tail) {
  const isOnItsWay = session.state === 'connecting';
  const text = `classes ${classList(session.classes)}: ${isOnItsWay ? 'connecting' : trouble(session)}`;
  return { fill: isOnItsWay ? 'yellow' : 'red', shape: 'ring', text: shorten(text, tail) };
}

/** @param {Pick<UplinkState, 'state' | 'code' | 'reason' | 'oldestMs'>} state */
function trouble({ state, code = '', reason = '', oldestMs = -1 }) {
  if (state === 'stalled') return oldestMs > 0 ? `stalled ${Math.round(oldestMs / 1000)} s` : 'stalled';
  const words = shortReason(code);
  if (words) return words;
  if (state === 'refused') return reason || 'refused';
  const cause = code || reason;
  return cause ? `disconnected: ${cause}` : 'disconnected';
}

/**
 * Status with each class's median time from arrival to the cloud's PUBACK: connected · critical 2 ms · normal 430 ms.
 * If there is a backlog, a message about paths or URLs, or no room, only the most urgent class is shown.
 * @param {UplinkState} state
 * @param {EngineStats['latency']} latency
 * @param {number} backlog records
 */
function connected({ rttMs = 0, code = '', sessions = [], url = 1, urls = [] }, latency, backlog) {
  const place = url > 1 ? ` · URL ${url} of ${urls.length}` : '';
  const note = `${place}${ways(code, sessions)}`;
  const medians = latency.map((row) => ` · ${nameOf(row.class)} ${Math.ceil(row.p50)} ms`);
  if (medians.length === 0 && rttMs > 0) medians.push(` · ${Math.ceil(rttMs)} ms`);
  const first = backlog > 0 && note ? '' : (medians[0] ?? '');
  const figures = backlog > 0 || note ? first : medians.join('');
  const tail = backlog > 0 ? ` · backlog ${rate(backlog)}` : '';
  const down = note && lost(sessions);
  const texts = [
    `${note}${down}${figures}${tail}`,
    `${note}${down}${first}${tail}`,
    `${note}${down}${tail}`,
    `${note}${first}${tail}`
  ];
  const text = texts.map((each) => `connected${each}`).find((each) => shorten(each) === each);
  return text ?? shorten(`connected${note}`, tail);
}

/**
 * Adds the size of compressed batches to a status, if there is room.
 * @param {string} text
 * @param {UplinkState} state
 * @returns {string} such as "connected · compressed to 17 % (metered)"
 */
function withRatio(text, { compressedFrom = 0, compressedTo = 0, compressing }) {
  if (compressedFrom === 0 || compressing?.length === 0) return text;
  const percent = Math.max(1, Math.round((100 * compressedTo) / compressedFrom));
  const ratio = `${text} · compressed to ${percent} %`;
  const why = compressing?.filter((each) => each !== 'chosen').join(', ');
  const texts = why ? [`${ratio} (${why})`, ratio] : [ratio];
  return texts.find((each) => shorten(each) === each) ?? text;
}

/**
 * Describes the paths of an uplink: why it has only one, or how many it has.
 * @param {string} code
 * @param {import('./modules').SessionState[]} sessions
 * @returns {string} such as " · 1 of 2 paths"
 */
function ways(code, sessions) {
  if (code === 'NO_MPTCP') return ' · fell back to TCP';
  if (code === 'NO_MPTCP_HERE') return ' · TCP, no MPTCP here';
  if (code === 'ALARMS_ONE_PATH') return ' · alarms over one path';
  const all = sessions.flatMap(({ paths = [] }) => paths);
  const count = new Set(all.map(({ name }) => name)).size;
  const used = new Set(all.filter(({ subflows }) => subflows > 0).map(({ name }) => name)).size;
  return count > 1 ? ` · ${used} of ${count} paths` : '';
}

/**
 * @param {import('./modules').SessionState[]} sessions
 * @returns {string} the path that is down, such as " · wwan0 down"
 */
function lost(sessions) {
  const down = sessions.flatMap(({ paths = [] }) => paths).filter(({ state }) => state === 'down');
  const names = new Set(down.map(({ name }) => name));
  return names.size === 1 ? ` · ${[...names][0]} down` : '';
}

/** @param {number} recordClass */
const nameOf = (recordClass) => (recordClass > 4 ? `class ${recordClass}` : classNames[recordClass]);

/** @param {EngineStats} stats @returns {string} such as " · 12.3 k kept" */
function waiting({ heldRecords, storedRecords }) {
  const [held, kept] = [sum(heldRecords), sum(storedRecords)];
  if (kept > 0) return ` · ${rate(kept)} kept`;
  return held > 0 ? ` · ${rate(held)} in memory` : '';
}

exports.uplinkShown = uplinkShown;
exports.heldShown = heldShown;
