'use strict';

// The machine's energy use: sensors are files in a temporary folder, and the clock is the test's.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { EnergyWatch } = require('../../../nodes/lib/energy');
const { Machine } = require('../../../nodes/lib/energy/machine');
const { EnergyShare } = require('../../../nodes/lib/energy/share');

/**
 * Runs the body as a user other than root, who may read anything. @template T
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
async function asUser(body) {
  if (process.geteuid?.() !== 0) return body();
  process.seteuid?.(65534);
  try {
    return await body();
  } finally {
    process.seteuid?.(0);
  }
}

/** A machine with these files under /sys. */
class Bench {
  constructor() {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-energy-'));
    this.time = 0;
    this.machine = new Machine({ root: this.root, now: () => this.time });
  }

  /** @param {string} folder under /sys/class @param {Record<string, string | number>} files */
  write(folder, files) {
    const at = path.join(this.root, 'class', folder);
    fs.mkdirSync(at, { recursive: true });
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(at, name), `${text}\n`);
  }

  /** @param {string} [folder] under /sys */
  remove(folder = '') {
    fs.rmSync(path.join(this.root, folder), { recursive: true });
  }

  /** @param {number} [ms] to advance first @returns {Promise<[string, number] | null>} source, J */
  async look(ms = 1000) {
    this.time += ms;
    await this.machine.look();
    const { consumption } = this.machine;
    return consumption && [consumption.source, consumption.joules];
  }
}

/** @type {Bench} */
let bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.remove());

const rapl = (
  /** @type {string} */ name,
  /** @type {string | number} */ energy_uj,
  max_energy_range_uj = 262143328850
) => ({
  name,
  energy_uj,
  max_energy_range_uj
});

describe('the sensor', () => {
  test.each([
    ['nothing at all', {}, null],
    [
      'a graphics card',
      { 'hwmon/hwmon0': { name: 'amdgpu', power1_average: 9e6, power1_label: 'PPT' } },
      null
    ],
    [
      "ACPI's meter",
      { 'hwmon/hwmon3': { name: 'power_meter', power1_average: 90e6 } },
      'hwmon power_meter power1'
    ],
    [
      'the total of a supply among its outputs',
      {
        'hwmon/hwmon0': {
          name: 'corsairpsu',
          power1_input: 5e6,
          power1_label: 'power +12v',
          power2_input: 9e6,
          power2_label: 'power total'
        }
      },
      'hwmon corsairpsu power total'
    ],
    [
      'one monitor in a line',
      { 'hwmon/hwmon1': { name: 'ina226', power1_input: 4e6 } },
      'hwmon ina226 power1'
    ],
    [
      'two monitors: unknown which one has it',
      {
        'hwmon/hwmon1': { name: 'ina226', power1_input: 4e6 },
        'hwmon/hwmon2': { name: 'ina226', power1_input: 2e6 }
      },
      null
    ],
    [
      'an energy before a power of the same number',
      { 'hwmon/hwmon1': { name: 'ina238', power1_input: 4e6, power1_average: 4e6, energy1_input: 7 } },
      'hwmon ina238 energy1'
    ],
    [
      'two packages, without their parts and without the same energy from another source',
      {
        'powercap/intel-rapl:0': rapl('package-0', 5),
        'powercap/intel-rapl:1': rapl('package-1', 6),
        'powercap/intel-rapl:0:0': rapl('core', 3),
        'powercap/intel-rapl-mmio:0': rapl('package-0', 5)
      },
      'rapl package-0 + package-1'
    ],
    [
      'the platform before the packages',
      { 'powercap/intel-rapl:0': rapl('package-0', 5), 'powercap/intel-rapl:1': rapl('psys', 6) },
      'rapl psys'
    ],
    [
      'the supply before the platform',
      {
        'powercap/intel-rapl:1': rapl('psys', 6),
        'hwmon/hwmon0': { name: 'x', power1_input: 1, power1_label: 'PIN' }
      },
      'hwmon x PIN'
    ],
    [
      'a package that cannot be read: the other is not all',
      { 'powercap/intel-rapl:0': rapl('package-0', 5), 'powercap/intel-rapl:1': rapl('package-1', '') },
      null
    ],
    [
      'a platform that cannot be read',
      { 'powercap/intel-rapl:0': rapl('package-0', 5), 'powercap/intel-rapl:1': rapl('psys', '?') },
      'rapl package-0'
    ]
  ])('%s', async (_, files, source) => {
    for (const [folder, each] of Object.entries(files)) bench.write(folder, each);
    expect((await bench.look())?.[0] ?? null).toBe(source);
  });

  test.each([
    '',
    ' ',
    '-1',
    '1.5',
    '1e6',
    '0x10',
    'NaN',
    '\0',
    '9'.repeat(21),
    '99999999999999',
    'é',
    '1\n2'
  ])('rejects a power of %j', async (power1_input) => {
    bench.write('hwmon/hwmon0', { name: 'power_meter', power1_input });
    expect(await bench.look()).toBe(null);
  });

  test('rejects a folder where a file should be, and a file where a folder should be', async () => {
    bench.write('hwmon/hwmon0/power1_input', { x: 1 });
    bench.write('hwmon', { hwmon1: 'power1_input' });
    bench.write('', { powercap: 'x' });
    expect(await bench.look()).toBe(null);
  });

  test('ignores a sensor that only root may read', async () => {
    bench.write('powercap/intel-rapl:0', rapl('package-0', 5));
    fs.chmodSync(bench.root, 0o755);
    expect(await asUser(() => bench.look())).toEqual(['rapl package-0', 0]);
    fs.chmodSync(path.join(bench.root, 'class/powercap/intel-rapl:0/energy_uj'), 0);
    bench.machine = new Machine({ root: bench.root, now: () => bench.time });
    expect(await asUser(() => bench.look())).toBe(null);
  });
});

