'use strict';
// libcoap's client against the engine, over UDP and TCP (docs/use/coap.md, Interoperability).

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { CoapEngine } = require('../fixtures/devices/coap-engine');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('coap-client-notls');

jest.setTimeout(30000);

describe('libcoap', () => {
  /** @type {CoapEngine} */
  let engine;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
  beforeEach(() => (engine = new CoapEngine({}, { acknowledge: 'safe' })));
  afterEach(() => engine.close());
  afterAll(() => fs.rmSync(folder, { recursive: true }));

  /** @param {string[]} args @returns {Promise<string>} its output */
  async function client(...args) {
    const child = new Child('coap-client-notls', ['-B', '10', '-v', '6', ...args]);
    await child.exited;
    return child.output;
  }

  for (const [transport, scheme] of /** @type {const} */ ([
    ['udp', 'coap'],
    ['tcp', 'coap+tcp']
  ])) {
    test(`turns a post into a record and answers 2.04 over ${transport}`, async () => {
      const url = `${scheme}://127.0.0.1:${engine.listen(transport)}/r/pump-1/temp?c=high`;
      expect(await client('-m', 'post', '-e', '21.5', url)).toMatch(/2\.04/);
      expect(await engine.recordsOf('pump-1')).toMatchObject([
        { topic: 'r/pump-1/temp', payload: Buffer.from('21.5'), priority: 2, qos: 1 }
      ]);
    });

    test(`turns 100,000 bytes into one record over ${transport}`, async () => {
      const file = path.join(folder, 'body');
      const body = Buffer.alloc(100000, 'seganet ');
      fs.writeFileSync(file, body);
      const url = `${scheme}://127.0.0.1:${engine.listen(transport)}/r/big/file`;
      expect(await client('-m', 'put', '-b', '1024', '-f', file, url)).toMatch(/2\.04/);
      const [record, ...others] = await engine.recordsOf('big');
      expect(record.payload.equals(body)).toBe(true);
      expect(others).toEqual([]);
    });

    test(`delivers a command as a notification over ${transport}`, async () => {
      const port = engine.listen(transport);
      const child = new Child('coap-client-notls', [
        '-s',
        '2',
        '-B',
        '10',
        '-w',
        `${scheme}://127.0.0.1:${port}/cmd/valve`
      ]);
      await engine.listening('valve');
      expect(await engine.command('valve', 'cmd/valve/set', 'open')).toBe(0);
      await child.until((output) => output.includes('open'));
      await child.exited;
    });

    test(`answers discovery, and refusals with the reason, over ${transport}`, async () => {
      const base = `${scheme}://127.0.0.1:${engine.listen(transport)}`;
      expect(await client(`${base}/.well-known/core`)).toContain('</r>');
      if (transport === 'udp')
        expect(await client('-m', 'post', '-e', '1', `${base}/nowhere`)).toMatch(/4\.04/);
      if (transport === 'udp') expect(await client('-m', 'post', '-e', '1', `${base}/r`)).toMatch(/4\.00/);
      expect(await client('-m', 'get', `${base}/r/d`)).toMatch(/4\.05/);
    });
  }

  test('takes a non-confirmable post over udp', async () => {
    const url = `coap://127.0.0.1:${engine.listen('udp')}/r/non/t`;
    await client('-N', '-m', 'post', '-e', '1', url);
    expect(await engine.recordsOf('non')).toMatchObject([{ qos: 0 }]);
  });

  test('repeats lost datagrams over udp, which become one record', async () => {
    const url = `coap://127.0.0.1:${engine.listen('udp')}/r/lossy/t`;
    expect(await client('-l', '1', '-m', 'post', '-e', '1', url)).toMatch(/2\.04/);
    expect(await engine.recordsOf('lossy')).toHaveLength(1);
  });
});
