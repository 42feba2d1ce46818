'use strict';
// Two gateways that are regions of one cloud: real engines, real links, a real Kafka, and one file of accounts.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { readTopics } = require('../../../bench/harness/kafka/client');
const { freePort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { RELEASE } = require('../../../flows/demo/ocf/coap-tcp');
const { Authority } = require('../../fixtures/devices/authority');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { asLamp, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');
const { PATIENCE } = require('../../../bench/harness/patience');

const { describe } = needs('openssl', ...kafkaTools());
const TOPIC = 'presence.test';

jest.setTimeout(240000);

/** A TCP relay that can stop passing bytes without closing a connection. */
class Stall {
  isStalled = false;
  /** @type {net.Socket[]} */
  #sockets = [];
  #server;

  /** @param {number} target */
  constructor(target) {
    this.#server = net.createServer((near) => {
      const far = net.connect(target, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near]
      ]) {
        this.#sockets.push(from);
        from.on('error', () => {});
        from.on('close', () => to.destroy());
        from.on('data', (bytes) => this.isStalled || to.write(bytes));
      }
    });
  }

  /** @param {number} port @returns {Promise<void>} */
  listen(port) {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', () => resolve()));
  }

  stop() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

describe('two gateways of one cloud', () => {
  /** @type {KafkaBroker} */
  let broker;
  /** @type {Authority} */
  let authority;
  /** @type {Stall} */
  let stall;
  let a;
  let b;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-regions-'));
  const sid = randomUUID();
  const here = scenes(() => a);
  const there = scenes(() => b);

  /** @param {string} regionAddress @param {object} [more] @param {object[]} [nodes] */
  function parts(regionAddress, more = {}, nodes = []) {
    const { certFile: cert, keyFile: key } = authority.issue({ san: 'IP:127.0.0.1' });
    return {
      node: {
        sid,
        storeFile: path.join(folder, 'ocf.db'),
        regionAddress,
        regionHost: '127.0.0.1',
        regionTls: 'link',
        regionKafka: 'kafka',
        regionTopic: TOPIC,
        requestTimeoutMs: '30000',
        ...more
      },
      more: [
        ...nodes,
        { id: 'link', type: 'tls-config', cert, key, ca: authority.caFile, verifyservercert: true },
        {
          id: 'kafka',
          type: 'seganet-kafka',
          brokers: broker.address,
          security: 'plaintext',
          reconnectMaxMs: '1000'
        }
      ]
    };
  }

  beforeAll(async () => {
    authority = new Authority();
    broker = await new KafkaBroker().start();
    // The region with the lower address dials first: b must, because only the way to a leads through the relay.
    const [other, own, behind] = [await freePort(), await freePort(), await freePort()].sort((x, y) =>
      `${x}` < `${y}` ? -1 : 1
    );
    // The address of region a is that of the relay; 127.0.0.1:{behind} is its own port.
    stall = new Stall(behind);
    await stall.listen(own);
    const shadow = {
      id: 'shadow',
      type: 'seganet-shadow',
      z: 'tab',
      x: 0,
      y: 0,
      engine: 'engine',
      wires: [[], []]
    };
    a = await startGatewayCloud(
      parts(`coaps+tcp://127.0.0.1:${own}`, { regionPort: String(behind) }, [shadow])
    );
    b = await startGatewayCloud(parts(`coaps+tcp://127.0.0.1:${other}`));
  });
  afterAll(async () => {
    await a?.stop();
    await b?.stop();
    stall?.stop();
    await broker?.stop();
    authority?.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** @param {any} client @param {string} href @param {string} code @param {object} [options] */
  const answers = (client, href, code, options) =>
    eventually(async () => {
      const answer = await client.request('GET', href, options);
      return answer.code === code && answer;
    }, `${code} from ${href}`);

  const state = async (client, device) =>
    (await client.request('GET', '/oic/prs', { query: [`di=${device.di}`] })).value.prslist[0]?.state;

  test('read, observe, take over, lose, restart', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    const second = await there.signedIn(user);

    // The option that names a user to another gateway is nothing on an ordinary connection.
    const stranger = await there.signedIn(newUser());
    await answers(controller, device.href, '2.05');
    for (const each of [stranger, await here.signedIn(newUser())]) {
      const options = [[65002, Buffer.from(controller.uid)]];
      expect((await each.request('GET', device.href, { options })).code).toBe('4.03');
    }
    expect(device.requests).toHaveLength(1);

    // Read and observe: one observation at the device for two controllers at the other gateway.
    const seen = [[], []];
    for (const [i, client] of [controller, second].entries()) {
      const first = await client.request('GET', device.href, {
        observe: 0,
        onNext: ({ code, value }) => seen[i].push(code === '2.05' ? value.on : code)
      });
      expect(first).toMatchObject({ code: '2.05', observe: expect.any(Number) });
    }
    expect((await controller.request('POST', device.href, { body: { on: true } })).code).toBe('2.04');
    await eventually(() => seen.every((all) => all.includes(true)), 'both see the change');
    expect(device.requests.filter(({ observe }) => observe === 0)).toHaveLength(1);
    const { value: links } = await controller.request('GET', '/oic/res', { query: ['rt=core.light'] });
    expect(links.map(({ href }) => href)).toContain(device.href);

    // Take over: the other connection is released, and nobody sees it off.
    const states = [];
    await controller.request('GET', '/oic/prs', {
      observe: 0,
      query: [`di=${device.di}`],
      onNext: ({ value }) => states.push(value.prslist[0].state)
    });
    const near = await here.signedIn(user);
    const moved = (await there.connected()).as(device);
    moved.serve = () => ({ body: { on: 'moved' } });
    expect((await moved.signIn()).code).toBe('2.04');
    await device.closed;
    expect(device.signals).toContain(RELEASE);
    await eventually(() => seen.every((all) => all.at(-1) === '5.03'), 'the observations end with 5.03');
    expect((await answers(near, device.href, '2.05')).value).toEqual({ on: 'moved' });
    expect(states).toEqual([]);
    const records = await readTopics(broker.address, [TOPIC], (all) =>
      all.some(({ key, value }) => String(key) === device.di && JSON.parse(String(value)).ci !== undefined)
    );
    expect(records.some(({ key }) => String(key).startsWith('region:'))).toBe(true);

    // A link that passes nothing: open requests end with 5.03, later ones are 5.03 at once.
    const back = (await here.connected()).as(device);
    back.serve = ({ query }) => (query.includes('late') ? undefined : { body: { on: 'back' } });
    expect((await back.signIn()).code).toBe('2.04');
    // Until its gateway knows that, the other connection serves requests.
    await moved.closed;
    expect((await answers(controller, device.href, '2.05')).value).toEqual({ on: 'back' });
    const late = controller.request('GET', device.href, { query: ['late'] });
    await eventually(() => back.requests.some(({ query }) => query.includes('late')), 'the request is there');
    stall.isStalled = true;
    expect((await late).code).toBe('5.03');
    const from = performance.now();
    expect((await controller.request('GET', device.href)).code).toBe('5.03');
    expect(performance.now() - from).toBeLessThan(5000 * PATIENCE);
    stall.isStalled = false;
    await answers(controller, device.href, '2.05');

    // Kafka away: presence stands still, requests go on.
    await broker.kill();
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    expect(await state(controller, device)).toBe('on');
    await broker.again();

    // kill -9 of the device's gateway: 5.03 for what is open; then its start finds the device again.
    const ends = [];
    await controller.request('GET', device.href, { observe: 0, onNext: ({ code }) => ends.push(code) });
    const open = controller.request('GET', device.href, { query: ['late'] });
    await eventually(
      () => back.requests.filter(({ query }) => query.includes('late')).length > 1,
      'it is open'
    );
    a = await a.restart('SIGKILL', async () => {
      expect((await open).code).toBe('5.03');
      expect((await controller.request('GET', device.href)).code).toBe('5.03');
    });
    // It knows that the device is not signed in any more, and tells the others.
    await eventually(async () => (await state(controller, device)) === 'off', 'the device is off');
    const again = (await here.connected()).as(device);
    again.serve = () => ({ body: { on: 'again' } });
    expect((await again.signIn()).code).toBe('2.04');
    expect((await answers(controller, device.href, '2.05')).value).toEqual({ on: 'again' });
    expect([...a.problems(), ...b.problems()]).toEqual([]);
  });

  test('a shadow at one gateway writes to a device at the other, and waits for its sign-in there', async () => {
    const user = newUser();
    const device = await there.lamp(user);
    const controller = await here.signedIn(user);
    await answers(controller, device.href, '2.05');
    const address = `http://127.0.0.1:${a.gateway.adminPort}/seganet/shadow`;
    const desire = async (/** @type {boolean} */ on) => {
      const body = JSON.stringify({ device: device.di, desired: { '/light/1': { on } } });
      const headers = { 'content-type': 'application/json' };
      expect((await fetch(address, { method: 'POST', headers, body })).status).toBe(200);
    };
    const reported = async () => (await (await fetch(`${address}?device=${device.di}`)).json()).reported;
    await desire(true);
    await eventually(async () => (await reported())?.['/light/1'].on === true, 'it is on', 60000);
    // A notification through the other gateway: what is desired is written again.
    await eventually(() => device.observers.length > 0, 'it is observed');
    device.state.on = false;
    for (const each of device.observers)
      device.respond(each.token, { observe: ++each.next, body: { on: false } });
    await eventually(() => device.state.on, 'it is on again', 60000);
    device.destroy();
    await eventually(async () => (await state(controller, device)) === 'off', 'it is off');
    await desire(false);
    const again = asLamp((await there.connected()).as(device), { on: true });
    expect((await again.signIn()).code).toBe('2.04');
    // Its first notification wakes the command, which is also tried each 30 s.
    await eventually(async () => (await reported())?.['/light/1'].on === false, 'it is off again', 150000);
    expect(again.state.on).toBe(false);
  });
});
