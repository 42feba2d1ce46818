'use strict';
// Starts a tenant's process or container, and cleans up after a failed start.

const { isEngineAway, messageOf } = require('../../base/errors');
const { dataProblem } = require('./data-limit');

/** Grace for a tenant that did not become ready. */
const KILL_MS = 2000;

/** @typedef {import('../../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/** @typedef {import('./tenant-tools').Tools} Tools */

/**
 * Starts a tenant from any state. A stopped one waits for its turn first.
 * @param {{ spec: Spec, dataBytes: number }} tenant
 * @param {import('./waking').Rising} rising
 * @param {Pick<Tools, 'driver' | 'starts'>} tools
 * @param {() => void} onTooLarge its data exceed their limit: it must not start again by itself
 * @returns {Promise<'start' | 'unpause' | 'running'>}
 */
async function startTenant(tenant, rising, { driver, starts }, onTooLarge) {
  const { spec } = tenant;
  const { state } = await driver.inspect(spec);
  if (state === 'running') return 'running';
  if (state === 'paused') {
    await driver.unpause(spec);
    return 'unpause';
  }
  const turn = starts.take(rising.priority);
  rising.turn = turn;
  rising.abort.signal.addEventListener('abort', () => turn.giveUp());
  if (rising.abort.signal.aborted) turn.giveUp();
  await turn.granted;
  const problem = await dataProblem(driver, tenant);
  if (problem) {
    onTooLarge();
    throw new Error(problem);
  }
  if (rising.abort.signal.aborted) throw new Error('was stopped');
  await driver.create(tenant.spec);
  await driver.start(tenant.spec);
  return 'start';
}

/**
 * Stops a tenant whose start failed.
 * @param {Spec} spec
 * @param {Pick<Tools, 'driver' | 'graceMs' | 'onEngineAway'>} tools
 * @param {{ error: unknown, isAborted: boolean }} end
 * @returns {Promise<string>} why it failed
 */
async function clearStart(spec, { driver, graceMs, onEngineAway }, { error, isAborted }) {
  const delay = (!isAborted && (await driver.delay?.(spec).catch(() => ''))) || '';
  const output = isAborted ? '' : await driver.logs(spec, 1).catch(() => '');
  const cause = messageOf(error);
  const more = delay && !cause.includes(delay) ? `: ${delay}` : '';
  const reason = `${cause}${more}${output && `; its last output: ${output}`}`;
  await driver
    .stop(spec, isAborted ? graceMs : KILL_MS)
    .catch((problem) => isEngineAway(problem) && onEngineAway());
  return reason;
}

module.exports = { startTenant, clearStart };
