'use strict';
// Reads the counters of the links and the gateway's uplink status ten times per second.

const { sleep } = require('../runs/stage');

const EVERY_MS = 100;

/**
 * Returns the status without fields that change without an event.
 * @param {any} uplink of the admin API
 */
function statusOf({ state, code, reason, sessions }) {
  const transports = new Set(sessions.map((/** @type {any} */ { transport }) => transport ?? ''));
  return {
    state,
    code,
    reason,
    transport: [...transports].join(', '),
    paths: (sessions[0]?.paths ?? []).map((/** @type {any} */ { name }, /** @type {number} */ i) => ({
      name,
      role: sessions[0].paths[i].role,
      state: sessions[0].paths[i].state,
      why: sessions[0].paths[i].why,
      address: sessions[0].paths[i].address,
      /** One per session. */
      subflows: sessions.map((/** @type {any} */ session) => session.paths?.[i]?.subflows ?? 0)
    }))
  };
}

/**
 * Returns the payload that the kernel has sent on each path, for all sessions, as reported by the gateway.
 * @param {any} uplink
 * @returns {Record<string, number>}
 */
function carriedOf({ sessions }) {
  /** @type {Record<string, number>} */
  const carried = {};
  for (const { paths = [] } of sessions) {
    for (const { name, bytesSent } of paths) {
      carried[name] = (carried[name] ?? 0) + Math.max(0, bytesSent);
    }
  }
  return carried;
}

class Observer {
  /** @param {import('./lab').PathsLab} lab @param {import('../harness/bench-gateway').BenchGateway} [gateway] */
  constructor(lab, gateway) {
    this.lab = lab;
    this.gateway = gateway;
    this.seen = {
      /** Changes of the status. @type {({ms: number} & ReturnType<typeof statusOf>)[]} */
      statuses: [],
      /** Bytes sent on each link so far. @type {{at: number, p1: {tx: number}, p2: {tx: number}}[]} */
      bytes: [],
      /** Payload by path, as counted by the kernel. @type {{ms: number, carried: Record<string, number>}[]} */
      carried: [],
      /** The longest stall of this process in ms, and its time. Gaps cannot be measured more accurately than that. */
      stall: { ms: 0, at: 0 }
    };
    /** The latest status as JSON. */
    this.said = '';
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** @type {Promise<void> | undefined} */
    this.asking = undefined;
  }

  /**
   * Waits until each session has `count` paths, at most 5 s. The run then starts with the existing ones.
   * @param {number} count
   */
  async whole(count) {
    const deadline = Date.now() + 5000;
    while (this.gateway && Date.now() < deadline) {
      const stats = await this.gateway.stats();
      const sessions = stats?.uplinks?.[0]?.sessions ?? [];
      const isWhole = (/** @type {any} */ { state, paths = [] }) =>
        state === 'connected' &&
        paths.filter((/** @type {any} */ { subflows }) => subflows > 0).length >=
          Math.min(count, paths.length);
      if (sessions.length > 0 && sessions.every(isWhole)) return;
      await sleep(EVERY_MS);
    }
  }

  /** @param {number} startMs of the load */
  start(startMs) {
    let due = Date.now();
    const look = () => {
      const at = Date.now() - startMs;
      const late = Date.now() - due;
      if (late > this.seen.stall.ms) this.seen.stall = { ms: late, at };
      due = Date.now() + EVERY_MS;
      const tx = (/** @type {1 | 2} */ i) => ({ tx: this.lab.counters(i).txBytes });
      this.seen.bytes.push({ at, p1: tx(1), p2: tx(2) });
      this.asking ??= this.#ask(startMs).finally(() => (this.asking = undefined));
    };
    look();
    this.timer = setInterval(look, EVERY_MS);
  }

  /** @param {number} startMs */
  async #ask(startMs) {
    const stats = await this.gateway?.stats();
    const uplink = stats?.uplinks?.[0];
    if (!uplink) return;
    const ms = Date.now() - startMs;
    this.seen.carried.push({ ms, carried: carriedOf(uplink) });
    const status = statusOf(uplink);
    const text = JSON.stringify(status);
    if (text !== this.said) this.seen.statuses.push({ ms, ...status });
    this.said = text;
  }

  async stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    await this.asking;
  }
}

module.exports = { Observer };
