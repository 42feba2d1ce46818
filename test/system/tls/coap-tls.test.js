'use strict';
// libcoap's client over TLS into the real engine (docs/use/coap.md, Interoperability).

const fs = require('node:fs');
const { Authority } = require('../../fixtures/devices/authority');
const { Child } = require('../../../bench/harness/child');
const { FrontBench } = require('../../fixtures/devices/tls-bench');
const { until } = require('../../fixtures/devices/tls-listener');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('coap-client-openssl', 'openssl');

const KEY = '0123456789abcdef0123456789abcdef';

jest.setTimeout(30000);

describe('CoAP over TLS', () => {
  /** @type {Authority} */
  let authority;
  /** @type {FrontBench} */
  let bench;
  beforeAll(() => (authority = new Authority()));
  beforeEach(() => (bench = new FrontBench({ source: { protocol: 'coap' } })));
  afterEach(() => bench.close());
  afterAll(() => authority.remove());

  /** @param {object} options */
  const open = (options) => {
    const { cert, key } = authority.issue();
    const tls = { cert, key, ca: authority.ca };
    return bench.open({ transport: 'tls', alpn: ['coap'], tls, ...options }, undefined);
  };
  /** @param {string[]} args @returns {Promise<string>} */
  async function client(...args) {
    const child = new Child('coap-client-openssl', [
      '-B',
      '5',
      '-v',
      '6',
      '-m',
      'post',
      '-e',
      '21.5',
      ...args
    ]);
    await child.exited;
    return child.output;
  }

  test('works with the certificate of the gateway alone', async () => {
    const port = await open({});
    const answer = await client('-R', authority.caFile, `coaps+tcp://localhost:${port}/r/pump-1/temp`);
    expect(answer).toMatch(/2\.04/);
    await until(() => (bench.ring(), bench.records.length === 1), 'the record');
    expect(bench.records[0]).toContain('pump-1r/pump-1/temp21.5');
  });

  test('takes a device with a certificate as the named one, and no other', async () => {
    const port = await open({ clientCert: 'required', certIsLogin: true });
    const { certFile, keyFile } = authority.issue({ name: 'pump-7' });
    const own = ['-R', authority.caFile, '-c', certFile, '-j', keyFile];
    expect(await client(...own, `coaps+tcp://localhost:${port}/r/pump-7/temp`)).toMatch(/2\.04/);
    expect(await client(...own, `coaps+tcp://localhost:${port}/r/pump-8/temp`)).toMatch(/4\.03/);
    await until(() => (bench.ring(), bench.records.length === 1), 'the record');
  });

  test('takes a device with a pre-shared key as the named one', async () => {
    const pskFile = authority.file('keys');
    fs.writeFileSync(pskFile, `pump-9:${Buffer.from(KEY).toString('hex')}\n`, { mode: 0o600 });
    const port = await open({ pskFile, certIsLogin: true });
    const url = `coaps+tcp://localhost:${port}`;
    expect(await client('-k', KEY, '-u', 'pump-9', `${url}/r/pump-9/temp`)).toMatch(/2\.04/);
    expect(await client('-k', KEY, '-u', 'pump-9', `${url}/r/pump-1/temp`)).toMatch(/4\.03/);
    expect(await client('-k', KEY.replace('0', '1'), '-u', 'pump-9', `${url}/r/pump-9/temp`)).not.toMatch(
      /2\.04/
    );
    await until(() => (bench.ring(), bench.records.length === 1), 'the record');
  });
});