describe('joules', () => {
  const energy = (/** @type {number} */ value, /** @type {number | string} */ range = 1000e6) =>
    bench.write('powercap/intel-rapl:0', { name: 'package-0', energy_uj: value, max_energy_range_uj: range });

  test('of a counter are its difference, also when it wraps', async () => {
    energy(900e6);
    expect(await bench.look()).toEqual(['rapl package-0', 0]);
    energy(950e6);
    expect(await bench.look()).toEqual(['rapl package-0', 50]);
    energy(30e6);
    expect(await bench.look()).toEqual(['rapl package-0', 130]);
  });

  test.each([['x'], [0], [500e6]])(
    'of a counter that went back with a range of %j restart',
    async (range) => {
      energy(900e6, range);
      await bench.look();
      energy(950e6, range);
      await bench.look();
      const { life } = /** @type {any} */ (bench.machine.consumption);
      energy(30e6, range);
      expect(await bench.look()).toEqual(['rapl package-0', 0]);
      expect(bench.machine.consumption?.life).toBe(life + 1);
    }
  );

  test('of several channels are their sum', async () => {
    for (const i of [0, 1]) bench.write(`powercap/intel-rapl:${i}`, rapl(`package-${i}`, 0));
    await bench.look();
    for (const i of [0, 1]) bench.write(`powercap/intel-rapl:${i}`, rapl(`package-${i}`, (i + 1) * 1e6));
    expect(await bench.look()).toEqual(['rapl package-0 + package-1', 3]);
    for (const i of [3, 4])
      bench.write(`hwmon/hwmon${i}`, { name: 'psu', power1_input: 10e6, power1_label: 'pin' });
    bench.machine = new Machine({ root: bench.root, now: () => bench.time });
    await bench.look();
    expect(await bench.look()).toEqual(['hwmon psu pin', 20]);
  });

  test('of a power are its mean multiplied by the time, and restart after a gap', async () => {
    const power = (/** @type {number} */ power1_average) =>
      bench.write('hwmon/hwmon0', { name: 'power_meter', power1_average });
    power(10e6);
    await bench.look();
    power(20e6);
    expect(await bench.look(2000)).toEqual(['hwmon power_meter power1', 30]);
    expect(await bench.look(10_000)).toEqual(['hwmon power_meter power1', 230]);
    expect(await bench.look(10_001)).toEqual(['hwmon power_meter power1', 0]);
  });

  test('end when the sensor disappears, and restart when it returns', async () => {
    energy(100e6);
    await bench.look();
    energy(101e6);
    await bench.look();
    bench.remove('class/powercap');
    expect(await bench.look()).toBe(null);
    energy(102e6);
    expect(await bench.look()).toEqual(['rapl package-0', 0]);
  });
});

