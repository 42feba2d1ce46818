'use strict';
// The parts of the driver of containers that need no engine.

const crypto = require('node:crypto');
const { containerOf, MADE_WITH } = require('../../../docker/tenants/lib/drivers/container');
const { textOfFrames } = require('../../../docker/tenants/lib/drivers/frames');
const { addressIn, places, rangeOf } = require('../../../docker/tenants/lib/drivers/networks');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { rulesFor } = require('../../../docker/tenants/lib/net/rules');
const { DIGEST } = require('../../fixtures/tenants/digest');

/** @param {number} stream @param {string} text */
function frame(stream, text) {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe('output', () => {
  const whole = Buffer.concat([frame(1, 'one\n'), frame(2, 'zwö\n'), frame(1, '')]);

  test('of both streams is text in its order', () => {
    expect(textOfFrames(whole)).toBe('one\nzwö\n');
  });

  test('of a terminal has no frames', () => {
    expect(textOfFrames(Buffer.from('plain text'))).toBe('plain text');
  });

  test('that is cut anywhere, or any bytes, is some text', () => {
    for (let end = 0; end <= whole.length; end++)
      expect(typeof textOfFrames(whole.subarray(0, end))).toBe('string');
    for (let i = 0; i < 500; i++) expect(typeof textOfFrames(crypto.randomBytes(i % 40))).toBe('string');
  });
});

describe('networks', () => {
  const range = /** @type {{ base: number, count: number }} */ (rangeOf('10.213.0.0/24'));

  test.each([
    '',
    '10.213.0.0',
    '10.213.0.0/30',
    '10.213.0.0/7',
    '10.213.0.1/16',
    '10.256.0.0/16',
    'fd00::/64',
    '10.0.0.0/16; x'
  ])("'%s' is no range", (text) => expect(rangeOf(text)).toBeNull());

  test('a range has as many subnets as fit, and the first depends on the name', () => {
    const all = [...places(range, 'acme')];
    expect(new Set(all.map(({ subnet }) => subnet)).size).toBe(32);
    expect(all[0]).not.toEqual([...places(range, 'blue')][0]);
    for (const { subnet, address } of all) expect(addressIn(range, subnet)).toBe(address);
  });

  test('the end of the highest range is reached without overflow', () => {
    const high = /** @type {{ base: number, count: number }} */ (rangeOf('255.255.255.0/24'));
    expect([...places(high, 'x')].map(({ subnet }) => subnet)).toContain('255.255.255.248/29');
  });

  test.each(['10.213.1.0/29', '10.213.0.4/29', '10.213.0.0/28', '10.212.255.248/29', 'x', ''])(
    "'%s' is no subnet of it",
    (subnet) => expect(addressIn(range, subnet)).toBe('')
  );
});

describe('a container', () => {
  const around = {
    network: 'n',
    address: '10.213.0.2',
    volume: '/v',
    secrets: '/s',
    user: '1000:1000',
    hasIpv6: true,
    keepsUser: false,
    isRootless: false,
    disks: ['/dev/sda'],
    output: null,
    labels: { 'seganet.tenant': 'acme' }
  };
  /** @param {object} [more] @param {object} [other] */
  const made = (more, other) =>
    containerOf(checkTenant({ name: 'acme', driver: 'docker', image: DIGEST, ...more }), {
      ...around,
      ...other
    });

  test('gets every restriction', () => {
    expect(made().HostConfig).toMatchObject({
      Init: true,
      Memory: 256 << 20,
      MemorySwap: 256 << 20,
      NanoCpus: 1e9,
      PidsLimit: 128,
      BlkioDeviceWriteBps: [{ Path: '/dev/sda', Rate: 32 << 20 }],
      Ulimits: [
        { Name: 'core', Soft: 1, Hard: 1 },
        { Name: 'nice', Soft: 0, Hard: 0 },
        { Name: 'rtprio', Soft: 0, Hard: 0 },
        { Name: 'nofile', Soft: 4096, Hard: 4096 }
      ],
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true'],
      Privileged: false,
      Dns: ['255.255.255.255'],
      Sysctls: { 'net.ipv6.conf.all.disable_ipv6': '1' },
      NetworkMode: 'n',
      Binds: ['/v:/data:rw', '/s:/run/secrets/seganet:ro'],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
      RestartPolicy: { Name: 'no' }
    });
  });

  test('has no limit of writes without a disk, or with a rate of 0', () => {
    expect(made({}, { disks: [] }).HostConfig).not.toHaveProperty('BlkioDeviceWriteBps');
    expect(made({ limits: { writeMiBps: 0 } }).HostConfig).not.toHaveProperty('BlkioDeviceWriteBps');
  });

  test('has a limit for each disk that it can write to', () => {
    const limits = made({ limits: { writeMiBps: 8 } }, { disks: ['/dev/sda', '/dev/sdb'] });
    expect(limits.HostConfig.BlkioDeviceWriteBps).toEqual([
      { Path: '/dev/sda', Rate: 8 << 20 },
      { Path: '/dev/sdb', Rate: 8 << 20 }
    ]);
  });

  test('prints to its file, whatever its image runs, and has no check of its image', () => {
    const image = { Entrypoint: ['/entry'], Cmd: ['a', 'b'] };
    const of = (/** @type {object} */ more, /** @type {object} */ config) =>
      made(more, { output: { file: '/state/output.log', image: config } });
    const { Entrypoint, Cmd, HostConfig, Healthcheck } = of({}, image);
    expect(Entrypoint).toEqual(['/bin/sh', '-c', expect.any(String), 'sh', '/run/seganet-output', '4096']);
    expect(Cmd).toEqual(['/entry', 'a', 'b']);
    expect(HostConfig.Init).toBe(false);
    expect(HostConfig.Binds).toContain('/state/output.log:/run/seganet-output:rw');
    expect(Healthcheck).toEqual({ Test: ['NONE'] });
    expect(made().Healthcheck).toEqual({ Test: ['NONE'] });
    expect(of({ command: ['x'] }, image).Cmd).toEqual(['/entry', 'x']);
    expect(of({ command: ['x'] }, { Entrypoint: null, Cmd: null }).Cmd).toEqual(['x']);
  });

  test('makes no core dumps, with a limit that the engine may set', () => {
    expect(made({ driver: 'podman' }).HostConfig).not.toHaveProperty('Ulimits');
    expect(made({}, { isRootless: true }).HostConfig.Ulimits[0]).toEqual({ Name: 'core', Soft: 0, Hard: 0 });
  });

  test('is made again only for a change that concerns it', () => {
    const hash = made().Labels[MADE_WITH];
    expect(made({ idleMs: 5000, always: true, limits: { rate: 5, volumeMiB: 5 } }).Labels[MADE_WITH]).toBe(
      hash
    );
    expect(made({ limits: { pids: 64 } }).Labels[MADE_WITH]).not.toBe(hash);
    expect(made({ limits: { files: 1024 } }).Labels[MADE_WITH]).not.toBe(hash);
    expect(made({ limits: { writeMiBps: 8 } }).Labels[MADE_WITH]).not.toBe(hash);
    expect(made({ command: ['x'] }).Labels[MADE_WITH]).not.toBe(hash);
  });
});

test('rules drop what tenants begin, and nothing else', () => {
  const drops = rulesFor('10.213.0.0/16').match(/^.*drop$/gm);
  expect(drops?.every((rule) => /ip [sd]addr 10\.213\.0\.0\/16 ct state new counter drop/.test(rule))).toBe(
    true
  );
  expect(drops).toHaveLength(3);
});
