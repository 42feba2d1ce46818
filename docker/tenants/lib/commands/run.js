'use strict';

const fs = require('node:fs');
const os = require('node:os');
const { ApiServer } = require('../api/server');
const { systemClock } = require('../base/clock');
const { backupTenant, nightly } = require('../backup/nightly');
const { removeDrafts } = require('../backup/drafts');
const { recoverVolumes } = require('../backup/restore');
const { CliError, TenantError, messageOf } = require('../base/errors');
const { makeHome, numberOf } = require('../base/home');
const { takeLock } = require('../base/lock');
const { readTenants } = require('../file/tenants-file');
const { isHeld } = require('../life/hold');
const { Keeper } = require('../life/keeper');
const { exposureOf } = require('../net/exposure');
const { TemplateDesk } = require('../templates/desk');
const { recoverFlows } = require('../templates/flow');

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGQUIT']);
/** Longer than the 27 s that a gateway takes for its own orderly end. */
const GRACE = { standard: 30_000, min: 100, max: 600_000 };
const READY = { standard: 60_000, min: 1000, max: 3_600_000 };
const STARTS = { standard: os.availableParallelism(), min: 1, max: 256 };
const WARM = { standard: 0, min: 0, max: 1 << 20 };
const SPARES = { standard: 1, min: 0, max: 64 };
const LEASE_MS = 30_000;

/** @param {any} event @returns {string} a line for people */
function lineOf({ tenant, event, by, class: priority, how, ms, reason, driver, ok, template }) {
  if (event === 'engine')
    return `engine of ${driver}: ${ok ? 'answers again' : 'does not answer; running tenants continue'}`;
  const words = [
    template && `from the template ${template}`,
    event === 'updated' && (ok ? 'has its flow' : 'does not take its flow'),
    by && `for ${by}`,
    event === 'waking' && `(class ${priority})`,
    how && `by ${how}`,
    ms !== undefined && `after ${ms} ms`,
    reason
  ];
  return [`${tenant}: ${event}`, ...words.filter(Boolean)].join(' ');
}

/**
 * Asks the drivers of tenants. One that cannot be used, or whose engine is away, answers nothing.
 * @template T
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec[]} specs
 * @param {import('./index').Context['driver']} driver
 * @param {(own: import('../drivers/driver').Driver, theirs: import('../../../../nodes/lib/tenants/file/schema').Spec[]) => Promise<T[] | void> | undefined} ask theirs: its tenants
 * @returns {Promise<T[]>}
 */
async function eachDriver(specs, driver, ask) {
  const names = [...new Set(specs.map((spec) => spec.driver))];
  const outcomes = await Promise.allSettled(
    names.map(async (name) =>
      ask(
        driver(name),
        specs.filter((spec) => spec.driver === name)
      )
    )
  );
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []));
}

/**
 * Resolves at the first signal, or at the end of standard input if that is wanted. More signals change nothing: a
 * terminal, npm and a supervisor may each send one, and a keeper that dies in its orderly end leaves tenants behind.
 * @param {boolean} untilEof
 * @returns {Promise<void>}
 */
