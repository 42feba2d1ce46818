'use strict';
// Devices that are CoAP servers, as a coap observe node reads them: aiocoap, libcoap, node-coap and scripted ones.

const dgram = require('node:dgram');
// The library's own codec writes the device's packets.
const { generate, parse } = require('coap-packet');
const { Peer } = require('../../nodes/lib/sources/observe/coap-peer');
const { Reader } = require('../../nodes/lib/sources/observe/resource-reader');
const { schema, toSettings } = require('../../nodes/lib/sources/observe/observe-settings');
const { Watch } = require('../../nodes/lib/sources/observe/resource-watch');
const { parseOptions } = require('../../nodes/lib/base/options');
const { Child } = require('../../bench/harness/child');
const { startSensor, freeUdpPort } = require('../fixtures/devices/coap-sensor');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

jest.setTimeout(30000);

const options = { confirmable: true, timeoutMs: 2000, maxBodyBytes: 65536 };

/** @type {Watch[]} */
const watches = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.stop();
});

function settingsOf(url, more = {}) {
  const { values } = parseOptions({ resources: [{ url, mode: 'observe', ...more }] }, schema);
  return toSettings(values);
}

/** Watches a resource; its values are in `values`. */
function watchOf(url, { more = {}, peer = {}, random = () => 0 } = {}) {
  const [{ target, mode, intervalS }] = settingsOf(url, more).resources;
  const values = [];
  const reasons = [];
  const watch = new Watch({
    mode,
    intervalMs: intervalS * 1000,
    random,
    marginMs: 300,
    open: () => Peer.open(target, { ...options, ...peer }),
    value: (payload, done) => {
      values.push(payload);
      done();
    },
    trouble: (reason) => reasons.push(reason)
  });
  watches.push(watch);
  return { watch, values, reasons, texts: () => values.map(String) };
}

const read = (url, more = {}) => {
  const { resourceOf } = settingsOf(url);
  const reader = new Reader({ ...options, ...more });
  return reader.read(resourceOf(url)).finally(() => reader.close());
};

describe('aiocoap', () => {
  const { test } = needs('python:aiocoap');
  /** @type {Awaited<ReturnType<typeof startSensor>>} */
  let sensor;
  beforeAll(async () => {
    if (needs('python:aiocoap').missing.length === 0) sensor = await startSensor();
  });
  afterAll(() => sensor?.kill());

  test('reports each new state, and its deregistration arrives', async () => {
    const { watch, texts } = watchOf(`${sensor.url}/value`);
    await eventually(() => watch.state === 'observing');
    for (const value of ['20', '21', '22']) {
      await sensor.order(`set ${value}`);
      await eventually(() => texts().at(-1) === value);
    }
    expect(texts()).toEqual(['0', '20', '21', '22']);
    sensor.output = '';
    watch.stop();
    await sensor.says('observers 0');
  });

  test('delivers a body of many blocks whole at each change', async () => {
    const { watch, values } = watchOf(`${sensor.url}/big`);
    await eventually(() => watch.state === 'observing');
    for (const bytes of [4000, 5000, 600, 20000]) {
      await sensor.order(`grow ${bytes}`);
      await eventually(() => values.at(-1).length === bytes);
      expect(String(values.at(-1))).toBe(String(bytes).repeat(bytes).slice(0, bytes));
    }
    expect(values).toHaveLength(5);
  });

  test('is registered again under the same token when it is silent beyond its Max-Age', async () => {
    const { watch, texts } = watchOf(`${sensor.url}/short`);
    await eventually(() => watch.state === 'observing');
    await eventually(() => texts().length >= 2);
    expect(watch.state).toBe('observing');
    expect(sensor.output.trim().split('\n').at(-1)).toBe('observers 1');
  });

  test('is read in the interval if it cannot be observed', async () => {
    const { watch, texts } = watchOf(`${sensor.url}/plain`, { more: { intervalS: 1 } });
    await eventually(() => texts().length === 2);
    expect(watch.state).toBe('polling');
  });

  test('is queried again at its stated time when it is busy, and not before', async () => {
    const began = performance.now();
    const { watch, texts, reasons } = watchOf(`${sensor.url}/busy`, { more: { mode: 'poll' } });
    await eventually(() => texts().length === 1);
    expect(texts()).toEqual(['3']);
    expect(reasons).toEqual(['5.03 device busy']);
    expect(performance.now() - began).toBeGreaterThan(1990);
    expect(watch.reason).toBe('');
  });

  test('is read on a message: formats, query, errors', async () => {
    expect(String(await read(`${sensor.url}/json`))).toBe('{"t":21.5}');
    expect(await read(`${sensor.url}/cbor`)).toEqual(Buffer.from('a1617415', 'hex'));
    expect(String(await read(`${sensor.url}/echo?a=1&b=%C3%A9`))).toBe('a=1&b=é');
    await expect(read(`${sensor.url}/none`)).rejects.toThrow(
      /none could not be read: the device answered 4.04/
    );
    await expect(read(`${sensor.url}/silent`, { timeoutMs: 300 })).rejects.toThrow(/no answer/);
    await expect(read(`${sensor.url}/big`, { maxBodyBytes: 2000 })).rejects.toThrow(/more than 2000 bytes/);
  });

  test('is read without confirmations', async () => {
    expect(String(await read(`${sensor.url}/json`, { confirmable: false }))).toBe('{"t":21.5}');
  });

  test('is observed again after a restart', async () => {
    const { watch, texts, reasons } = watchOf(`${sensor.url}/short`);
    await eventually(() => watch.state === 'observing');
    await sensor.kill();
    // The port is closed: the next registration is refused at once.
    await eventually(() => watch.state === 'failing');
    expect(reasons).toEqual(['connection refused']);
    await sensor.start();
    await eventually(() => watch.state === 'observing');
    await sensor.order('set 99');
    await eventually(() => texts().at(-1) === '99');
  });
});

