'use strict';
// Starts a tenant from a copy of its volume in a container without a network.

const crypto = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');

const READY_MS = 60_000;
const EVERY_MS = 100;
/** Without root, nobody can look into the network of a container: it must have run for this time. */
const STEADY_MS = 10_000;
const STOP_S = 30;
const STOP_MS = 60_000;

/** @typedef {typeof import('../backup/offline').look} Look whether a tenant is healthy */

/**
 * @param {import('./engine-client').EngineClient} client
 * @param {any} body of the engine's request for the tenant itself, with `folder` as its volume
 * @param {object} tenant
 * @param {string} tenant.folder the copy of the volume
 * @param {number} tenant.port on which it accepts connections
 * @param {Look} tenant.look
 * @param {(name: string) => Promise<string>} tenant.output last line of a container
 * @param {{ readyMs?: number, steadyMs?: number, isRoot?: boolean }} [options]
 * @returns {Promise<import('../backup/restore').Offline>}
 */
async function startContainer(client, body, { folder, port, look, output }, options = {}) {
  const { readyMs = READY_MS, steadyMs = STEADY_MS, isRoot = process.getuid?.() === 0 } = options;
  const name = `seganet-check-${crypto.randomBytes(6).toString('hex')}`;
  const HostConfig = { ...body.HostConfig, NetworkMode: 'none' };
  const request = { ...body, HostConfig, NetworkingConfig: {} };
  const remove = () => client.find('DELETE', `/containers/${name}?force=true&v=true`);
  await client.ask('POST', `/containers/create?name=${name}`, { body: request });
  try {
    await client.ask('POST', `/containers/${name}/start`);
  } catch (error) {
    await remove().catch(() => {});
    throw error;
  }
  const health = async () => {
    const began = performance.now();
    let reason = '';
    while (performance.now() - began < readyMs) {
      const { State: state } = await client.ask('GET', `/containers/${name}/json`);
      if (!state.Running)
        return { ok: false, reason: `it ended with code ${state.ExitCode}${said(await output(name))}` };
      const seen = await look(folder, { pid: state.Pid, options: [], port });
      if (seen.ok) return { ok: true, reason: '' };
      if (!isRoot && !seen.isGateway && performance.now() - began > steadyMs) return { ok: true, reason: '' };
      reason = seen.reason;
      await sleep(EVERY_MS);
    }
    return {
      ok: false,
      reason: `it was not healthy after ${readyMs / 1000} s: ${reason}${said(await output(name))}`
    };
  };
  const stop = async () => {
    await client.find('POST', `/containers/${name}/stop?t=${STOP_S}`, { limitMs: STOP_MS }).catch(() => {});
    await remove();
  };
  return { health, stop };
}

/** @param {string} line */
const said = (line) => (line ? `; its last output: ${line}` : '');

module.exports = { startContainer };
