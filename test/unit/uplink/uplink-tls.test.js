'use strict';

// Why a TLS connection is not made, and certificates that change on disk: real certificates, a real TLS server.

const { X509Certificate } = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const { once } = require('node:events');
const { Authority } = require('../../fixtures/devices/authority');
const { until } = require('../../../bench/harness/broker');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { UplinkBench } = require('../../fixtures/uplink/uplink-bench');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

const { describe: withOpenssl } = needs('openssl');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The implementation that makes the connections. */
let nativePath = '';

async function startBroker(tlsOptions, manners = {}) {
  const broker = await ScriptedBroker.start(manners, tlsOptions);
  cleanups.push(() => broker.close());
  return broker;
}

function startUplink(url, options) {
  const bench = new UplinkBench({ url, nativePath, ...options });
  cleanups.push(() => bench.stop(0));
  return bench;
}

async function refusal(bench, state = 'refused') {
  await until(() => bench.state === state);
  return bench.states.at(-1);
}

/** An error that the broker does not report has the same sentence in both TLS implementations. */
for (const [by, addon] of [
  ['the engine', 'memory-native'],
  ['Node', 'memory-native-without-connection']
])
  withOpenssl(`TLS of the uplink, by ${by}`, () => {
    beforeAll(() => (nativePath = require.resolve(`../../fixtures/uplink/${addon}`)));
    /** @type {Authority} */
    let authority;
    /** @type {{cert: string, key: string, certFile: string, keyFile: string}} */
    let good;
    beforeAll(() => {
      authority = new Authority();
      good = authority.issue();
    });
    afterAll(() => authority.remove());

    test.each([
      ['expired', { from: -3, to: -1 }, 'CERT_HAS_EXPIRED', /has expired\. Renew it on the broker/],
      [
        'not valid yet',
        { from: 1, to: 3 },
        'CERT_NOT_YET_VALID',
        /not valid yet\. Correct this machine's clock/
      ],
      [
        'for another host',
        { san: 'DNS:other.example.com' },
        'ERR_TLS_CERT_ALTNAME_INVALID',
        /not for localhost/
      ]
    ])('reports a certificate that is %s', async (_, how, code, sentence) => {
      const broker = await startBroker(authority.issue(how));
      const bench = startUplink(broker.url, { tls: { ca: authority.ca } });
      bench.engine.push({ topic: 'secret' });
      const { reason, code: shown } = await refusal(bench);
      expect([shown, reason]).toEqual([code, expect.stringMatching(sentence)]);
      expect(broker.received).toEqual([]);
      expect(bench.engine.held.size).toBe(1);
    });

    test('reports an authority that is not known here, with and without its certificate in the chain', async () => {
      const other = new Authority();
      cleanups.push(() => other.remove());
      for (const cert of [good.cert, good.cert + authority.ca]) {
        const broker = await startBroker({ ...good, cert });
        const { reason } = await refusal(startUplink(broker.url, { tls: { ca: other.ca } }));
        expect(reason).toMatch(/authority that is not trusted here\. Add the authority's certificate/);
      }
    });

    test('reports a self-signed certificate', async () => {
      const broker = await startBroker(authority.selfSigned());
      const { reason, code } = await refusal(startUplink(broker.url, {}));
      expect([code, reason]).toEqual([
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        expect.stringMatching(/self-signed.*Add this/)
      ]);
    });

    test('reports a broker of TLS 1.2 alone, and the remedy', async () => {
      const broker = await startBroker({ ...good, maxVersion: 'TLSv1.2' });
      const { reason } = await refusal(startUplink(broker.url, { tls: { ca: authority.ca } }));
      expect(reason).toMatch(
        /does not speak TLS 1\.3\. Update the broker, or set the minimum TLS version to 1\.2/
      );
      const older = startUplink(broker.url, { tls: { ca: authority.ca }, minTls: 'TLSv1.2' });
      await until(() => older.state === 'connected');
    });

    test('sends nothing in clear to a port that does not speak TLS', async () => {
      const chunks = [];
      const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', (bytes) => {
          chunks.push(bytes);
          socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      cleanups.push(() => server.close());
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      const { reason } = await refusal(
        startUplink(`mqtts://localhost:${port}`, { username: 'u', password: 'secret' })
      );
      expect(reason).toMatch(/does not speak TLS\. Use its TLS port/);
      expect(Buffer.concat(chunks).includes('secret')).toBe(false);
    });

    test('reports a broker that requires a client certificate, or another one', async () => {
      const broker = await startBroker({ ...good, ca: authority.ca, requestCert: true });
      const without = await refusal(startUplink(broker.url, { tls: { ca: authority.ca } }));
      expect(without.reason).toMatch(/refused the TLS connection .*Check the certificate and key/);
      const other = new Authority();
      cleanups.push(() => other.remove());
      const { cert, key } = other.issue();
      // Node's server ends the connection silently.
      const wrong = await refusal(
        startUplink(broker.url, { tls: { ca: authority.ca, cert, key } }),
        'disconnected'
      );
      expect(wrong.reason).toMatch(/before it accepted this client.*certificate and key/);
    });

    test.each([
      [
        'a key of another certificate',
        () => ({ key: authority.issue().keyFile }),
        /does not belong to the certificate/
      ],
      ['no PEM', () => ({ cert: write('this is no certificate') }), /not in PEM format/],
      [
        'a damaged certificate',
        () => ({ cert: write(good.cert.replace(/[A-Z]/g, '!')) }),
        /is damaged|not in PEM format/
      ],
      ['no PEM as key', () => ({ key: write('this is no key') }), /not in PEM format/],
      [
        'a key with a passphrase',
        () => ({ key: authority.encrypt(good.keyFile, 'open') }),
        /is encrypted, and the passphrase does not decrypt it/
      ],
      [
        'a file that is away',
        () => ({ key: authority.file('gone') }),
        /private key .* cannot be read \(ENOENT\)\. There is no such file/
      ],
      ['a folder', () => ({ ca: authority.folder }), /authority's certificate .* cannot be read \(EISDIR\)/]
    ])('explains %s, keeps records, and connects when it is corrected', async (_, wrong, sentence) => {
      const broker = await startBroker({ ...good, ca: authority.ca, requestCert: true });
      const files = { ca: authority.caFile, cert: good.certFile, key: good.keyFile };
      const link = authority.file(`link-${Date.now()}-${Math.random()}`);
      const [[role, path]] = Object.entries(wrong());
      fs.symlinkSync(path, link);
      const bench = startUplink(broker.url, { tlsFiles: { ...files, [role]: link } });
      bench.engine.push({ topic: 'kept' });
      const { reason } = await refusal(bench);
      expect(reason).toMatch(sentence);
      expect(bench.engine.held.size).toBe(1);
      fs.unlinkSync(link);
      fs.symlinkSync(files[role], link);
      await until(() => bench.engine.held.size === 0);
    });

    test('accepts a correct passphrase and reports a wrong one', async () => {
      const broker = await startBroker({ ...good, ca: authority.ca, requestCert: true });
      const tlsFiles = {
        ca: authority.caFile,
        cert: good.certFile,
        key: authority.encrypt(good.keyFile, 'open')
      };
      const wrong = await refusal(startUplink(broker.url, { tlsFiles, tls: { passphrase: 'shut' } }));
      expect(wrong.reason).toMatch(/passphrase does not decrypt it/);
      const right = startUplink(broker.url, { tlsFiles, tls: { passphrase: 'open' } });
      await until(() => right.state === 'connected');
    });

    test('takes the certificate and the authority from a PFX file, and reads it again when it changes', async () => {
      const broker = await startBroker({ ...good, ca: authority.ca, requestCert: true });
      const serials = [];
      broker.server.on('secureConnection', (socket) =>
        serials.push(socket.getPeerCertificate().serialNumber)
      );
      const pfx = authority.pfx(good, 'open');
      const bench = startUplink(broker.url, { tlsFiles: { pfx }, tls: { passphrase: 'open' } });
      await until(() => bench.state === 'connected');
      bench.engine.push({ topic: 't' });
      await until(() => bench.engine.held.size === 0);
      fs.renameSync(authority.pfx(authority.issue(), 'open'), pfx);
      await until(() => serials.length === 2);
      expect(serials[0]).not.toBe(serials[1]);
      // As in a node without a file, for example.
      const held = startUplink(broker.url, { tls: { pfx: fs.readFileSync(pfx), passphrase: 'open' } });
      await until(() => held.state === 'connected');
    });

    test.each([
      [
        'a wrong passphrase',
        () => authority.pfx(good, 'open'),
        /PFX file .* Correct the passphrase in the TLS node/
      ],
      ['another file', () => good.certFile, /PFX file .* Use a PKCS #12 file/],
      ['no file', () => '/none.p12', /PFX file \/none\.p12 cannot be read \(ENOENT\)/]
    ])('reports a PFX file that cannot be used: %s', async (_, file, sentence) => {
      const broker = await startBroker({ ...good, ca: authority.ca });
      const bench = startUplink(broker.url, { tlsFiles: { pfx: file() }, tls: { passphrase: 'shut' } });
      expect((await refusal(bench)).reason).toMatch(sentence);
    });

    test('uses renewed certificates within 10 s, by an orderly reconnect, but not half-written ones', async () => {
      const broker = await startBroker({ ...good, ca: authority.ca, requestCert: true });
      const serials = [];
      broker.server.on('secureConnection', (socket) =>
        serials.push(socket.getPeerCertificate().serialNumber)
      );
      const tlsFiles = { ca: authority.caFile, cert: write(good.cert), key: write(good.key) };
      const bench = startUplink(broker.url, { tlsFiles });
      await until(() => bench.state === 'connected');
      const renewed = authority.issue();
      replace(tlsFiles.cert, renewed.cert);
      await until(() =>
        bench.problems.some(({ reason }) => /does not belong.*continues with the previous files/.test(reason))
      );
      expect(serials).toHaveLength(1);
      expect(bench.state).toBe('connected');
      replace(tlsFiles.key, renewed.key);
      const replacedAt = Date.now();
      const timer = setInterval(() => bench.engine.push({ topic: 'load' }), 5);
      cleanups.push(() => clearInterval(timer));
      await until(() => serials.length === 2, 20000);
      expect(Date.now() - replacedAt).toBeLessThan(10000 * PATIENCE);
      expect(serials[0]).not.toBe(serials[1]);
      expect(broker.goodbyes).toBe(1);
      await until(() => bench.state === 'connected');
      clearInterval(timer);
      await until(() => bench.engine.held.size === 0);
      expect(bench.states.find(({ code }) => code === 'CERTIFICATES').reason).toMatch(
        /renewed\. Reconnecting/
      );
      // Orderly: nothing was in flight, so nothing arrived twice.
      expect(broker.received.every(({ dup }) => !dup)).toBe(true);
    });

    test('reports when the certificate of the broker ends', async () => {
      const issued = authority.issue({ to: 3 });
      const broker = await startBroker({ ...issued, ca: authority.ca });
      const bench = startUplink(broker.url, { tlsFiles: { ca: authority.caFile } });
      await until(() => bench.state === 'connected');
      const { validTo } = new X509Certificate(issued.cert);
      expect(bench.states.at(-1).sessions[0].certificateEnds).toBe(Date.parse(validTo));
    });

    test('ends the wait after a refusal when the authority is corrected on disk', async () => {
      const other = new Authority();
      cleanups.push(() => other.remove());
      const broker = await startBroker(good, { connack: 0x87 });
      const ca = write(authority.ca);
      const bench = startUplink(broker.url, { tlsFiles: { ca } });
      await refusal(bench);
      expect(bench.states.at(-1).reason).toMatch(/Retrying in \d\d s\./);
      broker.manners = {};
      replace(ca, `${authority.ca}\n`);
      await until(() => bench.state === 'connected');
    });

    let files = 0;
    /** @param {string} text @returns {string} path */
    function write(text) {
      const file = authority.file(`written-${++files}`);
      fs.writeFileSync(file, text);
      return file;
    }

    /** Replaces a file as cert-manager and certbot do. @param {string} file @param {string} text */
    function replace(file, text) {
      fs.writeFileSync(`${file}.new`, text);
      fs.renameSync(`${file}.new`, file);
    }
  });

test('offers no way to skip verification', () => {
  const options = { url: 'mqtts://x', gateway: 'g', tls: { rejectUnauthorized: false } };
  expect(() => checkOptions(options, '')).toThrow(/does not verify the broker's certificate/);
});
