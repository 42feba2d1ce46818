'use strict';
// Determines the kernel's features without changing an interface: each part is tried on lo of a network namespace that
// exists only during the trial. (A kernel with modules loads those that are tried.) If no namespace can be created,
// files are read instead.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const {
  PARTS,
  PART_NAMES,
  readKernelFiles,
  readTrial,
  unknownCapabilities
} = require('./kernel-capabilities');
const { classifierObject } = require('./classifier');
const { CAPABILITY, hasCapability, mayChangeNetwork } = require('../common/rights');
const { run } = require('../common/run-command');

/** @typedef {import('./kernel-capabilities').Capabilities} Capabilities */
/** `how` it was determined, in words. @typedef {{ capabilities: Capabilities, how: string }} Probed */

/** @param {string} file */
function readText(file) {
  try {
    const bytes = fs.readFileSync(file);
    return (file.endsWith('.gz') ? zlib.gunzipSync(bytes) : bytes).toString('utf8');
  } catch {
    return '';
  }
}

function kernelFiles() {
  const release = os.release();
  return {
    config:
      readText('/proc/config.gz') ||
      readText(`/boot/config-${release}`) ||
      readText(`/lib/modules/${release}/config`),
    builtin: readText(`/lib/modules/${release}/modules.builtin`),
    modules: readText(`/lib/modules/${release}/modules.dep`),
    loaded: readText('/proc/modules')
  };
}

/**
 * Determines how this process can create a network namespace; null = not at all.
 * @returns {Promise<string[] | null>} arguments of unshare
 */
async function namespaceArguments() {
  const ways = hasCapability(CAPABILITY.SYS_ADMIN) ? [['--net']] : [['--user', '--map-root-user', '--net']];
  for (const way of ways) {
    const { code } = await run('unshare', [...way, '--', 'tc', 'qdisc', 'show', 'dev', 'lo']).catch(() => ({
      code: 1
    }));
    if (code === 0) return way;
  }
  return null;
}

/** @returns {Promise<Probed>} */
async function probe() {
  const files = readKernelFiles(kernelFiles());
  const way = await namespaceArguments();
  if (!way) {
    const isKnown = PART_NAMES.some((part) => files[part] !== 'unknown');
    const how = isKnown
      ? 'from the files of the kernel, because a trial requires root'
      : 'not at all: a trial requires root, and there are no kernel files to read';
    return { capabilities: restrict(files), how };
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-net-'));
  try {
    const object = path.join(folder, 'classifier.o');
    fs.writeFileSync(object, classifierObject());
    const capabilities = unknownCapabilities();
    for (const part of PART_NAMES) {
      const input = `${PARTS[part].trial.join('\n').replace('{object}', object)}\n`;
      const has = readTrial(await run('unshare', [...way, '--', 'tc', '-batch', '-'], { input }));
      capabilities[part] = has === 'unknown' ? files[part] : has;
    }
    return { capabilities: restrict(capabilities), how: 'by a trial in an empty network namespace' };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Removes features that the kernel has but would not let this process use.
 * @param {Capabilities} capabilities
 * @returns {Capabilities}
 */
function restrict(capabilities) {
  // Without the privilege to change anything, this is a plan of what root will do.
  if (!mayChangeNetwork()) return capabilities;
  // CAP_NET_ADMIN alone cannot load eBPF, for which tc creates folders in /sys/fs/bpf, which belongs to root.
  const mayWrite = process.geteuid?.() === 0 || hasCapability(CAPABILITY.DAC_OVERRIDE);
  return mayWrite && hasCapability(CAPABILITY.BPF, CAPABILITY.SYS_ADMIN)
    ? capabilities
    : { ...capabilities, bpf: 'no' };
}

module.exports = { probe };