describe('a misbehaving device', () => {
  /** @type {import('node:dgram').Socket} */
  let socket;
  let port;
  /** Its datagrams in answer to a request. @type {(request: Asked) => Buffer[]} */
  let script;
  /** @type {Asked[]} */
  let asked;
  /** @typedef {{ messageId: number, token: Buffer, block: number, observe: boolean, from: import('node:dgram').RemoteInfo }} Asked */

  beforeEach(async () => {
    asked = [];
    socket = dgram.createSocket('udp4');
    socket.on('message', (bytes, from) => {
      const [code, messageId] = [bytes[1], bytes.readUInt16BE(2)];
      if (code !== 1) return;
      const { options: given } = parse(bytes);
      const value = (name) => given.find((option) => option.name === name)?.value;
      const block = value('Block2');
      const request = {
        messageId,
        token: bytes.subarray(4, 4 + (bytes[0] & 15)),
        block: block ? block.readUIntBE(0, block.length) >> 4 : 0,
        observe: value('Observe') !== undefined,
        from
      };
      asked.push(request);
      for (const answer of script(request)) socket.send(answer, from.port, from.address);
    });
    await new Promise((resolve) => socket.bind(0, '127.0.0.1', () => resolve(undefined)));
    port = socket.address().port;
  });
  afterEach(() => socket.close());

  const url = (path = 'x') => `coap://127.0.0.1:${port}/${path}`;
  const answer = ({ messageId, token }, fields = {}) =>
    generate({ ack: true, code: '2.05', messageId, token, payload: Buffer.from('1'), ...fields });
  const block = (request, number, more, payload, etag) =>
    answer(request, {
      payload: Buffer.from(payload),
      options: [
        ...(etag ? [{ name: 'ETag', value: Buffer.from(etag) }] : []),
        // 16 bytes each.
        { name: 'Block2', value: Buffer.from([(number << 4) | (more ? 8 : 0)]) }
      ]
    });
  const SIXTEEN = 'abcdefghijklmnop';
  const quick = { timeoutMs: 200 };

  test.each([
    ['never answers', () => []],
    ['answers with three bytes', () => [Buffer.from([0x60, 0x45, 0])]],
    ['answers with nothing', () => [Buffer.alloc(0)]],
    ['speaks another version', (request) => [withByte(answer(request), 0, (first) => first | 0x80)]],
    ['has a token of nine bytes', (request) => [withByte(answer(request), 0, (first) => (first & 0xf0) | 9)]],
    ['answers with another token', (request) => [answer(request, { token: Buffer.from('12345678') })]],
    ['answers without a token', (request) => [answer(request, { token: Buffer.alloc(0) })]],
    ['ends in a payload marker', ({ messageId, token }) => [header(messageId, token, [0xff])]],
    [
      'has an option of 13 bytes and none there',
      ({ messageId, token }) => [header(messageId, token, [0x0d])]
    ],
    ['has a reserved option', ({ messageId, token }) => [header(messageId, token, [0xf1, 0])]],
    ['has an option after the end', ({ messageId, token }) => [header(messageId, token, [0x65, 1])]],
    [
      'has a block of four bytes',
      ({ messageId, token }) => [header(messageId, token, [0xd4, 10, 0, 0, 0, 0])]
    ],
    ['answers with a request', (request) => [answer(request, { code: '0.01' })]],
    [
      'acknowledges without an answer',
      ({ messageId }) => [Buffer.from([0x60, 0, messageId >> 8, messageId & 255])]
    ]
  ])('counts as unanswered when it %s', async (_what, write) => {
    script = write;
    await expect(read(url(), quick)).rejects.toThrow(/could not be read: no answer/);
  });

  test('resets the request', async () => {
    script = ({ messageId }) => [Buffer.from([0x70, 0, messageId >> 8, messageId & 255])];
    await expect(read(url(), quick)).rejects.toThrow(/the device answered 0.00/);
  });

  test('is ignored when it answers from another port', async () => {
    const other = dgram.createSocket('udp4');
    script = (request) => {
      other.send(answer(request), request.from.port, request.from.address);
      return [];
    };
    await expect(read(url(), quick)).rejects.toThrow(/no answer/);
    other.close();
  });

  test('sends endless blocks', async () => {
    script = (request) => [block(request, request.block, true, SIXTEEN)];
    await expect(read(url(), { ...quick, maxBodyBytes: 100 })).rejects.toThrow(/more than 100 bytes/);
    expect(asked.length).toBeLessThan(10);
  });

  test('changes while it is read', async () => {
    script = (request) => [
      block(request, request.block, request.block < 2, SIXTEEN, `e${request.block >> 1}`)
    ];
    await expect(read(url(), quick)).rejects.toThrow(/the representation changed while it was read/);
  });

  test('sends each block twice, and others in between, and the body is whole', async () => {
    script = (request) => {
      const now = block(request, request.block, request.block < 2, SIXTEEN);
      const stray = block(request, 7, true, 'strayed away now');
      return request.block === 0 ? [now, now] : [stray, now, now];
    };
    expect(String(await read(url(), quick))).toBe(SIXTEEN.repeat(3));
  });

  test('sends values in the wrong order, and the older one is omitted', async () => {
    const observe = (number) => [{ name: 'Observe', value: Buffer.from([number]) }];
    script = (request) => [
      answer(request, { options: observe(10), payload: Buffer.from('ten') }),
      ...[12, 11, 13].map((number) =>
        answer(request, {
          ack: false,
          messageId: 1000 + number,
          options: observe(number),
          payload: Buffer.from(String(number))
        })
      )
    ];
    const { texts } = watchOf(url());
    await eventually(() => texts().includes('13'));
    expect(texts()).toEqual(['ten', '12', '13']);
  });

  test('repeats a confirmable value, which is acknowledged again, and taken once', async () => {
    const acknowledged = [];
    socket.on('message', (bytes) => {
      if (bytes.length === 4 && bytes[0] === 0x60) acknowledged.push(bytes.readUInt16BE(2));
    });
    const value = (request, number, more = {}) =>
      answer(request, { options: [{ name: 'Observe', value: Buffer.from([number]) }], ...more });
    script = (request) => {
      const again = value(request, 2, {
        ack: false,
        confirmable: true,
        messageId: 77,
        payload: Buffer.from('2')
      });
      return [value(request, 1), again, again, again];
    };
    const { texts } = watchOf(url());
    await eventually(() => acknowledged.length === 3);
    expect(acknowledged).toEqual([77, 77, 77]);
    expect(texts()).toEqual(['1', '2']);
  });

  test('ends the observation with an error, and is registered again', async () => {
    const observe = [{ name: 'Observe', value: Buffer.from([1]) }];
    script = (request) => [
      answer(request, { options: observe }),
      ...(asked.length === 1 ? [answer(request, { ack: false, messageId: 5, code: '4.04' })] : [])
    ];
    const { watch, reasons, texts } = watchOf(url());
    await eventually(() => texts().length === 2);
    expect(reasons).toEqual(['4.04 not found']);
    expect(watch.state).toBe('observing');
  });

  test('does not exist, or has no name, and the reason names it', async () => {
    const closed = watchOf(`coap://127.0.0.1:${await freeUdpPort()}/x`);
    const nowhere = watchOf('coap://no-such-host.invalid/x');
    await eventually(() => closed.reasons.length > 0 && nowhere.reasons.length > 0);
    expect(closed.reasons[0]).toBe('connection refused');
    expect(nowhere.reasons[0]).toMatch(/no such host|EAI_AGAIN/);
  });
});

