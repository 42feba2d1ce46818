'use strict';
// The signal of Wi-Fi: as the kernel and iw print it, and malformed. No Wi-Fi is needed.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Wireless, parseIw, parseWireless } = require('../../../nodes/lib/network/paths/wireless');
const { parseCounters, readCounters } = require('../../../nodes/lib/network/paths/byte-counters');
const { seeded } = require('../../fixtures/random');

const HEAD = `Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
 face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
`;
const REST = '-256        0      0      0      0      0        0';
const line = (/** @type {string} */ name, /** @type {string} */ values) =>
  `${name.padStart(6)}: 0000  ${values}  ${REST}\n`;
const level = (/** @type {string} */ values) => parseWireless(`${HEAD}${line('wlan0', values)}`).get('wlan0');

describe('/proc/net/wireless', () => {
  test('has a line for each interface', () => {
    const text = `${HEAD}${line('wlan0', ' 58.  -52. ')}${line('wlx00c0ca8f1234', ' 20.  -90. ')}`;
    expect([...parseWireless(text)]).toEqual([
      ['wlan0', -52],
      ['wlx00c0ca8f1234', -90]
    ]);
    expect([...parseWireless(HEAD)]).toEqual([]);
  });

  test.each([
    ['dBm, new since the last reading', ' 58.  -52. ', -52],
    ['dBm, not new', ' 58   -52  ', -52],
    ['dBm without a space before it', ' 40. -110. ', -110],
    ['the byte that means dBm minus 256', ' 58.  204. ', -52],
    ['the faintest of them', '  0.  136. ', -120],
    ['a scale of the driver', ' 70.   62. ', null],
    ['the top of such a scale', '100.  100. ', null],
    ['no station', '  0     0  ', null],
    ['level 0 as dBm', '  0. -256. ', null],
    ['an impossible level', '  0. -121. ', null]
  ])('%s', (_, values, dbm) => expect(level(values)).toBe(dbm));

  test('never throws when damaged at random, and yields no impossible signal (seed 5)', () => {
    const { bytes, integer } = seeded(5);
    const whole = `${HEAD}${line('wlan0', ' 58.  -52. ')}${line('wlan1', ' 58.  204. ')}`;
    for (let i = 0; i < 2000; i++) {
      const noise = bytes(integer(40)).toString('latin1');
      const at = integer(whole.length);
      const text = i % 5 === 0 ? noise : whole.slice(0, at) + noise + whole.slice(at + integer(4));
      for (const [name, dbm] of parseWireless(text)) {
        expect(name).not.toBe('');
        if (dbm !== null) expect(dbm >= -120 && dbm <= -1).toBe(true);
      }
      parseCounters(text);
      parseIw(text);
    }
  });

  test.each(['', '\n', '\0', 'wlan0', 'wlan0:', 'wlan0: 0000', 'wlan0: 0000 58.', ': 0000 58. -52.'])(
    'yields nothing for %j',
    (text) => expect([...parseWireless(text)]).toEqual([])
  );
});

describe('iw', () => {
  const LINK = `Connected to 02:00:00:00:01:00 (on wlan0)
\tSSID: signal: -1 dBm
\tfreq: 5180
\tRX: 90345 bytes (812 packets)
\tsignal: -57 dBm
\ttx bitrate: 866.7 MBit/s
`;

  test.each([
    [LINK, -57],
    [LINK.replace('-57', '-57 [-60, -58]'), -57],
    [LINK.replace('-57', '-300'), null],
    [LINK.replace('-57', '57'), null],
    ['Not connected.\n', null],
    ['', null]
  ])('%j', (text, dbm) => expect(parseIw(text)).toBe(dbm));
});

describe('a machine', () => {
  /** @type {string} */
  let folder;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-wireless-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  /**
   * @param {string | null} text of the file, null = there is none
   * @param {(name: string) => Promise<string | null>} iw
   */
  function machine(text, iw) {
    const file = path.join(folder, 'wireless');
    if (text !== null) fs.writeFileSync(file, text);
    for (const name of ['wlan0/phy80211', 'wlan1/wireless', 'eth0/queues'])
      fs.mkdirSync(path.join(folder, name), { recursive: true });
    return new Wireless({ file, folder, iw });
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test('runs iw only for Wi-Fi that is not in the file, or has its own scale there', async () => {
    const asked = /** @type {string[]} */ ([]);
    const text = `${HEAD}${line('wlan0', ' 70.   62. ')}`;
    const wireless = machine(text, async (name) => {
      asked.push(name);
      return name === 'wlan0' ? '\tsignal: -61 dBm\n' : '\tsignal: -71 dBm\n';
    });
    const names = ['eth0', 'wlan0', 'wlan1', 'wlan9', ''];
    expect([...wireless.read(names, 0).values()]).toEqual([null, null, null, null, null]);
    await settled();
    expect([...wireless.read(names, 1000).values()]).toEqual([null, -61, -71, null, null]);
    expect(asked).toEqual(['wlan0', 'wlan1']);
    fs.writeFileSync(path.join(folder, 'wireless'), `${HEAD}${line('wlan1', ' 58.  -52. ')}`);
    expect(wireless.read(['wlan1'], 9000).get('wlan1')).toBe(-52);
    expect(asked).toHaveLength(2);
  });

  test('runs iw every 2 s, one at a time, and once a minute where it does not answer', async () => {
    let answer = /** @type {Promise<string | null>} */ (new Promise(() => {}));
    let asked = 0;
    const wireless = machine(null, () => (asked++, answer));
    for (let now = 0; now < 9000; now += 1000) wireless.read(['wlan0'], now);
    expect(asked).toBe(1);

    answer = Promise.resolve('\tsignal: -61 dBm\n');
    const other = machine(null, () => (asked++, answer));
    asked = 0;
    for (let now = 0; now < 10_000; now += 500) {
      other.read(['wlan0'], now);
      await settled();
    }
    expect(asked).toBe(5);
    answer = Promise.resolve(null);
    for (let now = 10_000; now < 70_000; now += 500) {
      other.read(['wlan0'], now);
      await settled();
    }
    expect(asked).toBe(6);
    expect(other.read(['wlan0'], 69_500).get('wlan0')).toBe(null);
  });

  test('has no signal without iw and without a file', async () => {
    const PATH = process.env.PATH;
    process.env.PATH = folder;
    const file = path.join(folder, 'none');
    machine(null, async () => null);
    const wireless = new Wireless({ file, folder });
    expect(wireless.read(['wlan0'], 0).get('wlan0')).toBe(null);
    await settled();
    process.env.PATH = PATH;
    expect(wireless.read(['wlan0'], 100).get('wlan0')).toBe(null);
  });
});

describe('bytes of an interface', () => {
  const TEXT = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 2671295 442    0    0    0     0          0         0 2671295 442    0    0    0     0       0          0
  eth0:9007199254740991 1    0    0    0     0          0         0 77 1    0    0    0     0       0          0
`;
  test('counts received and sent bytes', () => {
    expect([...parseCounters(TEXT)]).toEqual([
      ['lo', { rx: 2671295, tx: 2671295 }],
      ['eth0', { rx: 9007199254740991, tx: 77 }]
    ]);
    expect([...readCounters('/nowhere')]).toEqual([]);
    expect(readCounters().get('lo')).toEqual({ rx: expect.any(Number), tx: expect.any(Number) });
  });
});
