'use strict';
// aiocoap and node-coap against the engine (docs/use/coap.md, Interoperability).

const path = require('node:path');
const coap = require('coap');
const { Child } = require('../../bench/harness/child');
const { CoapEngine } = require('../fixtures/devices/coap-engine');
const { needs, python } = require('../../bench/harness/tools');

const aio = needs('python:aiocoap');

jest.setTimeout(30000);

/** @type {CoapEngine} */
let engine;
beforeEach(() => (engine = new CoapEngine({}, { acknowledge: 'safe' })));
afterEach(() => engine.close());

aio.describe('aiocoap', () => {
  /** @param {object[]} steps */
  const device = (...steps) =>
    new Child(python(), [path.join(__dirname, '../fixtures/devices/coap-device.py'), JSON.stringify(steps)]);
  /** @param {Child} child @returns {Promise<Record<string, string>[]>} */
  async function lines(child) {
    await child.exited;
    return child.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
  }

  for (const [transport, scheme] of /** @type {const} */ ([
    ['udp', 'coap'],
    ['tcp', 'coap+tcp']
  ])) {
    aio.test(`${transport}: posts, 100,000 bytes, discovery`, async () => {
      const base = `${scheme}://127.0.0.1:${engine.listen(transport)}`;
      const child = device(
        { uri: `${base}/.well-known/core`, method: 'GET' },
        { uri: `${base}/r/d/t?c=critical`, payload: '21.5' },
        { uri: `${base}/r/d/big`, size: 100000 },
        { uri: `${base}/r/d`, method: 'GET' }
      );
      const answers = await lines(child);
      expect([child.output, answers.map(({ code }) => code)]).toEqual([
        expect.anything(),
        ['2.05 Content', '2.04 Changed', '2.04 Changed', '4.05 Method Not Allowed']
      ]);
      expect(answers[0].payload).toContain('</r>');
      const [first, big] = await engine.recordsOf('d', 2);
      expect(first).toMatchObject({ topic: 'r/d/t', payload: Buffer.from('21.5'), priority: 1 });
      expect(big.payload.equals(Buffer.alloc(100000, 'x'))).toBe(true);
    });

    aio.test(`delivers three commands as three notifications over ${transport}`, async () => {
      const port = engine.listen(transport);
      const child = device({ uri: `${scheme}://127.0.0.1:${port}/cmd/valve`, method: 'GET', observe: 3 });
      await engine.listening('valve');
      for (const word of ['one', 'two', 'three']) {
        expect(await engine.command('valve', 'cmd/valve/set', word)).toBe(0);
        await child.until((output) => output.includes(`"${word}"`));
      }
      await child.exited;
    });
  }

  aio.test('delivers a large command block by block over udp', async () => {
    const port = engine.listen('udp');
    const child = device({ uri: `coap://127.0.0.1:${port}/cmd/big`, method: 'GET', observe: 1 });
    await engine.listening('big');
    const text = 'command '.repeat(1000);
    expect(await engine.command('big', 'cmd/big/set', text)).toBe(0);
    await child.until((output) => output.includes(text));
    await child.exited;
  });
});

describe('node-coap', () => {
  /** @type {coap.Agent} */
  let agent;
  // It closes itself when nothing is in flight.
  beforeEach(() => (agent = new coap.Agent({ type: 'udp4' })));

  /**
   * @param {Record<string, unknown>} options @param {Buffer | string} payload
   * @returns {Promise<import('coap').IncomingMessage>}
   */
  const request = (options, payload = '') =>
    new Promise((resolve, reject) => {
      const sent = coap.request({ hostname: '127.0.0.1', method: 'POST', agent, ...options });
      sent.on('response', resolve).on('error', reject).end(payload);
    });

  test('sends confirmable and non-confirmable posts', async () => {
    const port = engine.listen('udp');
    expect((await request({ port, pathname: '/r/n/t' }, '1')).code).toBe('2.04');
    expect((await request({ port, pathname: '/r/n/t', confirmable: false }, '2')).code).toBe('2.04');
    const records = await engine.recordsOf('n', 2);
    expect(records.map(({ payload, qos }) => [String(payload), qos])).toEqual([
      ['1', 1],
      ['2', 0]
    ]);
  });

  test('takes a command as a notification', async () => {
    const port = engine.listen('udp');
    const answer = await request({ port, pathname: '/cmd/n', method: 'GET', observe: true });
    /** @type {string[]} */
    const words = [];
    answer.on('data', (chunk) => words.push(String(chunk)));
    expect(await engine.command('n', 'cmd/n/set', 'open')).toBe(0);
    expect(words.at(-1)).toBe('open');
    answer.close();
  });

  test('gets refusals with their codes', async () => {
    const port = engine.listen('udp');
    const code = async (/** @type {string} */ pathname, method = 'POST') =>
      (await request({ port, pathname, method }, method === 'GET' ? '' : '1')).code;
    expect([await code('/r'), await code('/x/y'), await code('/r/d', 'GET')]).toEqual([
      '4.00',
      '4.04',
      '4.05'
    ]);
    expect(await code('/cmd/d', 'GET')).toBe('4.04');
  });
});
