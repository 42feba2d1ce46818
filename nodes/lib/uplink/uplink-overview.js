'use strict';

// Combines the views of the sessions into the reported state of an uplink.

/** @typedef {ReturnType<import('./session-group').Group['view']>} View */

/**
 * Worst first. A refusal needs a human decision. A stall is worse than a first attempt, which has not failed yet, and
 * better than no connection.
 */
const ORDER = ['refused', 'disconnected', 'reconnecting', 'stalled', 'connecting', 'connected', 'stopped'];
const SUMS = /** @type {const} */ ([
  'inflight',
  'backlogInflight',
  'published',
  'acknowledged',
  'redelivered',
  'unmatched',
  'failed',
  'deadLetters',
  'refusals',
  'connects',
  'bytesAcked',
  'stalls'
]);
/** No broker answered, which says nothing about client ids: the broker or the network is starting. */
const NOT_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH'
]);
const ONE_SESSION =
  ' Another session of this gateway is connected: if the broker allows one client id only, choose one session ("Sessions: all") in the broker node.';

/**
 * @param {View[]} views of all sessions, the most urgent first
 * @param {object} [options]
 * @param {boolean} [options.mayBeOne] the user may choose a single session
 * @param {import('./second-session').AlarmsView} [options.alarms] of the session that sends copies of class 1
 */
function overview(views, { mayBeOne = true, alarms } = {}) {
  const worst = views.reduce((a, b) => (ORDER.indexOf(b.state) < ORDER.indexOf(a.state) ? b : a));
  /** @param {'oldestMs' | 'quotaWait'} name */
  const most = (name) => Math.max(...views.map((view) => view[name]));
  const sums = Object.fromEntries(
    SUMS.map((name) => [name, views.reduce((sum, view) => sum + view[name], 0)])
  );
  // A temporary refusal by the broker is not a state of its own.
  const shown = worst.code === '' ? (views.find(({ code }) => code !== '') ?? worst) : worst;
  if (alarms) sums.bytesAcked += alarms.bytesAcked;
  const isQuiet = worst.state === 'connected' && (shown.code === '' || shown.isNote);
  return {
    state: worst.state,
    ...(isQuiet && alarms && alarms.state !== 'connected'
      ? { code: 'ALARMS_ONE_PATH', reason: onePath(alarms) }
      : reasonOf(shown, views, mayBeOne)),
    rttMs: views[0].rttMs,
    oldestMs: most('oldestMs'),
    quotaWait: most('quotaWait'),
    isStallRepeating: views.some(({ isStallRepeating }) => isStallRepeating),
    .../** @type {Record<typeof SUMS[number], number>} */ (sums),
    sessions: views.map((view) => sessionOf(view, views)),
    ...(alarms && { alarms })
  };
}

/** @param {import('./second-session').AlarmsView} alarms */
function onePath({ reason }) {
  const one = 'Alarms are sent over one path';
  return reason.startsWith(one) ? reason : `${one}: ${reason || 'the second session is connecting.'}`;
}

/** @param {View} view @param {View[]} views @param {boolean} mayBeOne */
function reasonOf(view, views, mayBeOne) {
  const { code, reason } = view;
  // A reason that applies to all sessions needs no list of classes.
  if (reason === '' || view.isNote || !views.some((one) => one !== view && isConnected(one)))
    return { code, reason };
  return { code, reason: `${namesOf(view.classes)}: ${reason}${mayBeOne ? adviceOn(view, views) : ''}` };
}

/**
 * Returns advice for a broker that accepts one session and not another: it may allow only one client id.
 * @param {View} view
 * @param {View[]} views
 */
function adviceOn(view, views) {
  if (view.code.startsWith('PUBACK')) return '';
  const isTurnedAway =
    view.state === 'refused' ||
    (view.state === 'disconnected' && !view.everConnected && !NOT_REACHED.has(view.code));
  return isTurnedAway && views.some(isConnected) ? ONE_SESSION : '';
}

/** @param {View} view */
function isConnected({ state }) {
  return state === 'connected';
}

/** @param {number[]} classes in ascending order */
function namesOf(classes) {
  if (classes.length === 1) return `Class ${classes[0]} waits`;
  /** @type {[number, number][]} */
  const runs = [];
  for (const one of classes) {
    const run = runs.at(-1);
    if (run && run[1] === one - 1) run[1] = one;
    else runs.push([one, one]);
  }
  return `Classes ${runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(', ')} wait`;
}

/** @param {View} view @param {View[]} views */
function sessionOf(view, views) {
  return {
    group: view.group,
    classes: view.classes,
    clientId: view.clientId,
    ...(view.url && { url: view.url }),
    state: view.state,
    code: view.code,
    reason: view.reason + adviceOn(view, views),
    rttMs: view.rttMs,
    oldestMs: view.oldestMs,
    inflight: view.inflight,
    express: view.express,
    backlogInflight: view.backlogInflight,
    published: view.published,
    acknowledged: view.acknowledged,
    connects: view.connects,
    certificateEnds: view.certificateEnds,
    bytesAcked: view.bytesAcked,
    batchBytes: view.batchBytes,
    busyMs: view.busyMs,
    busyBytes: view.busyBytes,
    priority: view.priority,
    dscp: view.dscp,
    localAddress: view.localAddress,
    ...(view.paths && { transport: view.transport, paths: view.paths })
  };
}

module.exports = { overview };
