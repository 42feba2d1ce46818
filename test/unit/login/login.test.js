'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { byPasswords } = require('../../../nodes/lib/login/login-checkers');
const { filesInUse } = require('../../../nodes/lib/login/files-in-use');
const { LoginDispatcher } = require('../../../nodes/lib/login/login-dispatcher');
const { FlowLogins } = require('../../../nodes/lib/login/flow-logins');
const { parseHash, hashPassword, matches } = require('../../../nodes/lib/login/password-hash');
const { parsePasswords } = require('../../../nodes/lib/login/password-file');

const CHEAP = { ln: 10, r: 8, p: 1 };
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-login-'));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
/** Lets ready promises run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the hash of a password', () => {
  test('holds everything needed to check it, with a new salt each time', async () => {
    const [one, other] = [
      await hashPassword(Buffer.from('pw'), CHEAP),
      await hashPassword(Buffer.from('pw'), CHEAP)
    ];
    expect(one).toMatch(/^\$scrypt\$ln=10,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(other).not.toBe(one);
    expect(await matches(Buffer.from('pw'), parseHash(one))).toBe(true);
    expect(await matches(Buffer.from('pw '), parseHash(one))).toBe(false);
  });

  test('equals that of RFC 7914, 12', async () => {
    // N 1024 = 2^10, r 8, p 16 is beyond the limits for files; the key is its first 32 bytes.
    const known = { ln: 10, r: 8, p: 16, salt: Buffer.from('NaCl') };
    const hash = Buffer.from('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162', 'hex');
    expect(await matches(Buffer.from('password'), { ...known, hash })).toBe(true);
  });

  const good = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  test.each([
    ['', 'nothing'],
    ['secret', 'a plain password'],
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
  ])('rejects %j as a hash: %s', (text) => {
    expect(parseHash(good)).not.toBeNull();
    expect(parseHash(text)).toBeNull();
  });
});

describe('the password file', () => {
  const hash = `$scrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

  test('names unusable lines by number, never shows them, and keeps the other users', () => {
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

describe('the dispatcher', () => {
  const login = { id: 1, stage: 1, clientId: 'c', user: null, password: null, address: 'x:1' };

  function make() {
    const bells = new Set();
    const engine = {
      logins: [],
      answers: [],
      takeLogins: (limit) => engine.logins.splice(0, limit),
      answerLogin: (...answer) => engine.answers.push(answer)
    };
    const dispatcher = new LoginDispatcher(engine, (fn) => (bells.add(fn), () => bells.delete(fn)));
    const ask = async (...logins) => {
      engine.logins.push(...logins);
      bells.forEach((fn) => fn());
      await turn();
      return engine.answers.splice(0);
    };
    return { dispatcher, engine, ask, bells };
  }

  test('sends each login to the checker of its listener; a failed one is a no, an undecided one gives no verdict', async () => {
    const { dispatcher, ask } = make();
    dispatcher.serve(1, async ({ clientId }) => `device-${clientId}`);
    dispatcher.serve(2, async () => null);
    dispatcher.serve(3, async () => Promise.reject(new Error('broken')));
    dispatcher.serve(4, async () => undefined);
    const logins = [1, 2, 3, 4, 5].map((stage) => ({ ...login, id: stage * 10, stage }));
    expect(await ask(...logins)).toEqual([[10, 'device-c'], [20, null], [30, null]]); // prettier-ignore
  });

  test('treats a verdict that the engine does not accept as a device id as a refusal, without an exception', async () => {
    const { dispatcher, engine, ask } = make();
    engine.answerLogin = (id, device) => {
      if (device === '') throw new TypeError('device must be 1 to 256 bytes');
      engine.answers.push([id, device]);
    };
    dispatcher.serve(1, async () => '');
    expect(await ask(login)).toEqual([[1, null]]);
  });

  const dismissed = [];
  const member = { host: { engine: { dismissDevice: (device) => dismissed.push(device) > 0 } } };

  test('refuses a device without a client id when passwords take the client id as the device', async () => {
    const file = path.join(folder, 'client-ids');
    fs.writeFileSync(file, `a:${await hashPassword(Buffer.from('pw'), CHEAP)}\n`, { mode: 0o600 });
    const { checkLogin, endLogins } = byPasswords(file, 'clientId', () => {});
    const right = { ...login, user: 'a', password: Buffer.from('pw') };
    expect(await checkLogin(right, member)).toBe('c');
    expect(await checkLogin({ ...right, clientId: '' }, member)).toBeNull();
    endLogins();
  });

  test('ends the connections of a user of a password file, and of no other', async () => {
    const file = path.join(folder, 'users');
    const hash = await hashPassword(Buffer.from('pw'), CHEAP);
    fs.writeFileSync(file, `a:${hash}\nb:${hash}\n`, { mode: 0o600 });
    const { checkLogin, endLogins } = byPasswords(file, 'clientId', () => {}, undefined, 'hall');
    const as = (user, clientId) =>
      checkLogin({ ...login, user, password: Buffer.from('pw'), clientId }, member);
    for (const [user, device] of [
      ['a', '1'],
      ['a', '2'],
      ['b', '3'],
      ['b', '2']
    ])
      await as(user, device);
    const [use] = filesInUse().get(file) ?? [];
    expect(use?.node).toBe('hall');
    // Device 2 has logged in as another user since.
    expect([use?.end('a'), dismissed.splice(0)]).toEqual([1, ['1']]);
    expect([use?.end('a'), use?.end('b'), dismissed]).toEqual([0, 2, ['3', '2']]);
    endLogins();
    expect(filesInUse().has(file)).toBe(false);
  });

  test('holds questions to the login node until a deploy ends, and leaves them unanswered without a login node', async () => {
    const { dispatcher, ask } = make();
    const source = { protocol: 'mqtt', nodeId: 'n' };
    dispatcher.serve(1, (each) => dispatcher.ask(each, source));
    expect(await ask(login)).toEqual([]);
    dispatcher.flow = async () => 'before';
    dispatcher.hold();
    dispatcher.flow = null;
    expect(await ask(login)).toEqual([]);
    dispatcher.flow = async ({ clientId }) => `after-${clientId}`;
    dispatcher.resume();
    expect(await ask()).toEqual([[1, 'after-c']]);
  });

  test('takes some logins in a turn, and the rest in the next ones however often the bell rings', async () => {
    const { dispatcher, engine, bells } = make();
    dispatcher.serve(1, async () => 'd');
    const taken = jest.spyOn(engine, 'takeLogins');
    engine.logins = Array.from({ length: 1000 }, (_, id) => ({ ...login, id }));
    for (let i = 0; i < 100; i++) bells.forEach((fn) => fn());
    expect(taken).toHaveBeenCalledTimes(1);
    expect(engine.logins.length).toBeGreaterThan(900);
    while (engine.answers.length < 1000) await turn();
  });

  test('takes nothing when no listener requires a login', async () => {
    const { dispatcher, ask, bells } = make();
    dispatcher.serve(1, async () => 'd');
    dispatcher.leave(1);
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

  test('holds what the device sent', async () => {
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
  ])('reads %j as the answer %j', async (answer, verdict, problem) => {
    const { sent, questions } = make();
    const asked = questions.ask(login, source);
    expect(questions.answer({ ...sent[0], ...answer })).toMatch(problem);
    expect(await asked).toBe(verdict);
    expect(questions.answer({ ...sent[0], allowed: true })).toMatch(/does not match a pending login/);
  });

  test('refuses a device without an answer in time, and shows it on the canvas', async () => {
    const { questions } = make(5);
    expect(await questions.ask(login, source)).toBeNull();
    expect(questions.shown().text).toBe('0 allowed · 0 refused · 1 not answered');
  });

  test('shows yellow for a minute after a question without an answer', async () => {
    let now = 0;
    const questions = new FlowLogins(() => {}, 5, () => now); // prettier-ignore
    await questions.ask(login, source);
    expect(questions.shown().fill).toBe('yellow');
    now = 60001;
    expect(questions.shown()).toMatchObject({ fill: 'grey', text: '0 allowed · 0 refused · 1 not answered' });
  });

  test('bounds questions, and leaves them unanswered when the node closes', async () => {
    const { questions, sent } = make();
    const all = Array.from({ length: 1001 }, () => questions.ask(login, source));
    expect(await all[1000]).toBeUndefined();
    expect(sent).toHaveLength(1000);
    questions.close();
    expect(await all[0]).toBeUndefined();
  });
});
