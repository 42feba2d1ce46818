'use strict';
// Faults of the gateway's process and its disk. Each leaves a running gateway.

const { FOREVER } = require('../shim');

/** @typedef {import('../context').Context} Context */
/** @typedef {import('../schedule').Fault} Fault */

/** @param {Context} context @param {number} pauseMs */
async function killAndStart(context, pauseMs) {
  context.ending();
  await context.system.kill();
  context.crashed();
  await context.wait(pauseMs);
  context.system.start();
}

/** @param {Context} context @param {Fault} fault */
async function kill(context, fault) {
  for (let i = 0; i < fault.times; i += 1) {
    if (i > 0) await context.wait(fault.gapMs);
    await killAndStart(context, fault.pauseMs);
  }
  await context.system.ready();
}

/** @param {Context} context @param {Fault} fault */
async function killInDeploy(context, fault) {
  const answer = context.system.deploy?.(fault.deploy, fault.changed);
  await context.wait(fault.afterMs);
  await killAndStart(context, fault.pauseMs);
  await answer;
  await context.system.ready();
}

/** @param {Context} context @param {Fault} fault */
async function terminate(context, fault) {
  await context.ending();
  const codes = await context.system.stop(25000);
  if (codes.some((code) => code !== 0))
    context.problem('exit', `exit codes ${codes} after SIGTERM under load`);
  context.crashed();
  await context.wait(fault.pauseMs || 0);
  context.system.start();
  await context.system.ready();
}

/** @param {Context} context @param {Fault} fault */
async function deploy(context, fault) {
  for (let i = 0; i < fault.times; i += 1) {
    if (i > 0) await context.wait(fault.gapMs);
    context.ending();
    const status = await context.system.deploy(fault.deploy, fault.changed);
    if (status < 200 || status > 299)
      context.problem('deploy', `POST /flows (${fault.deploy}) answered ${status}`);
    // The engine is another one: records that the old one sent may be sent again.
    context.crashed();
  }
}

/** @param {Context} context @param {Fault} fault */
async function clock(context, fault) {
  const jump = fault.jumpS || 60 - Date.now() / 1000; // 0: 1970, as at the boot of a machine without a battery
  context.clockShim?.set(jump);
  await context.wait(500);
  if (fault.restart) await kill(context, { ...fault, times: 1, pauseMs: 0 });
  if (fault.back) context.clockShim?.set(0);
}

/** @param {Context} context @param {Fault} fault */
async function writeFailures(context, fault) {
  const { ioShim } = context;
  if (!ioShim) return;
  ioShim.set({ error: fault.error, drop: fault.drop });
  const fields = fault.field === 'mixed' ? ['failWrites', 'failSyncs', 'shortWrites'] : [fault.field];
  const count = fault.burst === 1000 ? FOREVER : fault.burst;
  for (let i = 0; i < fault.times; i += 1) {
    ioShim.set({ [fields[i % fields.length]]: count });
    await context.wait(fault.for / fault.times);
    if (i % 3 === 2) ioShim.calm();
  }
  // The worst moment for a crash: while it still fails.
  if (fault.restart) await killAndStart(context, 0);
  ioShim.calm();
  context.injected += ioShim.get().injected;
  await context.system.ready();
}

/** @param {Context} context @param {Fault} fault */
async function diskFull(context, fault) {
  const { smallDisk } = context;
  if (!smallDisk) return;
  smallDisk.fill();
  await context.wait(fault.for);
  if (fault.restart) await killAndStart(context, 0);
  smallDisk.free();
  await context.system.ready();
}

/**
 * Stops the gateway, copies the blocks on its disk, and continues from the copy. Every PUBACK that a device has was
 * sent before the stop.
 * @param {Context} context @param {Fault} fault
 */
async function powerCut(context, fault) {
  const { image, system } = context;
  if (!image) return;
  context.ending();
  system.signal('SIGSTOP');
  await context.stopped(system);
  image.copy();
  await system.kill();
  context.crashed();
  image.cut();
  await context.wait(fault.pauseMs);
  system.start();
  await system.ready();
}

/** @type {Record<string, (context: Context, fault: Fault) => Promise<void>>} */
const gateway = {
  kill,
  'kill-in-outage': kill,
  'kill-start': kill,
  'kill-deploy': killInDeploy,
  term: terminate,
  deploy,
  clock,
  'write-failures': writeFailures,
  'disk-full': diskFull,
  'power-cut': powerCut
};

module.exports = { gateway };
