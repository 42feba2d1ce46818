'use strict';
// The TLS server with real TLS clients, and with those that violate the rules.

const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const { once } = require('node:events');
const { duplexPair } = require('node:stream');
const { bridge } = require('../../../nodes/lib/tls/stream-bridge');
const { until } = require('../../fixtures/devices/tls-listener');
const { FrontClients, closed, read } = require('../../fixtures/devices/tls-clients');
const { needs } = require('../../../bench/harness/tools');

const { describe, test } = needs('openssl');

let clients;
beforeAll(() => {
  clients = new FrontClients();
});
afterEach(() => clients.clear());
afterAll(() => clients.remove());

describe('TLS', () => {
  test('carries bytes in both directions, and an end, and leaves nothing', async () => {
    const front = await clients.start({});
    const socket = clients.tls(front, { allowHalfOpen: true });
    await once(socket, 'secureConnect');
    socket.end('hello');
    expect(await read(socket)).toBe('hello');
    expect(front.peers).toEqual([{ address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) }]);
    socket.destroy();
    await front.empty();
  });

  test("delivers the engine's data from before it closed", async () => {
    const front = await clients.start({}, (socket) => socket.end(Buffer.alloc(1 << 20, 7)));
    const all = await read(clients.tls(front));
    expect(all).toHaveLength(1 << 20);
    await front.empty();
  });

  test('slows the device down when an engine does not read', async () => {
    const front = await clients.start({}, (socket) => socket.pause());
    const socket = clients.tls(front);
    await once(socket, 'secureConnect');
    let sent = 0;
    const chunk = Buffer.alloc(65536);
    // Until the kernel and the streams accept nothing for a while: they hold a few MiB at most.
    for (let quiet = 0; quiet < 20 && sent < 1 << 26; quiet++) {
      while (socket.writableLength < 1 << 20 && sent < 1 << 26) {
        socket.write(chunk);
        sent += chunk.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(sent).toBeLessThan(1 << 25);
  });

  test('ends the stream of a device that vanishes, and the other way round', async () => {
    const streams = [];
    const front = await clients.start({}, (socket) => void streams.push(socket.resume()));
    const [one, other] = [clients.tls(front), clients.tls(front)];
    await Promise.all([once(one, 'secureConnect'), once(other, 'secureConnect')]);
    await until(
      () => streams.length === 2,
      () => 'streams'
    );
    const ended = once(streams[0], 'end');
    one.destroy();
    await ended;
    streams[0].end();
    streams[1].destroy();
    await closed(other.resume());
    await front.empty();
  });

  test('closes a device that does not close when the engine ends the connection, or takes nothing', async () => {
    const limits = { lingerMs: 100, stallMs: 300 };
    /** @type {[import('node:stream').Duplex, import('node:stream').Duplex][]} */
    const pairs = [];
    const server = net.createServer({ allowHalfOpen: true });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const open = async () => {
      const device = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const [far] = await once(server, 'connection');
      const [near, engine] = duplexPair({ allowHalfOpen: true });
      bridge(far, near, limits);
      pairs.push([far, near]);
      return { device, engine };
    };
    try {
      const quiet = await open();
      quiet.device.resume();
      quiet.engine.resume().end();
      const stalled = await open();
      // More than all buffers hold.
      stalled.engine.write(Buffer.alloc(32 << 20));
      for (const [far, near] of pairs)
        await until(
          () => far.destroyed && near.destroyed,
          () => 'open'
        );
      for (const { device } of [quiet, stalled]) device.destroy();
    } finally {
      server.close();
    }
  });

  test('refuses TLS 1.1 and, where configured, 1.2', async () => {
    const front = await clients.start({ minTls: 'TLSv1.3' });
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.2', ciphers: 'ALL@SECLEVEL=0' };
    await closed(clients.tls(front, options));
    await front.refused('ERR_SSL_UNSUPPORTED_PROTOCOL');
  });

  test('refuses a foreign ALPN protocol, but accepts a client without one', async () => {
    const front = await clients.start({ alpn: ['mqtt'] });
    await closed(clients.tls(front, { ALPNProtocols: ['h2'] }));
    const good = clients.tls(front, { ALPNProtocols: ['x', 'mqtt'] });
    await once(good, 'secureConnect');
    expect(good.alpnProtocol).toBe('mqtt');
    await once(clients.tls(front), 'secureConnect');
  });
});

test('accepts two connections of one address and port to two of its own', async () => {
  const front = await clients.start({ host: '0.0.0.0' });
  const plain = async (host, localPort) => {
    const socket = net.connect({ port: front.port, host, localAddress: '127.0.0.9', localPort });
    await once(socket, 'connect');
    return socket;
  };
  const first = await plain('127.0.0.1', 0);
  const second = await plain('127.0.0.2', first.localPort);
  await until(
    () => front.front.state.halfOpen === 2,
    () => JSON.stringify(front.front.state)
  );
  for (const socket of [first, second]) {
    const secure = clients.tls(front, { socket, host: undefined, port: undefined, servername: 'localhost' });
    await once(secure, 'secureConnect');
    secure.write('hello');
    expect(String((await once(secure, 'data'))[0])).toBe('hello');
  }
});

describe('bad clients of TLS', () => {
  test('sends plain MQTT to the TLS port', async () => {
    const front = await clients.start({});
    await closed(clients.plain(front, '\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00').resume());
    expect(Object.keys(front.front.state.refused)[0]).toMatch(/^ERR_SSL/);
    await front.empty();
  });

  test('stall in the handshake, after nothing and in the middle', async () => {
    const front = await clients.start({ handshakeTimeoutMs: 80 });
    const hello = Buffer.from('160301020001', 'hex');
    await Promise.all(['', hello].map((bytes) => closed(clients.plain(front, bytes).resume())));
    expect(await front.refused('time-out')).toBe(2);
    await front.empty();
  });

  test('start too many handshakes: the oldest end, and honest devices still connect', async () => {
    const front = await clients.start({ maxHalfOpen: 3 });
    const stalled = [];
    for (let i = 0; i < 10; i++) {
      stalled.push(clients.plain(front));
      await once(stalled[i], 'connect');
    }
    await until(
      () => front.front.state.accepted === 10,
      () => 'accepted'
    );
    expect(front.front.state.refused.evicted).toBe(7);
    await once(clients.tls(front), 'secureConnect');
    await until(
      () => front.front.state.open === 1,
      () => 'open'
    );
  });

  test('open too many connections', async () => {
    const front = await clients.start({ maxConnections: 1 });
    await once(clients.tls(front), 'secureConnect');
    await closed(clients.tls(front));
    await front.refused('full');
  });

  test('have no certificate where one is required', async () => {
    const front = await clients.start({ tls: clients.withAuthority, clientCert: 'required' });
    await closed(clients.tls(front).resume());
    await front.refused('no certificate');
    expect(front.peers).toEqual([]);
  });

  test.each(['wanted', 'required'])(
    'have a certificate of another authority where one is %s',
    async (clientCert) => {
      const stranger = clients.authority.selfSigned();
      const front = await clients.start({ tls: clients.withAuthority, clientCert });
      await closed(clients.tls(front, stranger).resume());
      await front.refused('DEPTH_ZERO_SELF_SIGNED_CERT');
      expect(front.peers).toEqual([]);
    }
  );

  test('have a certificate that has expired, or is not valid yet', async () => {
    const front = await clients.start({ tls: clients.withAuthority, clientCert: 'required' });
    const old = clients.authority.issue({ name: 'old', from: -3, to: -1 });
    const early = clients.authority.issue({ name: 'early', from: 1, to: 2 });
    await closed(clients.tls(front, old).resume());
    await front.refused('CERT_HAS_EXPIRED');
    await closed(clients.tls(front, early).resume());
    await front.refused('CERT_NOT_YET_VALID');
  });

  test('have a certificate without the required name', async () => {
    const front = await clients.start({
      tls: clients.withAuthority,
      clientCert: 'required',
      certIdentity: 'san'
    });
    const nameless = clients.authority.issue({ name: 'x', san: 'IP:127.0.0.1' });
    await closed(clients.tls(front, nameless).resume());
    await front.refused('no name in the certificate');
  });
});

describe('certificates of devices', () => {
  test.each([
    ['cn', 'pump-1'],
    ['san', 'pump-one']
  ])('by %s name the device %s', async (certIdentity, name) => {
    const front = await clients.start({ tls: clients.withAuthority, clientCert: 'wanted', certIdentity });
    await once(clients.tls(front, clients.device), 'secureConnect');
    await until(
      () => front.peers.length === 1,
      () => 'peer'
    );
    expect(front.peers[0].device).toBe(name);
    await once(clients.tls(front), 'secureConnect');
    await until(
      () => front.peers.length === 2,
      () => 'peer'
    );
    expect(front.peers[1]).not.toHaveProperty('device');
  });

  test('name the same device in a resumed session', async () => {
    const front = await clients.start({ tls: clients.withAuthority, clientCert: 'required' });
    const first = clients.tls(front, clients.device);
    const [session] = await once(first, 'session');
    const second = clients.tls(front, { session });
    await once(second, 'secureConnect');
    expect(second.isSessionReused()).toBe(true);
    await until(
      () => front.peers.length === 2,
      () => JSON.stringify(front.front.state)
    );
    expect(front.peers.map((peer) => peer.device)).toEqual(['pump-1', 'pump-1']);
  });

  test('are required beside a login, and name no device', async () => {
    const front = await clients.start({
      tls: clients.withAuthority,
      clientCert: 'required',
      certIsLogin: false
    });
    await once(clients.tls(front, clients.device), 'secureConnect');
    await until(
      () => front.peers.length === 1,
      () => 'peer'
    );
    expect(front.peers[0]).not.toHaveProperty('device');
  });
});

describe('pre-shared keys', () => {
  const key = crypto.createHash('sha256').update('k').digest().subarray(0, 16);
  const psk = (identity, secret = key, more = {}) => ({
    ciphers: 'TLS_AES_128_GCM_SHA256:PSK-AES128-GCM-SHA256',
    checkServerIdentity: () => undefined,
    pskCallback: () => ({ psk: secret, identity }),
    ...more
  });
  const keyFile = (text) => {
    const file = clients.authority.file(`keys-${crypto.randomUUID()}`);
    fs.writeFileSync(file, text);
    return file;
  };

  test.each(['TLSv1.2', 'TLSv1.3'])(
    'name the device by the identity (%s), without any certificate',
    async (version) => {
      const front = await clients.start({ tls: {}, pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
      const range = { minVersion: version, maxVersion: version };
      await once(clients.tls(front, psk('meter-1', key, range)), 'secureConnect');
      await until(
        () => front.peers.length === 1,
        () => JSON.stringify(front.front.state)
      );
      expect(front.peers[0].device).toBe('meter-1');
    }
  );

  test('are refused with a wrong key or an unknown identity', async () => {
    const front = await clients.start({ tls: {}, pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
    await closed(clients.tls(front, psk('meter-1', Buffer.alloc(16))).resume());
    await closed(clients.tls(front, psk('meter-2')).resume());
    expect(front.peers).toEqual([]);
    await front.empty();
  });

  test('are required together with a certificate as the alternative: neither means no connection', async () => {
    const front = await clients.start({ pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
    await closed(clients.tls(front).resume());
    await front.refused('no key');
  });

  test('do not name a device by an identity whose key was requested but not used', async () => {
    const front = await clients.start({ pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
    // The key is bound to SHA-256: with this suite OpenSSL skips it, right or wrong, and uses the certificate of the
    // listener.
    front.front.tls.setSecureContext({ ...clients.own, ciphers: 'TLS_AES_256_GCM_SHA384' });
    const client = psk('meter-1', Buffer.alloc(16, 1), {
      ciphers: 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256'
    });
    const socket = clients.tls(front, client);
    await once(socket, 'secureConnect');
    expect(socket.isSessionReused()).toBe(false);
    await closed(socket.resume());
    await front.refused('no key');
    expect(front.peers).toEqual([]);
  });

  test('are known without a restart when added, and a bad file changes nothing', async () => {
    const file = keyFile('');
    const front = await clients.start({ tls: {}, pskFile: file });
    fs.writeFileSync(file, `meter-1:${key.toString('hex')}\n`);
    await front.front.checkFiles();
    await once(clients.tls(front, psk('meter-1')), 'secureConnect');
    fs.writeFileSync(file, 'meter-1:xyz\n');
    await front.front.checkFiles();
    expect(front.problems).toEqual([expect.stringMatching(/^Line 1 .* hexadecimal .* stays in use\.$/)]);
    await once(clients.tls(front, psk('meter-1')), 'secureConnect');
  });
});

describe('files', () => {
  const copy = (issued, name) => {
    const files = { cert: clients.authority.file(`${name}.pem`), key: clients.authority.file(`${name}.key`) };
    fs.copyFileSync(issued.certFile, files.cert);
    fs.copyFileSync(issued.keyFile, files.key);
    return files;
  };
  const subjectOf = async (front) => {
    const socket = clients.tls(front, { checkServerIdentity: () => undefined });
    await once(socket, 'secureConnect');
    return [socket, socket.getPeerCertificate().subject.CN];
  };

  test('are used by new connections when renewed, and open connections stay', async () => {
    const tlsFiles = copy(clients.server, 'renewed');
    const front = await clients.start({ tls: {}, tlsFiles });
    const [open, before] = await subjectOf(front);
    copy(clients.authority.issue({ name: 'server-2' }), 'renewed');
    await front.front.checkFiles();
    expect([before, (await subjectOf(front))[1]]).toEqual(['server', 'server-2']);
    open.write('still here');
    expect(String((await once(open, 'data'))[0])).toBe('still here');
  });

  test('change nothing, and are reported, in half a renewal, without a key or with an expired certificate', async () => {
    const tlsFiles = copy(clients.server, 'half');
    const front = await clients.start({ tls: {}, tlsFiles });
    fs.copyFileSync(clients.authority.issue({ name: 'server-2' }).certFile, tlsFiles.cert);
    await front.front.checkFiles();
    copy(clients.authority.issue({ name: 'server-3', from: -3, to: -1 }), 'half');
    await front.front.checkFiles();
    fs.writeFileSync(tlsFiles.key, '');
    await front.front.checkFiles();
    expect(front.problems).toEqual([
      expect.stringMatching(
        /KEY_VALUES_MISMATCH.* Use a matching pair\. The previous version stays in use\.$/
      ),
      expect.stringMatching(/expired on/),
      expect.stringMatching(/no private key|cannot be used/)
    ]);
    expect((await subjectOf(front))[1]).toBe('server');
  });

  test.each([
    [{ tls: {} }, /no certificate or no private key/],
    [
      { tlsFiles: { cert: '/none.pem', key: '/none.key' } },
      /\/none\.pem cannot be read \(ENOENT\)\. There is no such file/
    ],
    [{ tls: { cert: 'x', key: 'y' } }, /Use PEM files/],
    [{ clientCert: 'wanted' }, /no CA certificate/]
  ])('explain why a listener cannot work: %j', async (options, reason) => {
    await expect(clients.start(options)).rejects.toThrow(reason);
  });
});
