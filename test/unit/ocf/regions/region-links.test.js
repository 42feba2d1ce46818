'use strict';
// Links between gateways: who is trusted, and what malformed and hostile bytes do.

const net = require('node:net');
const tls = require('node:tls');
const { needs } = require('../../../../bench/harness/tools');
const { Link } = require('../../../../nodes/lib/ocf/regions/links/link');
const {
  MOST_MESSAGE_BYTES,
  MOST_OPTIONS,
  MessageError,
  MessageReader,
  SIGNAL,
  encodeMessage
} = require('../../../../nodes/lib/ocf/regions/links/link-messages');
const { USER } = require('../../../../nodes/lib/ocf/regions/region-requests');
const { Authority } = require('../../../fixtures/devices/authority');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');
const { seeded } = require('../../../fixtures/random');

/** SEGANET_SEED=N repeats a run. */
const SEED = Number(process.env.SEGANET_SEED ?? 1);

const { describe } = needs('openssl');

jest.setTimeout(120000);

describe('messages', () => {
  const random = seeded(SEED);
  const bytes = (/** @type {number} */ most) =>
    Buffer.from(Array.from({ length: random.integer(most) }, () => random.integer(256)));
  const message = () => ({
    code: 1 + random.integer(200),
    token: bytes(9),
    options: Array.from({ length: random.integer(6) }, () => [
      random.integer(70000) % 65536,
      bytes(400)
    ]).sort(([x], [y]) => x - y),
    payload: bytes(400)
  });

  test('are the same after the way, wherever the stream is cut', () => {
    for (let round = 0; round < 60; round++) {
      const all = [message(), message(), message()];
      const stream = Buffer.concat(all.map((each) => encodeMessage(each)));
      const reader = new MessageReader();
      const found = [];
      for (let at = 0; at < stream.length;) {
        const size = 1 + random.integer(round % 3 ? 2000 : 3);
        found.push(...reader.feed(stream.subarray(at, at + size)));
        at += size;
      }
      // Jest compares buffers byte by byte, which takes long.
      expect(Buffer.concat(found.map((each) => encodeMessage(each))).equals(stream)).toBe(true);
      const shape = ({ code, token, options }) => [code, token.length, options.map(([number]) => number)];
      expect(found.map(shape)).toEqual(all.map(shape));
    }
  });

  test('bytes that are no message are an error of the reader, and nothing else', () => {
    let errors = 0;
    for (let round = 0; round < 1000; round++) {
      const stream = round % 2 ? bytes(60) : encodeMessage(message());
      for (let n = random.integer(4); n > 0 && stream.length > 0; n--)
        stream[random.integer(Math.min(20, stream.length))] = random.integer(256);
      try {
        new MessageReader().feed(stream);
      } catch (error) {
        expect(error).toBeInstanceOf(MessageError);
        errors++;
      }
    }
    expect(errors).toBeGreaterThan(50);
  });

  test.each([
    ['a long token', [0x09, 0x01]],
    ['a message beyond the limit', [0xf0, 0x00, 0xff, 0xff, 0xff, 0x01]],
    ['a reserved option length', [0x10, 0x01, 0x0f]],
    ['an option beyond the end', [0x10, 0x01, 0x05]],
    ['a payload marker without a payload', [0x10, 0x01, 0xff]],
    ['an option number above 65535', [0x60, 0x01, 0xe0, 0xff, 0xff, 0xe0, 0xff, 0xff]]
  ])('%s is an error', (_name, all) =>
    expect(() => new MessageReader().feed(Buffer.from(all))).toThrow(MessageError)
  );

  test('more options than the limit are an error', () => {
    const options = Array.from({ length: 300 }, (_, i) => [i, Buffer.alloc(0)]);
    const stream = encodeMessage({ code: 1, options });
    expect(() => new MessageReader().feed(stream)).toThrow('256 options');
  });
});

