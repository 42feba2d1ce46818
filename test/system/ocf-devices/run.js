'use strict';
// Real OCF devices and controllers against a gateway, by hand, because no package registry has them.
// node native/node/run.js test/system/ocf-devices/run.js --help

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { fail, readArguments } = require('../../../bench/harness/arguments');
const { killAll } = require('../../../bench/harness/child');
const { iotivity } = require('./iotivity');
const { bridge } = require('./bridge');
const { secure } = require('./secure');

const INTRO = `node native/node/run.js test/system/ocf-devices/run.js --programs FOLDER

Runs programs of others against the ocf cloud node of a gateway, and prints what was seen of each step. build.sh beside
this file makes them from sources that you bring. Needs root: everything runs in a network namespace of its own. Programs
that are not in the folder are left out:

  cloud_server, cloud_client   iotivity-lite without security: a device and a controller over TCP
  secure/cloud_server and
  secure/onboarding_tool       the same with security: a device that is taken over and configured, over TLS 1.2
  bridge-device                device of plgd, over TLS 1.3 with certificates of both sides`;

/** Prints a step with its verdict, and counts. */
class Report {
  seen = 0;
  missing = 0;

  /** @param {string} title */
  part(title) {
    console.log(`\n${title}`);
  }

  /**
   * @template T
   * @param {string} step with its rows of the acceptance list (test/fixtures/ocf/acceptance.js)
   * @param {() => Promise<T>} check returns what was seen; throws if it was not
   * @returns {Promise<T | undefined>}
   */
  async step(step, check) {
    try {
      const value = await check();
      this.seen++;
      console.log(`  yes  ${step}${typeof value === 'string' ? `: ${value}` : ''}`);
      return value;
    } catch (error) {
      this.missing++;
      const [reason] = String(/** @type {Error} */ (error).message).split('\n');
      console.log(`  NO   ${step}: ${reason}`);
      return undefined;
    }
  }
}

/** Runs this program again in a network namespace that has only a loopback and one pair of virtual cables. */
function runInside() {
  if (process.getuid?.() !== 0) fail('It needs root: real devices send to groups of a network.');
  const steps = [
    'ip link set lo up',
    'ip link add cable0 type veth peer name cable1',
    'ip addr add 10.77.0.1/24 dev cable0',
    'ip link set cable0 up',
    'ip link set cable1 up',
    'exec "$@"'
  ];
  const again = [process.execPath, __filename, ...process.argv.slice(2)];
  const args = ['--net', 'sh', '-ec', steps.join('\n'), 'sh', ...again];
  const env = { ...process.env, SEGANET_OCF_DEVICES_INSIDE: '1' };
  const { status } = spawnSync('unshare', args, { stdio: 'inherit', env });
  process.exit(status ?? 1);
}

async function main() {
  const args = readArguments(INTRO, { numbers: {}, texts: { programs: ['', 'folder with the programs'] } });
  const programs = path.resolve(
    args.text('programs') || fail('Name the folder with --programs. See --help.')
  );
  if (process.env.SEGANET_OCF_DEVICES_INSIDE !== '1') runInside();
  const report = new Report();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
  const has = (/** @type {string} */ name) => fs.existsSync(path.join(programs, name));
  try {
    if (has('cloud_server')) await iotivity(programs, folder, report);
    if (has('secure/onboarding_tool')) await secure(path.join(programs, 'secure'), folder, report);
    if (has('bridge-device')) await bridge(path.join(programs, 'bridge-device'), folder, report);
  } finally {
    killAll();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  console.log(`\n${report.seen} seen, ${report.missing} not seen`);
  process.exit(report.missing === 0 && report.seen > 0 ? 0 : 1);
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error);
    killAll();
    process.exit(1);
  });
}

module.exports = { Report };
