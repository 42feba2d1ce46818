'use strict';
// Can the gateway take records from devices and deliver them?

const { check, verdict } = require('./verdict');

/**
 * @typedef {import('./index').EngineHealth} EngineHealth
 * @typedef {import('./index').Uplink} Uplink
 * @typedef {import('./index').Check} Check
 */

const NAMES = /** @type {const} */ (['flows', 'standby', 'listeners', 'log', 'replicas', 'uplink']);
/** Worst first. */
const ORDER = ['refused', 'disconnected', 'reconnecting', 'stalled', 'connecting', 'stopped', 'connected'];
const STALLS =
  'Records stood still although the uplink was up, more than once within ten minutes: see the log of the gateway.';
/** The form of the codes of Node.js and OpenSSL. Other texts may contain names. */
const CODE = /^[A-Z][A-Z0-9_]{1,39}$/;

/**
 * @param {EngineHealth[]} engines all enabled engines of the flow
 * @param {string[]} [excluded] names of checks to leave out
 * @returns {import('./index').Verdict}
 * @throws {RangeError} for an unknown name
 */
function readiness(engines, excluded = []) {
  const unknown = excluded.find((name) => !NAMES.includes(/** @type {any} */ (name)));
  if (unknown !== undefined) throw new RangeError(`exclude must name checks: ${NAMES.join(', ')}.`);
  const running = engines.filter(({ isRunning }) => isRunning);
  const checks = {
    flows: flows(engines),
    ...standby(running),
    listeners: listeners(running),
    log: log(running),
    ...replicas(running),
    uplink: uplink(running)
  };
  return verdict(Object.fromEntries(Object.entries(checks).filter(([name]) => !excluded.includes(name))));
}

/** @param {EngineHealth[]} engines @returns {Check} */
function flows(engines) {
  const down = engines.filter(({ isRunning }) => !isRunning).length;
  if (engines.length === 0) return check('The flow has no enabled engine.');
  if (down > 0) return check(`${down} of ${engines.length} engines are not running: see their status.`);
  const isWaiting = engines.some((engine) => !engine.hasPlan && (engine.standby ?? 'no') === 'no');
  return check(isWaiting ? 'The flows are starting.' : '');
}

/** @param {EngineHealth[]} engines @returns {{ standby?: Check }} none: this gateway has its logs */
function standby(engines) {
  const parts = engines.map((engine) => engine.standby);
  if (parts.includes('unknown')) return { standby: check('The database of the log cannot be reached.') };
  if (!parts.includes('yes')) return {};
  return { standby: check('The gateway is a standby: another one has the log of the pair.') };
}

/** @param {EngineHealth[]} engines @returns {Check} */
function listeners(engines) {
  const all = engines.flatMap((engine) => engine.listeners);
  const open = all.filter(Boolean).length;
  const closed = all.length - open;
  const isDraining = engines.some((engine) => engine.isDraining);
  const refusing = closed > 0 && `${closed} of ${all.length} nodes do not accept devices: see their status.`;
  const reason = isDraining ? 'The gateway hands its devices over to others.' : refusing || '';
  return check(reason, { open, count: all.length });
}

/** @param {EngineHealth[]} engines @returns {Check} */
function log(engines) {
  const logs = engines.flatMap((engine) => engine.log ?? []);
  const opening = logs.some(({ state }) => state === 'opening');
  const trouble = logs.find((each) => each.trouble)?.trouble ?? '';
  const reason = trouble ? `A log cannot be written: ${trouble}.` : opening ? 'A log is being opened.' : '';
  return check(reason, { state: trouble || (opening ? 'opening' : logs.length > 0 ? 'ready' : 'none') });
}

/** @param {EngineHealth[]} engines @returns {{ replicas?: Check }} none: no engine is 'replicated' */
function replicas(engines) {
  const states = engines.flatMap((engine) => engine.replicas ?? []);
  if (states.length === 0) return {};
  const worst = ['waiting', 'degraded'].find((state) => states.includes(/** @type {any} */ (state)));
  const reason =
    worst === 'waiting'
      ? 'No record is acknowledged, because a cloud that must have it is missing.'
      : worst
        ? 'Records are acknowledged from the disk of this machine alone, because a cloud is missing.'
        : '';
  return { replicas: check(reason, { state: worst ?? 'replicated' }) };
}

/** @param {EngineHealth[]} engines @returns {Check} */
function uplink(engines) {
  const stranded = engines.reduce((sum, each) => sum + each.stranded, 0);
  const sessions = engines.flatMap(({ uplinks }) => uplinks).flatMap(sessionsOf);
  const [worst] = sessions.toSorted((a, b) => rank(a.state) - rank(b.state));
  const repeats = engines.flatMap(({ uplinks }) => uplinks).some(({ isStallRepeating }) => isStallRepeating);
  const reason =
    stranded > 0
      ? 'An uplink node has no usable broker: see its status.'
      : (worst && sentence(worst)) || (repeats ? STALLS : '');
  const states = Object.fromEntries(
    ORDER.map((state) => [state, sessions.filter((each) => each.state === state).length])
  );
  const urls = engines.flatMap(({ uplinks }) => uplinks).flatMap(urlOf);
  return check(reason, {
    state: stranded > 0 ? 'stopped' : (worst?.state ?? 'none'),
    sessions: states,
    ...(urls.length > 0 && { urls })
  });
}

/** @param {Uplink} uplink @returns {object[]} where an uplink with several URLs is, and why it left the previous one */
function urlOf({ url, urls, failovers = 0, moved }) {
  if (!urls) return [];
  // CONNACK 135
  const code = (moved?.code ?? '').replace(' ', '_');
  return [{ active: url, count: urls.length, failovers, ...(CODE.test(code) && { code }) }];
}

/** @param {Uplink} uplink @returns {{ state: string, code?: string, oldestMs?: number }[]} */
function sessionsOf({ sessions = [], ...whole }) {
  return sessions.length > 0 ? sessions : [whole];
}

/** @param {{ state: string, code?: string, oldestMs?: number }} session @returns {string} '' if it is connected */
function sentence({ state, code = '', oldestMs = -1 }) {
  const why = CODE.test(code) ? ` (${code})` : '';
  switch (state) {
    case 'connected':
      return '';
    case 'stalled':
      return `The uplink is stalled: it is connected, but the broker has not acknowledged the oldest record${
        oldestMs > 0 ? ` for ${Math.round(oldestMs / 1000)} s` : ''
      }.`;
    case 'refused':
      return `The broker or a setting refuses the uplink${why}: see the status of the uplink node.`;
    case 'connecting':
      return 'The uplink is connecting.';
    case 'stopped':
      return 'The uplink is stopped.';
    default:
      return `The uplink is not connected${why}.`;
  }
}

/** @param {string} state */
function rank(state) {
  const place = ORDER.indexOf(state);
  return place < 0 ? ORDER.indexOf('disconnected') : place;
}

exports.readiness = readiness;