describe('a link', () => {
  /** @returns {Promise<[net.Socket, net.Socket, () => void]>} */
  async function pair() {
    const server = net.createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    const near = net.connect(port, '127.0.0.1');
    const far = await new Promise((resolve) => server.once('connection', resolve));
    far.on('error', () => {});
    return [near, far, () => [near, far].forEach((each) => each.destroy()) ?? server.close()];
  }
  const question = {
    code: 1,
    path: ['x'],
    options: [],
    payload: Buffer.alloc(0),
    observe: false,
    timeoutMs: 5000
  };
  const ask = (link, more = {}) => new Promise((resolve) => link.ask({ ...question, ...more }, resolve));

  test('a silent one gets a Ping, then ends, and its requests get 5.03', async () => {
    const [near, far, stop] = await pair();
    const codes = [];
    const reader = new MessageReader();
    far.on('data', (all) => codes.push(...reader.feed(all).map(({ code }) => code)));
    const ends = [];
    const link = new Link(near, { asked: () => {}, ended: (reason) => ends.push(reason) }, { pingMs: 500 });
    const answer = await ask(link);
    expect(answer).toMatchObject({ code: 0xa3, last: true, failed: true });
    expect(ends).toEqual(['silent']);
    expect(codes).toContain(SIGNAL.PING);
    stop();
  });

  test('a request without an answer in time is 5.04; above the limits it is 5.03 with Max-Age', async () => {
    const [near, , stop] = await pair();
    const link = new Link(near, { asked: () => {}, ended: () => {} }, { mostOpen: 1 });
    const slow = ask(link, { timeoutMs: -1900 });
    expect(link.isFull).toBe(true);
    const refused = await ask(link);
    expect(refused.code).toBe(0xa3);
    expect(refused.options).toEqual([[14, Buffer.from([1])]]);
    expect((await slow).code).toBe(0xa4);
    expect(link.open).toBe(0);
    link.end('closing');
    stop();
  });

  test('one that does not take bytes ends before memory is full', async () => {
    const [near, far, stop] = await pair();
    far.pause();
    const ends = [];
    const link = new Link(
      near,
      { asked: () => {}, ended: (reason) => ends.push(reason) },
      { mostBytes: 1 << 20, busyBytes: 2 << 20 }
    );
    const payload = Buffer.alloc(MOST_MESSAGE_BYTES - 1000);
    for (let i = 0; i < 200 && link.isOpen; i++) void ask(link, { payload });
    expect(ends).toEqual(['slow']);
    stop();
  });

  test('requests of the other side above the limit are 5.03, and a used token replaces its request', async () => {
    const [near, far, stop] = await pair();
    const asked = [];
    let ended = 0;
    const link = new Link(
      near,
      {
        asked: (incoming) => {
          asked.push(incoming);
          incoming.onEnd(() => ended++);
        },
        ended: () => {}
      },
      { mostOpen: 2 }
    );
    const got = [];
    const reader = new MessageReader();
    far.on('data', (all) => got.push(...reader.feed(all).filter(({ code }) => code >> 5 !== 7)));
    for (const token of [1, 2, 3, 2]) far.write(encodeMessage({ code: 1, token: Buffer.from([token]) }));
    await eventually(() => asked.length === 3, 'three requests');
    expect(got.map(({ code, token }) => [code, token[0]])).toEqual([[0xa3, 3]]);
    expect(ended).toBe(1);
    expect(link.served).toBe(2);
    asked[1].answer(0x45, [], Buffer.alloc(0));
    asked[2].answer(0x45, [], Buffer.alloc(0));
    asked[2].answer(0x45, [], Buffer.alloc(0));
    await eventually(() => got.length === 2, 'one answer');
    link.end('closing');
    // The first, which has no answer.
    expect(ended).toBe(2);
    stop();
  });

  test('an answer of a device that is too large is 5.02, and the link stays', async () => {
    const [near, far, stop] = await pair();
    const options = (/** @type {number} */ count) =>
      Array.from({ length: count }, () => [4, Buffer.from([1])]);
    const answers = [
      [0x45, options(MOST_OPTIONS + 1), Buffer.alloc(0)],
      [0x45, [], Buffer.alloc(MOST_MESSAGE_BYTES)],
      [0x45, options(MOST_OPTIONS), Buffer.from('x')]
    ];
    const served = new Link(near, {
      asked: (incoming) => incoming.answer(...answers[incoming.message.token.at(-1) - 1]),
      ended: () => {}
    });
    const link = new Link(far, { asked: () => {}, ended: () => {} });
    const got = [];
    for (let i = 0; i < answers.length; i++) got.push((await ask(link)).code);
    expect(got).toEqual([0xa2, 0xa2, 0x45]);
    expect([link.isOpen, served.isOpen, served.served]).toEqual([true, true, 0]);
    link.end('closing');
    stop();
  });

  test.each([0x21, 0xc1])(
    'a message of the class of the code %i, which does not exist, ends it',
    async (code) => {
      const [near, far, stop] = await pair();
      const ends = [];
      const link = new Link(near, { asked: () => {}, ended: (reason) => ends.push(reason) });
      const open = ask(link);
      far.write(encodeMessage({ code, token: Buffer.from([0, 0, 0, 1]) }));
      expect((await open).code).toBe(0xa3);
      expect(ends).toEqual(['protocol']);
      stop();
    }
  );
});

