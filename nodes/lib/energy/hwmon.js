'use strict';
// Power sensors of /sys/class/hwmon (Linux, Documentation/hwmon/sysfs-interface.rst). Most of them measure only a part
// of the machine, such as its graphics card. Only sensors known to measure the whole machine are used.

const path = require('node:path');
const { MAX_ENERGY, MAX_POWER, line, list, number } = require('./files');

/** @typedef {import('./sensor').Sensor} Sensor */
/** @typedef {import('./sensor').Channel} Channel */

/** ACPI's meter of the whole platform [ACPI, 10.4]. */
const WHOLE = /^power_meter$/;
/** Labels for the input power, from drivers of power supplies and device trees of boards. */
const INPUT = /^(power total|total power|total|system|board|input|pin\d*|vdd_in|pom_5v_in)$/i;
/** Current monitors in one supply line, usually the supply of a small board. */
const MONITOR = /^ina(209|219|220|226|230|231|238)$/;
const FIELDS = [
  { pattern: /^(energy(\d+))_input$/, kind: 'energy', most: MAX_ENERGY },
  { pattern: /^(power(\d+))_average$/, kind: 'power', most: MAX_POWER },
  { pattern: /^(power(\d+))_input$/, kind: 'power', most: MAX_POWER }
];

/**
 * @typedef {object} Found
 * @property {string} chip its driver
 * @property {string} label '' = none
 * @property {string} field such as power1
 * @property {Channel} channel
 */

/** @param {string} root @returns {Promise<Sensor | null>} */
async function findHwmon(root) {
  const folder = path.join(root, 'class/hwmon');
  const chips = await Promise.all((await list(folder)).map((name) => readChip(path.join(folder, name))));
  const all = chips.flat();
  const [meter] = all.filter(({ chip }) => WHOLE.test(chip));
  const [input] = all.filter(({ label }) => INPUT.test(label));
  const monitors = all.filter(({ chip }) => MONITOR.test(chip));
  // With several monitors, it is unknown which one is in which line.
  const whole = meter ?? input ?? (monitors.length === 1 ? monitors[0] : null);
  if (!whole) return null;
  const { chip, label, field } = whole;
  // Several power supplies of one kind share the load.
  const alike = whole === input ? all.filter((each) => each.chip === chip && each.label === label) : [whole];
  return { source: `hwmon ${chip} ${label || field}`, channels: alike.map(({ channel }) => channel) };
}

/**
 * @param {string} folder
 * @returns {Promise<Found[]>} the readable channels, one for each number and label, energy preferred
 */
async function readChip(folder) {
  const [chip, names] = await Promise.all([line(path.join(folder, 'name')), list(folder)]);
  /** @type {Map<string, Found>} */
  const found = new Map();
  for (const { pattern, kind, most } of FIELDS) {
    for (const name of names) {
      const [, field, index] = pattern.exec(name) ?? [];
      if (field === undefined) continue;
      const file = path.join(folder, name);
      const label = await line(path.join(folder, `${field}_label`));
      const key = `${index} ${label}`;
      if (found.has(key) || Number.isNaN(await number(file, most))) continue;
      const channel = { file, kind: /** @type {Channel['kind']} */ (kind), most, range: 0 };
      found.set(key, { chip, label, field, channel });
    }
  }
  return [...found.values()];
}

exports.findHwmon = findHwmon;
