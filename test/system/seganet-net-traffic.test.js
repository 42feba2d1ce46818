'use strict';
// The effect of the bands on packets: the band of a mark, and the waiting packets when the line is full.

const { Lab } = require('../fixtures/network/net-lab');
const { needs } = require('../../bench/harness/tools');

// Creating a network needs root.
const { describe, test } = needs(
  ...['ip', 'tc', 'unshare', 'python3'],
  ...(process.getuid?.() === 0 ? [] : ['root'])
);

jest.setTimeout(60000);

const EF = 46 << 2;
const CS6 = 48 << 2;
const CS1 = 8 << 2;
const LE = 1 << 2;
const AF41 = 34 << 2;

/** @type {Lab} */
let lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** @returns {Record<string, { packets: number, bytes: number, dropped: number, backlogBytes: number }>} by band */
const bands = () =>
  Object.fromEntries(lab.check().bands.map((/** @type {{ name: string }} */ band) => [band.name, band]));

describe('the band of a packet, in htb', () => {
  test('follows DSCP, else SO_PRIORITY, in IPv4 and IPv6', () => {
    lab.net('apply', '--rate', '100mbit', '--scheme', 'htb');
    /** @type {[{ priority?: number, tos?: number }, string][]} */
    const marks = [
      [{}, 'normal'],
      [{ tos: EF }, 'urgent'],
      [{ tos: CS6 }, 'urgent'],
      [{ tos: CS1 }, 'bulk'],
      [{ tos: LE }, 'bulk'],
      [{ tos: AF41, priority: 0 }, 'normal'],
      [{ tos: EF, priority: 2 }, 'urgent'],
      [{ tos: EF, priority: 6 }, 'urgent'],
      [{ priority: 6 }, 'urgent'],
      [{ priority: 4 }, 'normal'],
      ...[1, 2, 3, 5].map(
        (priority) => /** @type {[{ priority: number }, string]} */ ([{ priority }, 'bulk'])
      )
    ];
    const count = 40;
    // IPv4 takes the socket's priority from the old bits of the type of service: that of AF41 is 2. IPv6 does not.
    const cases = [
      ...marks.map(([mark, name]) => ({ address: lab.address, mark, name })),
      ...marks.slice(0, 9).map(([mark, name]) => ({ address: lab.address6, mark, name })),
      { address: lab.address, mark: { tos: AF41 }, name: 'bulk' },
      { address: lab.address6, mark: { tos: AF41 }, name: 'normal' }
    ];
    let before = bands();
    for (const { address, mark, name } of cases) {
      lab.send(address, mark, count);
      const after = bands();
      // The network itself sends a packet now and then.
      const grown = Object.keys(after).filter(
        (band) => after[band].packets - before[band].packets >= count / 2
      );
      expect({ address, mark, grown }).toEqual({ address, mark, grown: [name] });
      expect(after[name].packets - before[name].packets).toBeGreaterThanOrEqual(count);
      before = after;
    }
  });
});

describe('on a full line of 2 Mbit/s', () => {
  const fills = { fills: true };

  test('lets marked connections overtake in htb, by DSCP or by SO_PRIORITY, and starves none', async () => {
    lab.net('apply', '--rate', '2mbit', '--scheme', 'htb');
    const result = await lab.race(
      {
        bulk1: { ...fills, priority: 2 },
        normal1: fills,
        normal2: fills,
        both: { tos: EF, priority: 6 },
        dscp: { tos: EF, priority: 0 },
        priority: { priority: 6 },
        unmarked: {}
      },
      6
    );
    const { both, dscp, priority, unmarked, bulk1, normal1 } = result;
    for (const marked of [both, dscp, priority]) {
      expect(marked.count).toBeGreaterThan(100);
      expect(marked.medianMs).toBeLessThan(unmarked.medianMs / 3);
    }
    const counted = bands();
    expect(counted.urgent.packets).toBeGreaterThan(300);
    expect(counted.urgent.dropped).toBe(0);
    expect(counted.normal.bytes).toBeGreaterThan(counted.urgent.bytes);
    expect(counted.normal.dropped).toBeGreaterThan(0);
    // Its share is a tenth of the line; slightly less passed.
    expect(bulk1.bytes).toBeGreaterThan(6 * 25000 * 0.4);
    expect(normal1.bytes).toBeGreaterThan(0);
  });

  test('lets connections with SO_PRIORITY 6 overtake in tbf with pfifo_fast, not those with DSCP alone', async () => {
    lab.net('apply', '--rate', '2mbit', '--scheme', 'tbf-pfifo_fast');
    const { priority, dscp, unmarked } = await lab.race(
      {
        normal1: fills,
        normal2: fills,
        priority: { priority: 6 },
        dscp: { tos: EF },
        unmarked: {}
      },
      6
    );
    expect(priority.count).toBeGreaterThan(100);
    expect(priority.medianMs).toBeLessThan(unmarked.medianMs / 3);
    expect(dscp.medianMs).toBeGreaterThan(unmarked.medianMs / 3);
    expect(bands().all.packets).toBeGreaterThan(300);
  });
});
