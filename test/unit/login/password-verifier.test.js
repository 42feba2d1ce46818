'use strict';
// Limits on password attempts: by whom, how often, and in which order.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { FailedAttempts, networkOf } = require('../../../nodes/lib/login/failed-attempts');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { PasswordVerifier } = require('../../../nodes/lib/login/password-verifier');
const { WorkQueue } = require('../../../nodes/lib/login/work-queue');

const CHEAP = { ln: 10, r: 8, p: 1 };
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-login-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
/** Lets ready promises run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('failed attempts', () => {
  test('delay an address longer and longer, not others, and expire in the end', () => {
    let now = 0;
    const attempts = new FailedAttempts(() => now);
    const delays = [];
    for (let i = 0; i < 12; i++) {
      delays.push(attempts.delay('192.0.2.1:4000'));
      attempts.failed(`192.0.2.1:${4000 + i}`);
    }
    expect(delays).toEqual([0, 0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 4000, 4000]);
    expect(attempts.delay('192.0.2.2:1')).toBe(0);
    now += 600001;
    expect(attempts.delay('192.0.2.1:1')).toBe(0);
  });

  test('are bounded: the address that failed least recently is dropped', () => {
    const attempts = new FailedAttempts(() => 0);
    for (let i = 0; i < 10010; i++) attempts.failed(`10.0.${i >> 8}.${i & 255}:1`);
    expect(attempts.size).toBe(10000);
  });

  test.each([
    ['192.0.2.7:40312', '192.0.2.7'],
    ['[2001:db8::1]:1883', '2001:db8:0:0'],
    ['[2001:db8:0:0:ffff:1:2:3]:9', '2001:db8:0:0'],
    ['[fe80::1%eth0]:9', 'fe80:0:0:0'],
    ['[::1]:9', '0:0:0:0'],
    ['[::ffff:192.0.2.7]:9', '192.0.2.7'],
    ['::ffff:192.0.2.7:9', '192.0.2.7']
  ])('count %s as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('the queue of checks', () => {
  test('bounds running and waiting checks, and runs none whose time is over', async () => {
    let now = 0;
    const queue = new WorkQueue({ atOnce: () => 2, maxWaiting: 3, now: () => now });
    const started = [];
    const ends = [];
    const run = (name) =>
      queue.run(() => new Promise((resolve) => (started.push(name), ends.push(() => resolve(name)))), 100);
    const results = ['a', 'b', 'c', 'd', 'e', 'f'].map(run);
    expect(await results[5]).toBeUndefined();
    expect(started).toEqual(['a', 'b']);
    now = 50;
    ends[0]();
    expect(await results[0]).toBe('a');
    await turn();
    expect(started).toEqual(['a', 'b', 'c']);
    now = 101;
    ends[1]();
    expect(await Promise.all([results[1], results[3], results[4]])).toEqual(['b', undefined, undefined]);
    ends[2]();
    await results[2];
    expect(started).toEqual(['a', 'b', 'c']);
  });
});

describe('the verifier', () => {
  const verifiers = [];
  afterEach(() => verifiers.splice(0).forEach((each) => each.close()));

  async function make(lines, options = {}) {
    const file = path.join(folder, `passwords-${Math.random()}`);
    const write = async (pairs) => {
      const all = await Promise.all(
        pairs.map(async ([user, pw]) => `${user}:${await hashPassword(Buffer.from(pw), CHEAP)}\n`)
      );
      fs.writeFileSync(file, all.join(''), { mode: 0o600 });
    };
    await write(lines);
    const warnings = [];
    const slept = [];
    const verifier = new PasswordVerifier(file, {
      warn: (sentence) => warnings.push(sentence),
      sleep: async (ms) => void slept.push(ms),
      ...options
    });
    verifiers.push(verifier);
    const verify = (user, password, address = '192.0.2.1:1') =>
      verifier.verify(user, password === null ? null : Buffer.from(password), address);
    return { verifier, verify, write, file, warnings, slept };
  }

  test.each([
    ['an unknown user', 'nobody', 'right'],
    ['a wrong password', 'pump', 'wrong'],
    ['a password that goes on', 'pump', 'right\0'],
    ['no password', 'pump', null],
    ['an empty password', 'pump', ''],
    ['no user', null, 'right'],
    ['an empty user', '', 'right'],
    ['a user with NUL', 'pump\0', 'right'],
    ['a user with a colon', 'pump:x', 'right'],
    ['a user of another case', 'PUMP', 'right'],
    ['a name of JavaScript', '__proto__', 'right'],
    ['an over-long user', 'p'.repeat(257), 'right'],
    ['an over-long password', 'pump', 'r'.repeat(1025)],
    ['bytes that are no text', 'pump', Buffer.from([0xff, 0xfe])]
  ])('refuses %s', async (_what, user, password) => {
    const { verify } = await make([['pump', 'right']]);
    expect(await verify(user, password)).toBe(false);
    expect(await verify('pump', 'right')).toBe(true);
  });

  test('accepts any bytes as a password', async () => {
    const { verify } = await make([
      ['a', 'ü\0\t:#'],
      ['b', 'x']
    ]);
    expect(await verify('a', 'ü\0\t:#')).toBe(true);
  });

  test('does not repeat a successful check until the file changes', async () => {
    const { verifier, verify, write } = await make([['a', 'one']]);
    expect(await verify('a', 'one')).toBe(true);
    const run = jest.spyOn(verifier.queue, 'run');
    expect(await verify('a', 'one')).toBe(true);
    expect(run).not.toHaveBeenCalled();
    await write([['a', 'two two']]);
    await verifier.refresh();
    expect([await verify('a', 'one'), await verify('a', 'two two')]).toEqual([false, true]);
  });

  test('shares one check between identical concurrent questions', async () => {
    const { verifier, verify } = await make([['a', 'one']]);
    const run = jest.spyOn(verifier.queue, 'run');
    expect(await Promise.all([verify('a', 'one'), verify('a', 'one')])).toEqual([true, true]);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test('checks an unknown user like a known one', async () => {
    const { verifier, verify } = await make([['a', 'one']]);
    const run = jest.spyOn(verifier.queue, 'run');
    await verify('b', 'one');
    expect(run).toHaveBeenCalledTimes(1);
    expect(verifier.decoy).toMatchObject(CHEAP);
  });

  test('delays a client that fails often, but not a client with a known password', async () => {
    const { verify, slept } = await make([['a', 'one']]);
    await verify('a', 'one');
    for (let i = 0; i < 7; i++) await verify('a', `guess ${i}`);
    expect(slept).toEqual([250, 500]);
    expect(await verify('a', 'one')).toBe(true);
    expect(slept).toEqual([250, 500]);
  });

  test('keeps an honest device waiting for two checks at most while one address guesses', async () => {
    const { verifier, verify } = await make([['a', 'one'], ['b', 'two']]); // prettier-ignore
    let checked = 0;
    const guesses = Array.from({ length: 200 }, (_, i) =>
      verify('a', `guess ${i}`, '192.0.2.1:1').then((isRight) => (checked += isRight === false ? 1 : 0))
    );
    await turn();
    expect(await verify('b', 'two', '198.51.100.1:9')).toBe(true);
    expect(checked).toBeLessThanOrEqual(8);
    verifier.close();
    await Promise.all(guesses);
  });

  test('has tries of an address that failed often wait one after the other, those over its time unanswered', async () => {
    let now = 0;
    const { verifier, verify } = await make([['a', 'one']], {
      now: () => now,
      sleep: async (ms) => void (now += ms)
    });
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => verify('a', `guess ${i}`)));
    const refused = answers.filter((isRight) => isRight === false).length;
    // Five or six immediate attempts, then 250 + 500 + 1,000 + 2,000 + 4,000 ms of the eight seconds.
    expect(refused).toBeGreaterThan(5);
    expect(refused).toBeLessThan(14);
    expect(answers.filter((isRight) => isRight === undefined)).toHaveLength(300 - refused);
    expect(verifier.addresses.size).toBe(0);
  });

  test('keeps the users when the file is gone or bad, and warns when others may read it', async () => {
    const { verifier, verify, file, warnings } = await make([['a', 'one']]);
    fs.unlinkSync(file);
    await verifier.refresh();
    expect(await verify('a', 'one')).toBe(true);
    fs.writeFileSync(file, 'nonsense\n', { mode: 0o644 });
    fs.chmodSync(file, 0o644);
    await verifier.refresh();
    expect(await verify('a', 'one')).toBe(false);
    expect(warnings).toEqual([
      expect.stringMatching(/Line 1 has no colon\. These users cannot log in\.$/),
      expect.stringMatching(/chmod 600/)
    ]);
  });

  test('reports a missing file', () => {
    expect(() => new PasswordVerifier(path.join(folder, 'none'), { warn: () => {} })).toThrow(
      /password file .*ENOENT.*Create it/
    );
  });
});
