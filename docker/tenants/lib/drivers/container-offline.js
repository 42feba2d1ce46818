'use strict';
// Starts a tenant from a copy of its volume in a container without a network.

const crypto = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const { identityOf, livingStat } = require('../base/processes');

const READY_MS = 60_000;
const EVERY_MS = 100;
/** Without root, the keeper cannot look into the network of a container. The container must have run for this time. */
const STEADY_MS = 10_000;
const STOP_MS = 30_000;
/** Additional time for the engine itself. */
const STOP_SLACK_MS = 30_000;
/** Label of these containers: the process that started it, as JSON. */
const CHECK_LABEL = 'seganet.check';

/** @typedef {typeof import('../backup/offline').look} Look whether a tenant is healthy */

const ownLabel = () => JSON.stringify(identityOf(process.pid));

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
  const Labels = { ...body.Labels, [CHECK_LABEL]: ownLabel() };
  const request = { ...body, Labels, HostConfig, NetworkingConfig: {} };
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
  const stop = async (mostMs = STOP_MS) => {
    const query = `t=${Math.ceil(mostMs / 1000)}`;
    const limitMs = mostMs + STOP_SLACK_MS;
    await client.find('POST', `/containers/${name}/stop?${query}`, { limitMs }).catch(() => {});
    await remove();
  };
  return { health, stop };
}

/**
 * Removes the containers whose process was killed.
 * @param {import('./engine-client').EngineClient} client
 * @param {string[]} labels that they have
 */
async function removeContainers(client, labels) {
  const filters = encodeURIComponent(JSON.stringify({ label: [...labels, CHECK_LABEL] }));
  const found = await client.ask('GET', `/containers/json?all=true&filters=${filters}`);
  for (const { Id: id, Labels } of Array.isArray(found) ? found : []) {
    const label = Labels?.[CHECK_LABEL];
    const owner = valueOf(label);
    // livingStat does not count process 1 of a container.
    if (label === ownLabel() || (owner && livingStat(owner))) continue;
    await client.find('DELETE', `/containers/${id}?force=true&v=true`);
  }
}

/** @param {unknown} text @returns {any} null: no JSON */
function valueOf(text) {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}

/** @param {string} line */
const said = (line) => (line ? `; its last output: ${line}` : '');

module.exports = { removeContainers, startContainer };