describe('gateways with a certificate', () => {
  /** @type {RegionRig} */
  let rig;
  /** @type {Authority} */
  let other;
  let a;
  let b;
  const here = scenes(() => a);
  const there = scenes(() => b);
  let first;
  const apart = scenes(() => first);

  beforeAll(async () => {
    rig = new RegionRig();
    other = new Authority();
    a = await rig.start();
    b = await rig.start();
  });
  afterAll(async () => {
    await rig?.stop();
    other?.remove();
  });

  /**
   * @param {{ cert?: string, key?: string }} identity
   * @returns {Promise<{ socket: tls.TLSSocket, codes: number[], texts: string[], closed: Promise<unknown> }>}
   */
  async function connect({ cert, key }) {
    const socket = tls.connect({ host: '127.0.0.1', port: a.linkPort, ca: rig.authority.ca, cert, key });
    const codes = [];
    const texts = [];
    const reader = new MessageReader();
    socket.on('error', () => {});
    socket.on('data', (all) => {
      for (const { code, payload } of reader.feed(all)) {
        codes.push(code);
        texts.push(payload.toString());
      }
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await Promise.race([closed, new Promise((resolve) => socket.once('secureConnect', resolve))]);
    return { socket, codes, texts, closed };
  }
  const hello = (ci, sid = rig.sid) =>
    encodeMessage({
      code: 2,
      token: Buffer.from([1]),
      options: ['oic', 'region'].map((part) => [11, Buffer.from(part)]),
      payload: Buffer.from(JSON.stringify({ ci, sid }))
    });
  const forged = (device, uid) =>
    encodeMessage({
      code: 1,
      token: Buffer.from([2]),
      options: [
        ...device.href
          .split('/')
          .filter(Boolean)
          .map((part) => [11, Buffer.from(part)]),
        [USER, Buffer.from(uid)]
      ]
    });

  test('no certificate, or one of another authority, sends no byte to the cloud', async () => {
    const device = await here.lamp(newUser());
    for (const identity of [{}, other.issue({ san: 'IP:127.0.0.1' })]) {
      const { socket, codes, closed } = await connect(identity);
      socket.write(Buffer.concat([hello('coaps+tcp://127.0.0.1:9'), forged(device, device.uid)]));
      await closed;
      expect(codes).toEqual([]);
    }
    expect(device.requests).toEqual([]);
  });

  test.each([
    ['a certificate for another host', 'coaps+tcp://10.0.0.1:9', undefined, 'not that of the region'],
    ['another cloud', 'coaps+tcp://127.0.0.1:9', '5f0c2a54-6b0c-4d6f-9d7e-1c8a3b1f2e40', 'another cloud'],
    ['the address of this region', 'own', undefined, 'the same address'],
    ['no address', 'nonsense', undefined, 'greeting']
  ])('%s is refused', async (_name, ci, sid, why) => {
    const { socket, texts, closed } = await connect(rig.authority.issue({ san: 'IP:127.0.0.1' }));
    socket.write(hello(ci === 'own' ? a.own : ci, sid));
    await closed;
    expect(texts.join(' ')).toContain(why);
  });

  test('a request before the greeting is refused', async () => {
    const device = await here.lamp(newUser());
    const { socket, texts, closed } = await connect(rig.authority.issue({ san: 'IP:127.0.0.1' }));
    socket.write(forged(device, device.uid));
    await closed;
    expect(texts.join(' ')).toContain('greeting');
    expect(device.requests).toEqual([]);
  });

  test('malformed requests of a gateway get an error, and malformed bytes end its link only', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await eventually(async () => (await controller.request('GET', device.href)).code === '2.05', 'the link');
    const { socket, codes, closed } = await connect(rig.authority.issue({ san: 'IP:127.0.0.1' }));
    socket.write(hello('coaps+tcp://127.0.0.1:9'));
    await eventually(() => codes.includes(0x44), 'the greeting is accepted');
    const send = async (message, code) => {
      const before = codes.length;
      socket.write(encodeMessage({ token: Buffer.from([9]), ...message }));
      await eventually(() => codes.length > before, 'an answer');
      expect(codes.at(-1)).toBe(code);
    };
    const path = (href) =>
      href
        .split('/')
        .filter(Boolean)
        .map((part) => [11, Buffer.from(part)]);
    const uid = [USER, Buffer.from(device.uid)];
    await send({ code: 1, options: path(device.href) }, 0x80);
    await send({ code: 1, options: [...path(device.href), [USER, Buffer.from('alice')]] }, 0x80);
    await send({ code: 1, options: [...path(device.href), uid, uid] }, 0x80);
    await send({ code: 1, options: [...path(device.href), uid, [16, Buffer.from([0])]] }, 0x80);
    await send({ code: 1, options: [...path(device.href), uid, [2051, Buffer.alloc(0)]] }, 0x82);
    await send({ code: 9, options: [...path(device.href), uid] }, 0x85);
    await send({ code: 1, options: [...path('/oic/rd'), uid] }, 0x84);
    await send({ code: 1, options: [...path('/oic/route/x/y'), uid] }, 0x84);
    await send({ code: 1, options: [...path(`${device.href}/..`), uid] }, 0x80);
    await send({ code: 1, options: [...path(device.href), uid] }, 0x45);
    socket.write(Buffer.from([0x0f, 0xff, 0xff]));
    await closed;
    expect(codes).toContain(SIGNAL.ABORT);
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    expect(a.problems()).toEqual([]);
  });

  test('names in the setting replace the host of the address', async () => {
    const named = new RegionRig();
    try {
      const certificate = named.authority.issue({ san: 'DNS:west.example', name: 'west' });
      first = await named.start({ certificate, names: ['east'] });
      const second = await named.start({
        certificate: named.authority.issue({ san: 'DNS:x', name: 'east' }),
        names: ['WEST.example']
      });
      const user = newUser();
      const device = await apart.lamp(user);
      await eventually(
        () => second.region.figures().peers.filter(({ isUp }) => isUp).length === 1,
        'the link'
      );
      const wrong = await named.start({
        certificate: named.authority.issue({ san: 'DNS:y', name: 'north' })
      });
      await eventually(
        () => [...wrong.said, ...first.said].some((text) => /another name|not for/.test(text)),
        'the reason'
      );
      expect(wrong.region.figures().peers.filter(({ isUp }) => isUp)).toEqual([]);
      expect(device.requests).toEqual([]);
      device.destroy();
    } finally {
      await named.stop();
    }
  });
});
