'use strict';

const dns = require('node:dns/promises');
const fs = require('node:fs');
const net = require('node:net');
const { needRights } = require('../../common/rights');
const { EXIT } = require('../../common/network-error');
const { change, view } = require('../path-steps-run');
const { HintListener } = require('../probe-hints');
const { QualityWatch, inspector } = require('../quality-watch');
const { Monitor } = require('../route-monitor');
const { prepareAll, refuse } = require('../prepare-paths');
const { prober } = require('../path-probe');
const { hintSocket, locked } = require('../paths-state');
const { removeStatus, writeStatus } = require('../paths-status-file');
const { Watcher } = require('../path-watcher');
const { warningsOf } = require('./show');

/** A name's address may change. */
const RESOLVE_MS = 60_000;

/** The broker's IPv4 address. The last one is kept while no path answers. */
class Resolver {
  #host;
  #askedAt;
  #isAsking;

  /** @param {string} host */
  constructor(host) {
    this.#host = host;
    this.address = net.isIPv4(host) ? host : '';
    this.why = `looking up ${host}`;
    this.#askedAt = -Infinity;
    this.#isAsking = false;
  }

  /** @param {number} now */
  refresh(now) {
    const isDue = now - this.#askedAt > (this.address === '' ? 1000 : RESOLVE_MS);
    if (net.isIPv4(this.#host) || this.#isAsking || !isDue) return;
    this.#askedAt = now;
    this.#isAsking = true;
    dns
      .lookup(this.#host, { family: 4 })
      .then(({ address }) => (this.address = address))
      .catch(({ code }) => (this.why = `${this.#host} cannot be resolved: ${code}`))
      .finally(() => (this.#isAsking = false));
  }
}

/**
 * @param {import('./usage').Options} options
 * @param {() => number} now
 * @param {(question: import('../path-probe').Question) => Promise<import('../path-probe').Answer>} ask
 */
function asker({ broker }, now, ask) {
  if (!broker) return null;
  const resolver = new Resolver(broker.host);
  return async (/** @type {import('../path-selection').Path} */ path, /** @type {number} */ timeoutMs) => {
    resolver.refresh(now());
    if (resolver.address === '') return { ok: null, why: resolver.why };
    const { interface: device, address } = path;
    return ask({ host: resolver.address, port: broker.port, device, address, timeoutMs });
  };
}

/** @param {boolean} json @param {import('../../../base/cli/cli-output').Output} output */
const logger =
  (json, output) => (/** @type {string} */ path, /** @type {string} */ state, /** @type {string} */ why) => {
    const time = new Date().toISOString();
    output.line(
      json ? JSON.stringify({ time, path, state, why }) : `${path === '' ? 'paths' : path}: ${state}: ${why}`
    );
    void output.flush();
  };

/**
 * @param {string} directory
 * @param {InstanceType<typeof Watcher>} watcher
 * @param {import('../../../base/cli/cli-output').Output} output
 */
async function listenForHints(directory, watcher, output) {
  const file = hintSocket(directory);
  try {
    const hints = new HintListener(file, (hint) => watcher.suspect(hint));
    await hints.start();
    return hints;
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const remedy = 'Only probes detect a silent path; a shorter --state-dir may help.';
    await output.note(`seganet-paths: Warning: cannot listen on ${file} (${message}). ${remedy}`);
    return null;
  }
}

/** @param {string} file */
function isReadable(file) {
  try {
    fs.accessSync(file, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {import('./usage').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code, after a signal
 */
async function watch(options, output) {
  needRights('watch', 'routes and MPTCP endpoints');
  const { stateDir, broker, everyMs, timeoutMs, limits, autoBackup: acts, signals } = options;
  return locked(stateDir, async () => {
    const ended = new Promise((resolve) =>
      ['SIGTERM', 'SIGINT'].forEach((name) => process.once(name, resolve))
    );
    const { prepared, refusals } = await prepareAll(options, true);
    refuse(refusals, options.force);
    for (const warning of warningsOf(prepared)) await output.note(`seganet-paths: Warning: ${warning}`);
    const log = logger(options.json, output);
    if (signals !== '' && !isReadable(signals)) {
      await output.note(
        `seganet-paths: Warning: ${signals} cannot be read, so signals are unknown until it can. See --signals.`
      );
    }
    if (prepared.paths.length === 0) log('', 'waiting', 'there is no default route yet');
    const { ask, isUrgent } = prober();
    if (broker && !isUrgent) {
      await output.note(
        'seganet-paths: Warning: the native module cannot be loaded, so probes wait behind other packets. Use --timeout 2000 on a full line.'
      );
    }
    const now = () => performance.now();
    const watcher = new Watcher(
      {
        view: () => view(options.paths, stateDir),
        change: (next) => change(next, stateDir),
        ask: asker(options, now, ask),
        qualityWatch: new QualityWatch({ limits, everyMs, acts, inspect: inspector(signals) }),
        report: (mptcp, paths) =>
          writeStatus(stateDir, {
            version: 1,
            pid: process.pid,
            updated: new Date().toISOString(),
            broker: broker ? `${broker.host}:${broker.port}` : '',
            mptcp,
            paths
          }),
        log,
        now,
        calendar: Date.now
      },
      { probes: broker !== null, everyMs, timeoutMs }
    );
    const monitor = new Monitor({
      event: (event) => watcher.event(event),
      started: () => void watcher.work(),
      ended: (why) => log('', 'failed', why)
    });
    await watcher.start();
    monitor.start();
    // Behind a full queue, a fast probe without priority would find every path dead.
    const hints = broker && isUrgent ? await listenForHints(stateDir, watcher, output) : null;
    await ended;
    await hints?.stop();
    monitor.stop();
    await watcher.stop();
    removeStatus(stateDir);
    return EXIT.OK;
  });
}

module.exports = { watch };