function untilAsked(untilEof) {
  return new Promise((resolve) => {
    const end = () => resolve();
    for (const signal of SIGNALS) process.on(signal, end);
    if (untilEof) process.stdin.on('end', end).on('error', end).resume();
  });
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'run',
  summary: 'runs the keeper until a signal ends it',
  more: `Tenants that run when the keeper ends run on, and the next keeper finds them. SIGHUP reads the tenants file again.

variables
  SEGANET_TENANTS_STARTS    most starts at once, and one more of class 1; default: the number of cores
  SEGANET_TENANTS_READY_MS  longest time of a start; default ${READY.standard}
  SEGANET_TENANTS_GRACE_MS  time for an orderly end; default ${GRACE.standard}
  SEGANET_TENANTS_SPARES    gateways in reserve for the driver process, 0 to ${SPARES.max}; default ${SPARES.standard}
  SEGANET_TENANTS_CGROUP    control group of the containers of tenants, or engine for that of their engine
  SEGANET_TENANTS_WARM_MIB  memory of all paused tenants: beyond it, the one used longest ago is stopped; default: any`,
  usage: '',
  options: {
    'stop-tenants': { type: 'boolean', help: 'stop all tenants when the keeper ends' },
    'until-eof': {
      type: 'boolean',
      help: 'end also when standard input ends, as with the program that started it'
    }
  },
  async run({ values, env, home, isJson, print, note, driver }) {
    const limits = {
      starts: numberOf(env, 'SEGANET_TENANTS_STARTS', STARTS),
      readyMs: numberOf(env, 'SEGANET_TENANTS_READY_MS', READY),
      graceMs: numberOf(env, 'SEGANET_TENANTS_GRACE_MS', GRACE),
      spares: numberOf(env, 'SEGANET_TENANTS_SPARES', SPARES),
      leaseMs: LEASE_MS,
      warmBytes: numberOf(env, 'SEGANET_TENANTS_WARM_MIB', WARM) * 2 ** 20
    };
    makeHome(home);
    const lock = takeLock(home.lock);
    if ('owner' in lock)
      throw new CliError(`Another keeper runs with ${home.folder}: process ${lock.owner}.`);
    // A signal during the start ends what was started, too.
    const asked = untilAsked(Boolean(values['until-eof']));
    try {
      const specs = readTenants(home.file);
      const names = specs.map(({ name }) => name).filter((name) => !isHeld(home.state, name));
      for (const volume of recoverVolumes(home.volumes, names))
        note(`A restore was cut off. The old volume is in its place again: ${volume}.`);
      for (const folder of removeDrafts(home.volumes))
        note(`A restore or a check was cut off. What it left was removed: ${folder}.`);
      const cutOff = recoverFlows(home);
      for (const { name, problem } of cutOff)
        note(
          problem
            ? `A rollout was cut off, and ${name} does not get its old flow back: ${problem}.`
            : `A rollout was cut off. ${name} has its old flow again.`
        );
      const free = async () => {
        const { bavail, bsize } = await fs.promises.statfs(home.volumes);
        return bavail * bsize;
      };
      const keeper = new Keeper({ drivers: driver, clock: systemClock, limits, state: home.state, free });
      keeper.on('event', (event) => (isJson ? print(JSON.stringify(event)) : print(lineOf(event))));
      // A file that is gone for a moment must not stop all tenants. Without tenants, the first one may still come.
      const reload = async () => keeper.apply(readTenants(home.file, { isNeeded: keeper.names.length > 0 }));
      const backups = {
        home,
        env,
        names: () => keeper.names,
        backedUp: keeper.backedUp.bind(keeper),
        report: note
      };
      const backup = async (/** @type {string} */ name) => {
        const { ok, reason } = await backupTenant(backups, name);
        if (!ok) throw new TenantError('failed', reason);
        return {};
      };
      const templates = new TemplateDesk({ home, keeper, driver });
      const server = new ApiServer({ keeper, reload, backup, templates }, { report: note });
      const timetable = nightly(backups);
      let isStopped = false;
      try {
        if (specs.some((spec) => spec.driver === 'process'))
          note('warning: tenants of the driver process are not isolated.');
        const { problem } = await exposureOf(specs);
        if (problem) note(`warning: ${problem}`);
        await keeper.apply(specs);
        // It may run on with the flow that was taken back. At its next start it has the old one.
        for (const { name } of cutOff.filter((each) => keeper.names.includes(each.name)))
          keeper
            .tenant(name)
            .sleep({ isForced: true })
            .catch((error) => note(messageOf(error)));
        await eachDriver(specs, driver, (own) => own.removeRests?.());
        for (const sentence of await eachDriver(specs, driver, (own, theirs) => own.problems?.(theirs)))
          note(`warning: ${sentence}`);
        await server.open(home.socket);
        timetable.start();
        process.on('SIGHUP', () => reload().catch((error) => note(error.message)));
        note(`The keeper of ${specs.length} tenants listens on ${home.socket}.`);
        await asked;
        isStopped = Boolean(values['stop-tenants']);
      } finally {
        // Also after an error: it must manage no tenant when another keeper has the lock.
        // A backup that is being made is a process of its own, and ends by itself.
        void timetable.close();
        templates.rollouts.close();
        await server.close();
        await keeper.close({ isStopped });
      }
    } finally {
      lock.release();
      // What is under way, such as a start, must not keep the process. The exit code is known by then.
      setImmediate(() => process.exit());
    }
  }
};
