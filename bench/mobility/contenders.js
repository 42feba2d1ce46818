'use strict';
// The ways of using two links while the gateway moves. Each is the whole gateway with its uplink.

const { saturating, steady, DRAIN_S } = require('../paths/loads');
const { PathsLab } = require('../paths/lab');
const { measurePaths } = require('../paths/run');
const { Drive } = require('./drive');

/** @typedef {import('../paths/run').PathsPlan} PathsPlan @typedef {import('./walk').Step} Step */

/** The roles follow the quality within a second, because the way is short. */
const QUICK_ROLES = ['--auto-backup', '--backup-after', '1', '--active-after', '3'];
const AHEAD_S = 3;

/**
 * @typedef {object} Contender
 * @property {string} name @property {string} title @property {string} what
 * @property {Partial<PathsPlan>} plan @property {boolean} [isSingle] one link only
 */

/** @type {Contender[]} */
const contenders = [
  {
    name: 'tcp1',
    title: 'TCP1',
    what: 'plain TCP over the first link only',
    plan: { paths: 'p1', mptcp: false, watch: false },
    isSingle: true
  },
  {
    name: 'tcp2',
    title: 'TCP2',
    what: 'plain TCP over the second link only',
    plan: { paths: 'p2', mptcp: false, watch: false },
    isSingle: true
  },
  {
    name: 'kernel',
    title: 'MPTCP backup, kernel alone',
    what: 'p1,p2:backup, applied once: nobody probes the links, nor follows new addresses',
    plan: { paths: 'p1,p2:backup', watch: 'apply' }
  },
  {
    name: 'backup',
    title: 'MPTCP backup, watch',
    what: 'p1,p2:backup with seganet-paths watch',
    plan: { paths: 'p1,p2:backup' }
  },
  {
    name: 'aggregate',
    title: 'MPTCP both active, watch',
    what: 'p1,p2 with seganet-paths watch',
    plan: { paths: 'p1,p2' }
  },
  {
    name: 'roles',
    title: 'roles by signal, watch',
    what: `p1,p2 with watch ${QUICK_ROLES.join(' ')}: a link below 40 % becomes backup`,
    plan: { paths: 'p1,p2', watchArgs: QUICK_ROLES }
  },
  {
    name: 'forecast',
    title: 'roles by forecast, watch',
    what: `the same with --backup-ahead ${AHEAD_S}`,
    plan: { paths: 'p1,p2', watchArgs: [...QUICK_ROLES, '--backup-ahead', String(AHEAD_S)] }
  }
];

/**
 * One way past the access points.
 * @param {Contender} contender @param {Step[]} steps
 * @param {Pick<PathsPlan, 'seconds' | 'warmup' | 'env' | 'gatewayCpus' | 'harnessCpus'>} options
 * @param {number} share of the usual load
 */
async function travel({ plan }, steps, options, share) {
  const lab = await PathsLab.open();
  const drive = new Drive(lab, steps);
  let isOver = false;
  try {
    drive.begin();
    const watchArgs = plan.watchArgs && [...plan.watchArgs, '--signals', drive.file];
    const result = await measurePaths(lab, {
      ...plan,
      ...options,
      watchArgs,
      traffic: [steady(1), ...saturating().map((each) => ({ ...each, perSecond: share * each.perSecond }))],
      drain: DRAIN_S,
      events: [{ at: 0, what: 'sets off', do: () => drive.go(() => isOver) }]
    });
    return { ...result, lateMs: drive.late };
  } finally {
    isOver = true;
    drive.end();
    await lab.close();
  }
}

module.exports = { contenders, travel };
