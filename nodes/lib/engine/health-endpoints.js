'use strict';
// GET /seganet/healthz and /seganet/readyz, which need no login: for service managers, containers and load balancers.

const { liveness, readiness, LoopDelay } = require('../health');

/** Answers are computed at most this often, so that a flood of requests costs little. */
const FRESH_MS = 250;

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./join').EngineNode} EngineNode
 * @typedef {import('../health').EngineHealth} EngineHealth
 * @typedef {import('../health').Verdict} Verdict
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<EngineNode>} engines all deployed engines, running or not
 * @returns {import('../health/loop-delay').LoopDelay} the measurement of the event loop, which runs as long as the process
 */
function addHealthEndpoints(RED, engines) {
  const loop = new LoopDelay();
  /** @type {{ at: number, views: EngineHealth[] }} */
  let last = { at: -Infinity, views: [] };
  const views = () => {
    const now = performance.now();
    if (now - last.at > FRESH_MS) last = { at: now, views: [...engines].map(healthOf) };
    return last.views;
  };
  RED.httpAdmin.get(
    '/seganet/healthz',
    answer(
      () => liveness(views(), loop.maxMs),
      // A load balancer that gets 404 sends no new connections, and keeps the others (HAProxy: disable-on-404).
      ({ draining }) => draining === '404' && views().some(({ isDraining }) => isDraining)
    )
  );
  RED.httpAdmin.get(
    '/seganet/readyz',
    answer(({ exclude }) => readiness(views(), exclude === undefined ? [] : String(exclude).split(',')))
  );
  return loop;
}

/**
 * @param {(query: Record<string, unknown>) => Verdict} judge throws RangeError for a wrong query
 * @param {(query: Record<string, unknown>) => boolean} [isGone] true: the status is 404
 */
function answer(judge, isGone = () => false) {
  return (/** @type {any} */ request, /** @type {any} */ response) => {
    /** @param {number} status @param {object} body */
    const end = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(`${JSON.stringify(body)}\n`);
    };
    try {
      const verdict = judge(request.query);
      end(isGone(request.query) ? 404 : verdict.ok ? 200 : 503, verdict);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      end(400, { error: error.message });
    }
  };
}

/** @param {{ host?: EngineHost | null }} engine @returns {EngineHealth} */
function healthOf({ host }) {
  if (!host || host.closing) {
    const nothing = { workers: [], uplinkThreads: [], logThread: -1, listeners: [], uplinks: [] };
    return {
      ...nothing,
      isRunning: false,
      hasPlan: false,
      stranded: 0,
      log: null,
      replicas: null,
      standby: 'no',
      isDraining: false
    };
  }
  const { members, log } = host;
  const links = [...host.uplinks.links.keys()];
  return {
    isRunning: true,
    hasPlan: host.plan !== null,
    workers: (host.engine.stats().placement?.workers ?? []).map(({ silentMs }) => silentMs),
    uplinkThreads: [...links, host.uplinks.tenants].flatMap((link) => link?.silentMs ?? []),
    logThread: log?.silentMs ?? -1,
    listeners: members.flatMap(({ accepts }) => accepts ?? []),
    stranded: members.filter(({ kind, uplink }) => kind === 'uplink' && !uplink).length,
    log: log && { state: log.state.state, trouble: log.trouble() },
    standby: log?.standby ?? 'no',
    replicas: host.replicas?.state ?? null,
    isDraining: host.handover.isOn,
    uplinks: links.map(({ state }) => state)
  };
}

module.exports = { addHealthEndpoints, healthOf };
