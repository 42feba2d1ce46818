'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Attempts, networkOf } = require('../../nodes/lib/login/attempts');
const { byPasswords } = require('../../nodes/lib/login/checkers');
const { LoginDesk } = require('../../nodes/lib/login/desk');
const { FlowLogins } = require('../../nodes/lib/login/flow-logins');
const { parseHash, hashPassword, matches } = require('../../nodes/lib/login/password-hash');
const { parsePasswords } = require('../../nodes/lib/login/password-file');
const { Verifier } = require('../../nodes/lib/login/verifier');
const { WorkQueue } = require('../../nodes/lib/login/work-queue');

const CHEAP = { ln: 10, r: 8, p: 1 };
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-login-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
/** Lets promises that are ready run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the hash of a password', () => {
  test('holds what it takes to check it, and a new salt each time', async () => {
    const [one, other] = [
      await hashPassword(Buffer.from('pw'), CHEAP),
      await hashPassword(Buffer.from('pw'), CHEAP)
    ];
    expect(one).toMatch(/^\$scrypt\$ln=10,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(other).not.toBe(one);
    expect(await matches(Buffer.from('pw'), parseHash(one))).toBe(true);
    expect(await matches(Buffer.from('pw '), parseHash(one))).toBe(false);
  });

  test('is that of RFC 7914, 12', async () => {
    // N 1024 = 2^10, r 8, p 16 is beyond the limits for files; the key is its first 32 bytes.
    const known = { ln: 10, r: 8, p: 16, salt: Buffer.from('NaCl') };
    const hash = Buffer.from('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162', 'hex');
    expect(await matches(Buffer.from('password'), { ...known, hash })).toBe(true);
  });

  const good = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  test.each([
    ['', 'nothing'],
    ['secret', 'a password as it is'],
    [good.replace('ln=14', 'ln=9'), 'costs too little'],
    [good.replace('ln=14', 'ln=19'), 'costs too much'],
    [good.replace('ln=14,r=8', 'ln=18,r=16'), 'takes too much memory'],
    [good.replace('p=1', 'p=0'), 'p 0'],
    [good.replace('r=8', 'r=17'), 'r 17'],
    [good.slice(0, -1), 'a hash that is cut'],
    [`${good}A`, 'a hash that is too long'],
    [good.replace('scrypt', 'sha512'), 'another kind'],
    [good.replace('A'.repeat(22), 'A'), 'no salt'],
    [good.replace('AAAA', 'AA\0A'), 'NUL']
  ])('%j is none: %s', (text) => {
    expect(parseHash(good)).not.toBeNull();
    expect(parseHash(text)).toBeNull();
  });
});

describe('the file of passwords', () => {
  const hash = `$scrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

  test('lines that cannot be used are named by number, never shown, and keep nobody else out', () => {
    const lines = ['# devices', '', `a:${hash}`, 'b', 'c:plain-secret', `a:${hash}`, `:${hash}`, `\x07:${hash}`, ` d:${hash}`, `${'e'.repeat(257)}:${hash}`, `f:${hash}\r`]; // prettier-ignore
    const { users, problems } = parsePasswords(lines.join('\n'));
    expect([...users.keys()]).toEqual(['a', 'f']);
    expect(problems.map((each) => each.match(/^Line (\d+)/)[1])).toEqual([
      '4',
      '5',
      '6',
      '7',
      '8',
      '9',
      '10'
    ]);
    expect(problems.join()).not.toContain('plain-secret');
  });
});

describe('failed attempts', () => {
  test('an address that fails often waits longer and longer, others do not, and it is forgotten in the end', () => {
    let now = 0;
    const attempts = new Attempts(() => now);
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

  test('the table is bounded: the address that failed least recently goes', () => {
    const attempts = new Attempts(() => 0);
    for (let i = 0; i < 10010; i++) attempts.failed(`10.0.${i >> 8}.${i & 255}:1`);
    expect(attempts.size).toBe(10000);
  });

  test.each([
    ['192.0.2.7:40312', '192.0.2.7'],
    ['[2001:db8::1]:1883', '2001:db8:0:0'],
    ['[2001:db8:0:0:ffff:1:2:3]:9', '2001:db8:0:0'],
    ['[fe80::1%eth0]:9', 'fe80:0:0:0'],
    ['[::1]:9', '0:0:0:0']
  ])('%s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('the queue of checks', () => {
  test('so many at a time, so many waiting, and nothing whose time is over', async () => {
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
    const verifier = new Verifier(file, {
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
  ])('%s is refused', async (_what, user, password) => {
    const { verify } = await make([['pump', 'right']]);
    expect(await verify(user, password)).toBe(false);
    expect(await verify('pump', 'right')).toBe(true);
  });

  test('a password may be any bytes', async () => {
    const { verify } = await make([
      ['a', 'ü\0\t:#'],
      ['b', 'x']
    ]);
    expect(await verify('a', 'ü\0\t:#')).toBe(true);
  });

  test('what was right once costs nothing until the file changes', async () => {
    const { verifier, verify, write } = await make([['a', 'one']]);
    expect(await verify('a', 'one')).toBe(true);
    const run = jest.spyOn(verifier.queue_, 'run');
    expect(await verify('a', 'one')).toBe(true);
    expect(run).not.toHaveBeenCalled();
    await write([['a', 'two two']]);
    await verifier.refresh();
    expect([await verify('a', 'one'), await verify('a', 'two two')]).toEqual([false, true]);
  });

  test('the same question twice at a time is one check', async () => {
    const { verifier, verify } = await make([['a', 'one']]);
    const run = jest.spyOn(verifier.queue_, 'run');
    expect(await Promise.all([verify('a', 'one'), verify('a', 'one')])).toEqual([true, true]);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test('an unknown user is checked like a known one', async () => {
    const { verifier, verify } = await make([['a', 'one']]);
    const run = jest.spyOn(verifier.queue_, 'run');
    await verify('b', 'one');
    expect(run).toHaveBeenCalledTimes(1);
    expect(verifier.nobody_).toMatchObject(CHEAP);
  });

  test('who fails often waits, who knows the password does not wait once it is known', async () => {
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
    // Five or six for nothing, then 250 + 500 + 1,000 + 2,000 + 4,000 ms of the eight seconds.
    expect(refused).toBeGreaterThan(5);
    expect(refused).toBeLessThan(14);
    expect(answers.filter((isRight) => isRight === undefined)).toHaveLength(300 - refused);
    expect(verifier.addresses_.size).toBe(0);
  });

  test('a file that is gone or bad keeps the users; who may read it too is told', async () => {
    const { verifier, verify, file, warnings } = await make([['a', 'one']]);
    fs.unlinkSync(file);
    await verifier.refresh();
    expect(await verify('a', 'one')).toBe(true);
    fs.writeFileSync(file, 'nonsense\n', { mode: 0o644 });
    fs.chmodSync(file, 0o644);
    await verifier.refresh();
    expect(await verify('a', 'one')).toBe(false);
    expect(warnings).toEqual([
      expect.stringMatching(/Line 1 has no colon\. These users are not let in\.$/),
      expect.stringMatching(/chmod 600/)
    ]);
  });

  test('without a file it says so', () => {
    expect(() => new Verifier(path.join(folder, 'none'), { warn: () => {} })).toThrow(
      /file of passwords .*ENOENT.*Put it there/
    );
  });
});

describe('the desk', () => {
  const login = { id: 1, stage: 1, clientId: 'c', user: null, password: null, address: 'x:1' };

  function make() {
    const bells = new Set();
    const engine = {
      logins: [],
      answers: [],
      takeLogins: () => engine.logins.splice(0),
      answerLogin: (...answer) => engine.answers.push(answer)
    };
    const desk = new LoginDesk(engine, (fn) => (bells.add(fn), () => bells.delete(fn)));
    const ask = async (...logins) => {
      engine.logins.push(...logins);
      bells.forEach((fn) => fn());
      await turn();
      return engine.answers.splice(0);
    };
    return { desk, engine, ask, bells };
  }

  test('each login goes to the checker of its listener; one that fails is a no, one that cannot tell says nothing', async () => {
    const { desk, ask } = make();
    desk.serve(1, async ({ clientId }) => `device-${clientId}`);
    desk.serve(2, async () => null);
    desk.serve(3, async () => Promise.reject(new Error('broken')));
    desk.serve(4, async () => undefined);
    const logins = [1, 2, 3, 4, 5].map((stage) => ({ ...login, id: stage * 10, stage }));
    expect(await ask(...logins)).toEqual([[10, 'device-c'], [20, null], [30, null]]); // prettier-ignore
  });

  test('a verdict that the engine does not take for a device id is a refusal, and nothing is thrown', async () => {
    const { desk, engine, ask } = make();
    engine.answerLogin = (id, device) => {
      if (device === '') throw new TypeError('device must be 1 to 256 bytes');
      engine.answers.push([id, device]);
    };
    desk.serve(1, async () => '');
    expect(await ask(login)).toEqual([[1, null]]);
  });

  test('passwords with the client id as device refuse a device without a client id', async () => {
    const file = path.join(folder, 'client-ids');
    fs.writeFileSync(file, `a:${await hashPassword(Buffer.from('pw'), CHEAP)}\n`, { mode: 0o600 });
    const { checkLogin, endLogins } = byPasswords(file, 'clientId', () => {});
    const right = { ...login, user: 'a', password: Buffer.from('pw') };
    expect(await checkLogin(right)).toBe('c');
    expect(await checkLogin({ ...right, clientId: '' })).toBeNull();
    endLogins();
  });

  test('questions to the login node wait for the end of a deploy, and have no answer where there is no login node', async () => {
    const { desk, ask } = make();
    const source = { protocol: 'mqtt', nodeId: 'n' };
    desk.serve(1, (each) => desk.ask(each, source));
    expect(await ask(login)).toEqual([]);
    desk.flow = async () => 'before';
    desk.hold();
    desk.flow = null;
    expect(await ask(login)).toEqual([]);
    desk.flow = async ({ clientId }) => `after-${clientId}`;
    desk.resume();
    expect(await ask()).toEqual([[1, 'after-c']]);
  });

  test('without listeners that ask, it takes nothing', async () => {
    const { desk, ask, bells } = make();
    desk.serve(1, async () => 'd');
    desk.leave(1);
    expect(bells.size).toBe(0);
    expect(await ask(login)).toEqual([]);
  });
});

describe('questions to a flow', () => {
  const login = { id: 1, stage: 1, clientId: 'c', user: 'u', password: Buffer.from('p'), address: 'x:1' };
  const source = { protocol: 'mqtt', nodeId: 'n' };

  function make(timeoutMs = 5000) {
    const sent = [];
    return { sent, questions: new FlowLogins((msg) => sent.push(msg), timeoutMs) };
  }

  test('the question holds what the device said', async () => {
    const { sent, questions } = make();
    questions.ask(login, source);
    expect(sent).toEqual([{ topic: 'login', loginId: expect.any(String), clientId: 'c', user: 'u', password: 'p', address: 'x:1', source }]); // prettier-ignore
    questions.ask({ ...login, password: Buffer.from([0xff]) }, source);
    expect(sent[1].password).toEqual(Buffer.from([0xff]));
    questions.close();
  });

  test.each([
    [{ allowed: true }, 'c', ''],
    [{ allowed: true, deviceId: 'pump' }, 'pump', ''],
    [{ allowed: false }, null, ''],
    [{}, null, /neither true nor false/],
    [{ allowed: 'true' }, null, /neither/],
    [{ allowed: 1 }, null, /neither/],
    [{ allowed: true, deviceId: '' }, null, /1 to 256 bytes/],
    [{ allowed: true, deviceId: 'é'.repeat(129) }, null, /1 to 256 bytes/],
    [{ allowed: true, deviceId: 7 }, null, /must be text/]
  ])('%j is the answer %j', async (answer, verdict, problem) => {
    const { sent, questions } = make();
    const asked = questions.ask(login, source);
    expect(questions.answer({ ...sent[0], ...answer })).toMatch(problem);
    expect(await asked).toBe(verdict);
    expect(questions.answer({ ...sent[0], allowed: true })).toMatch(/names no login that waits/);
  });

  test('who is not answered in time is refused, and seen on the canvas', async () => {
    const { questions } = make(5);
    expect(await questions.ask(login, source)).toBeNull();
    expect(questions.shown().text).toBe('0 let in · 0 refused · 1 not answered');
  });

  test('the status is yellow for a minute after a question without an answer', async () => {
    let now = 0;
    const questions = new FlowLogins(() => {}, 5, () => now); // prettier-ignore
    await questions.ask(login, source);
    expect(questions.shown().fill).toBe('yellow');
    now = 60001;
    expect(questions.shown()).toMatchObject({ fill: 'grey', text: '0 let in · 0 refused · 1 not answered' });
  });

  test('questions are bounded, and a node that goes leaves them unanswered', async () => {
    const { questions, sent } = make();
    const all = Array.from({ length: 1001 }, () => questions.ask(login, source));
    expect(await all[1000]).toBeUndefined();
    expect(sent).toHaveLength(1000);
    questions.close();
    expect(await all[0]).toBeUndefined();
  });
});