/** @param {Buffer} bytes @param {number} at @param {(byte: number) => number} change */
function withByte(bytes, at, change) {
  bytes[at] = change(bytes[at]);
  return bytes;
}

/** A piggy-backed 2.05 with these bytes as options. */
const header = (messageId, token, rest) =>
  Buffer.from([0x60 | token.length, 0x45, messageId >> 8, messageId & 255, ...token, ...rest]);

describe('libcoap', () => {
  const { test } = needs('coap-server-notls');

  test('is observed, read, and observed again after a restart', async () => {
    const port = await freeUdpPort();
    const start = () => new Child('coap-server-notls', ['-A', '127.0.0.1', '-p', String(port)]);
    let server = start();
    try {
      // Its time of day changes each second.
      const { watch, texts } = watchOf(`coap://127.0.0.1:${port}/time?ticks`);
      await eventually(() => texts().length >= 2);
      const ticks = texts().map(Number);
      expect(ticks).toEqual([...ticks].sort((left, right) => left - right));
      expect(watch.state).toBe('observing');
      expect(String(await read(`coap://127.0.0.1:${port}/`))).toMatch(/libcoap/);

      await server.stop('SIGKILL');
      // Max-Age is 1 s there.
      await eventually(() => watch.state === 'failing');
      server = start();
      const before = texts().length;
      await eventually(() => watch.state === 'observing' && texts().length >= before + 2);
    } finally {
      await server.stop('SIGKILL');
    }
  });
});
