'use strict';
// Checks the requirements of the command before it runs, and explains how to meet them.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { sbin } = require('../harness/cloud');
const { build, findCompiler, outFolder, programs } = require('../harness/build');
const { governors } = require('../harness/machine');
const { nodeRedVersion } = require('../harness/nodered');
const { allowedCores, hardFileLimit } = require('../harness/proc');

const root = path.join(__dirname, '../..');

/**
 * @param {string} file @param {string[]} args
 * @returns {string} first line of its output, '' if the command is missing
 */
function firstLine(file, args) {
  // mosquitto -h prints its version and ends with 3
  const { stdout, error } = spawnSync(file, args, { encoding: 'utf8' });
  return error ? '' : stdout.split('\n')[0];
}

/** @returns {string} such as 2.0.11, '' if it is missing */
const mosquittoVersion = () => firstLine(sbin('mosquitto'), ['-h']).match(/version (\S+)/)?.[1] ?? '';

/** @returns {string} '' if the engine loads, else the error */
function addonProblem() {
  // In a separate process: this one never runs the engine.
  const { status, stderr } = spawnSync(
    process.execPath,
    ['-e', 'require(process.argv[1])', path.join(root, 'native')],
    {
      encoding: 'utf8'
    }
  );
  const lines = stderr.split('\n');
  return status === 0
    ? ''
    : (lines.find((line) => line.startsWith('Error: ')) ?? lines[0]).replace('Error: ', '');
}

/** @returns {string} its version, '' if it is not installed */
function nodeRed() {
  try {
    return nodeRedVersion();
  } catch {
    return '';
  }
}

/**
 * @typedef {{name: string, found: string, remedy: string}} Check found: '' = missing
 * @returns {Check[]}
 */
function checks() {
  const mosquitto = mosquittoVersion();
  const addon = addonProblem();
  const files = hardFileLimit();
  return [
    {
      name: 'mosquitto 2 or newer (the cloud, and a peer)',
      found: Number(mosquitto.split('.')[0]) >= 2 ? mosquitto : '',
      remedy: `${mosquitto ? `This one is ${mosquitto}. ` : ''}Debian, Ubuntu: sudo apt-get install mosquitto; elsewhere https://mosquitto.org/download`
    },
    {
      name: 'a C++20 compiler (load generator and sink)',
      found: findCompiler(),
      remedy: 'Debian, Ubuntu: sudo apt-get install g++; or name one in CXX'
    },
    {
      name: 'the native engine',
      found: addon ? '' : 'loads',
      remedy: `${addon} In a checkout: npm install, or npm run build`
    },
    {
      name: 'Node-RED 5 (runs the gateway, and a peer)',
      found: nodeRed(),
      remedy: 'npm install node-red@5, in the folder where this package is installed'
    },
    {
      name: 'openssl (certificates of the cloud)',
      found: firstLine('openssl', ['version']),
      remedy: 'Debian, Ubuntu: sudo apt-get install openssl'
    },
    {
      name: '4,096 open files or more',
      found: files >= 4096 ? String(files) : '',
      remedy: `The hard limit is ${files}: raise it with ulimit -Hn as root, or with LimitNOFILE= of the service`
    }
  ];
}

/** @param {Check[]} all @returns {string} a message about missing requirements, else '' */
function missingText(all) {
  const lines = all.filter(({ found }) => !found).map(({ name, remedy }) => `  - ${name}: ${remedy}`);
  return lines.length > 0 ? `The benchmark cannot run here. Missing:\n${lines.join('\n')}` : '';
}

/** Every measurement needs these. */
const needed = ['loadgen', 'sink'];

/**
 * Builds the native tools before any measurement.
 * @param {(line: string) => void} say @returns {{name: string, why: string}[]} tools that cannot be built; only some
 *          systems need them
 */
function buildTools(say) {
  const names = Object.keys(programs);
  return names.flatMap((name, i) => {
    say(`tools ${i + 1}/${names.length}: ${name} (in ${outFolder()})`);
    try {
      build(/** @type {any} */ (name));
      return [];
    } catch (error) {
      if (needed.includes(name)) throw error;
      return [{ name, why: /** @type {Error} */ (error).message.split('\n')[0] }];
    }
  });
}

/** @returns {string} version of the checkout or package */
function ownVersion() {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  try {
    const options = /** @type {const} */ ({
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    });
    // A package installed inside another repository has nothing to do with its commit.
    if (!fs.existsSync(path.join(root, '.git'))) return version;
    return `${version} (${execFileSync('git', ['describe', '--always', '--dirty'], options).trim()})`;
  } catch {
    return version;
  }
}

/** @param {import('../options/chapter').Plan} plan @returns {Record<string, string>} */
function conditions(plan) {
  const cpu = fs.readFileSync('/proc/cpuinfo', 'utf8').match(/(?:model name|Model)\s*: (.*)/);
  const { gatewayCpus, harnessCpus } = plan;
  return {
    machine: `${allowedCores().length} cores, ${cpu ? cpu[1].trim() : os.arch()}, ${(os.totalmem() / 2 ** 30).toFixed(1)} GiB`,
    kernel: `Linux ${os.release()} ${os.arch()}, frequency governor: ${governors().join(', ') || 'unknown'}`,
    versions: [
      `SegaNet Gateway ${ownVersion()}`,
      `Node ${process.version}`,
      `Node-RED ${nodeRed()}`,
      `mosquitto ${mosquittoVersion()}`,
      firstLine('openssl', ['version']),
      firstLine(findCompiler() || 'c++', ['--version'])
    ].join(', '),
    cores: gatewayCpus
      ? `measured system on ${gatewayCpus}; generator, cloud and sink on ${harnessCpus}`
      : 'not pinned: measured system and harness share all',
    length: `${plan.rounds} round(s), ${plan.seconds} s of load, warm-up ${plan.warmup} s`,
    'load average before': os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' '),
    ...(Object.keys(plan.env).length > 0 ? { settings: JSON.stringify(plan.env) } : {})
  };
}

module.exports = { checks, missingText, buildTools, conditions };