describe('overhead', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());

  /** @type {jest.SpyInstance} */
  let spy;
  beforeEach(() => {
    spy = jest.spyOn(bench.machine, 'look');
  });
  /** Makes the files readable again. */
  const settle = async () => {
    for (const { value } of spy.mock.results) await value;
    await new Promise(setImmediate);
  };

  test('without a sensor is one check at the start, and one each five minutes', async () => {
    const end = bench.machine.use();
    const endToo = bench.machine.use();
    for (let s = 0; s < 299; s++) {
      jest.advanceTimersByTime(1000);
      await settle();
    }
    expect(spy).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(2000);
    await settle();
    expect(spy).toHaveBeenCalledTimes(2);
    end();
    end();
    expect(jest.getTimerCount()).toBe(1);
    endToo();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('with a sensor is one reading each second, while there is a consumer', async () => {
    bench.write('powercap/intel-rapl:0', rapl('package-0', 5));
    const watch = new EnergyWatch(bench.machine);
    expect(watch.follow(0)).toBe(null);
    for (let s = 0; s < 3; s++) {
      jest.advanceTimersByTime(1000);
      await settle();
    }
    expect(spy.mock.calls.length).toBeGreaterThanOrEqual(3);
    expect(bench.machine.consumption?.source).toBe('rapl package-0');
    watch.stop();
    watch.stop();
    expect([jest.getTimerCount(), bench.machine.consumption]).toEqual([0, null]);
  });

  test('has one series of timers when a consumer starts while the last one stops', async () => {
    bench.machine.use()();
    const end = bench.machine.use();
    jest.advanceTimersByTime(0);
    end();
    bench.machine.use();
    await settle();
    expect(jest.getTimerCount()).toBe(1);
  });
});

describe('with an uplink', () => {
  /** @type {EnergyShare} */
  let share;
  beforeEach(() => {
    share = new EnergyShare();
  });
  /**
   * At this second: 5 W, and this rate in bytes a second.
   * @param {number} s
   * @param {number} bytes
   * @param {object} [more]
   */
  const add = (s, bytes, more = {}) =>
    share.add({ source: 'rapl psys', joules: s * 5, atMs: s * 1000, life: 1, ...more }, bytes);

  test('reports watts, and joules per megabyte, of the last minute', () => {
    for (let s = 0; s < 10; s++) expect(add(s, s * 50_000)).toBe(null);
    expect(add(10, 500_000)).toEqual({ source: 'rapl psys', watts: 5, joulesPerMegabyte: 100 });
    for (let s = 11; s < 200; s++) add(s, s * 50_000);
    expect(share.samples).toHaveLength(61);
    // Twice the power, half the bytes: after a minute only the new values remain.
    for (let s = 200; s <= 261; s++)
      add(s, 200 * 50_000 + (s - 200) * 25_000, { joules: 1000 + (s - 200) * 10 });
    expect(add(262, 11_550_000, { joules: 1620 })).toEqual({
      source: 'rapl psys',
      watts: 10,
      joulesPerMegabyte: 400
    });
  });

  test('reports no share for an uplink that sends next to nothing', () => {
    for (let s = 0; s < 20; s++) add(s, s * 10);
    expect(add(20, 99_999)).toEqual({ source: 'rapl psys', watts: 5, joulesPerMegabyte: null });
    expect(add(21, 100_000)?.joulesPerMegabyte).toBe(1050);
  });

  test('shows nothing for a counter with nothing wired to it', () => {
    for (let s = 0; s < 60; s++) expect(add(s, s * 50_000, { joules: 0 })).toBe(null);
  });

  test('restarts with another sensor, another thread, or after none', () => {
    for (let s = 0; s <= 20; s++) add(s, s * 50_000);
    expect(add(21, 21 * 50_000, { life: 2, joules: 0 })).toBe(null);
    for (let s = 22; s <= 40; s++) add(s, s * 50_000, { life: 2 });
    expect(add(41, 0, { life: 2 })).toBe(null);
    for (let s = 42; s <= 60; s++) add(s, s * 50_000, { life: 2 });
    expect(share.add(null, 60 * 50_000)).toBe(null);
    expect(share.samples).toEqual([]);
  });

  test('keeps one reading a second however often it is queried', () => {
    for (let i = 0; i < 1000; i++) add(i / 100, i * 1000);
    expect(share.samples.length).toBeLessThanOrEqual(12);
  });
});
