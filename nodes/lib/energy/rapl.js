'use strict';
// The processor's own energy counters (RAPL) in /sys/class/powercap (Linux, Documentation/power/powercap/powercap.rst).
// Since 2020 only root can read them by default, because they reveal what other programs compute.

const path = require('node:path');
const { MAX_ENERGY, line, list, number } = require('./files');

/** @typedef {import('./sensor').Sensor} Sensor */
/** @typedef {import('./sensor').Channel} Channel */

/**
 * Packages and the platform, without parts of a package (intel-rapl:0:0), which the package includes, and without the
 * second interface to the same counters (intel-rapl-mmio:0).
 */
const DOMAIN = /^intel-rapl:\d+$/;

/**
 * Finds the counter of the whole platform, or else those of all packages.
 * @param {string} root
 * @returns {Promise<Sensor[]>} the best first
 */
async function findRapl(root) {
  const folder = path.join(root, 'class/powercap');
  const names = (await list(folder)).filter((name) => DOMAIN.test(name));
  const domains = await Promise.all(names.map((name) => readDomain(path.join(folder, name))));
  const psys = domains.filter(({ name }) => name === 'psys');
  const packages = domains.filter(({ name }) => name.startsWith('package-'));
  return [psys, packages].flatMap((some) => {
    // Only some packages would look like all of them.
    if (some.length === 0 || !some.every(({ isReadable }) => isReadable)) return [];
    const source = `rapl ${some.map(({ name }) => name).join(' + ')}`;
    return [{ source, channels: some.map(({ channel }) => channel) }];
  });
}

/** @param {string} folder */
async function readDomain(folder) {
  const file = path.join(folder, 'energy_uj');
  const [name, now, range] = await Promise.all([
    line(path.join(folder, 'name')),
    number(file, MAX_ENERGY),
    number(path.join(folder, 'max_energy_range_uj'), MAX_ENERGY)
  ]);
  /** @type {Channel} */
  const channel = { file, kind: 'energy', most: MAX_ENERGY, range: range || 0 };
  return { name, isReadable: !Number.isNaN(now), channel };
}

exports.findRapl = findRapl;
