'use strict';
// The request desk with the real engine, and peers over TCP.

const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const { Engine } = require('../../native');
const { CoapDesk } = require('../../nodes/lib/sources/coap-desk/coap-desk');
const { eventually } = require('../../bench/harness/net');
const { needs, python } = require('../../bench/harness/tools');
const { CoapTcpPeer } = require('../fixtures/devices/coap-tcp-peer');

const SOURCE = 1;
const GET = 1;
const POST = 2;
const RELEASE = 0xe4;

/** @type {(() => void)[]} */
const closers = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** Opens an engine with a desk that signs peers in as the device in their payload, and answers the rest itself. */
function open(options = {}, answer = () => ({ code: '2.05', payload: Buffer.from('hello') })) {
  const bells = new Set();
  const engine = new Engine({ workers: 2, memoryMiB: 32 }, () => bells.forEach((fn) => fn()));
  const stage = { id: SOURCE, kind: 'source', next: [], messages: true, protocol: 'coap' };
  engine.applyPlan({ stages: [stage] });
  const port = engine.listen(SOURCE, {
    host: '127.0.0.1',
    port: 0,
    desk: { prefixes: ['s', 'd'], csmOptional: true, knownOptions: [2049, 2053], ...options }
  });
  const requests = [];
  const gone = [];
  const faults = [];
  const onBell = (fn) => {
    bells.add(fn);
    return () => bells.delete(fn);
  };
  const desk = new CoapDesk(engine, SOURCE, onBell, {
    asked: (request) => {
      requests.push(request);
      const { connection, token, path, payload } = request;
      if (path[0] === 's') {
        const isNew = desk.identify(connection, { device: payload.toString(), owner: 'me' });
        return void desk.answer(connection, token, isNew ? '2.04' : '4.03');
      }
      const given = answer(request);
      if (given) desk.answer(connection, token, given.code, given.options, given.payload);
    },
    gone: (...args) => gone.push(args),
    fault: (error) => faults.push(error)
  });
  const peer = () => {
    const made = new CoapTcpPeer(port);
    closers.push(() => made.close());
    return made;
  };
  const signIn = async (device) => {
    const made = peer();
    expect((await made.request(POST, 's', { payload: device })).code).toBe(0x44);
    return made;
  };
  closers.push(() => {
    desk.end();
    engine.unlisten(SOURCE);
    engine.close();
    expect(faults).toEqual([]);
  });
  return { engine, desk, port, requests, gone, peer, signIn };
}

/** Collects the answers of an ask. */
function collector() {
  const answers = [];
  const last = (count = 1) =>
    eventually(() => answers.length >= count && answers.at(-1), { what: `${count} answers` });
  return { answers, last, add: (answer) => answers.push({ ...answer, text: answer.payload.toString() }) };
}

describe('a request desk', () => {
  test('signs a peer in without a CSM, and knows its device from then on', async () => {
    const { requests, peer, gone } = open();
    const one = peer();
    expect((await one.request(GET, 'r/dev/t')).code).toBe(0x81);
    expect((await one.request(GET, 'd')).payload.toString()).toBe('hello');
    const options = [
      [2049, [8, 0]],
      [15, 'a=b']
    ];
    expect((await one.request(POST, 's', { payload: 'dev', options })).code).toBe(0x44);
    await one.request(GET, 'd');
    expect(requests.map(({ device }) => device)).toEqual(['', '', 'dev']);
    expect(requests[1]).toMatchObject({ method: 'POST', path: ['s'], query: ['a=b'] });
    expect(requests[1].options).toEqual([[2049, Buffer.from([8, 0])]]);
    expect(requests[1].peer.address).toMatch(/^127\.0\.0\.1:\d+$/);
    one.close();
    await eventually(() => gone.length > 0);
    expect(gone).toEqual([[requests[0].connection, 'dev', 'closed']]);
  });

  test('asks the device, and reports 5.03 and 5.04', async () => {
    const { desk, signIn } = open();
    const none = collector();
    desk.ask('dev', { path: ['light'] }, none.add);
    expect((await none.last()).code).toBe(0xa3);
    const device = await signIn('dev');
    const put = collector();
    desk.ask('dev', { method: 'PUT', path: ['light'], query: ['if=a'], options: [[12, Buffer.from([60])]], payload: Buffer.from('on') }, put.add); // prettier-ignore
    const got = await device.next();
    expect(got).toMatchObject({ code: 3, payload: Buffer.from('on') });
    expect(got.options).toEqual([
      [11, Buffer.from('light')],
      [12, Buffer.from([60])],
      [15, Buffer.from('if=a')]
    ]);
    device.send({ code: 0x44, token: got.token, payload: 'done' });
    expect(await put.last()).toMatchObject({ code: 0x44, text: 'done', last: true });
    const late = collector();
    desk.ask('dev', { path: ['slow'], timeoutMs: 100 }, late.add);
    const slow = await device.next();
    expect((await late.last()).code).toBe(0xa4);
    device.send({ code: 0x45, token: slow.token, payload: 'late' });
    expect((await device.request(GET, 'd')).code).toBe(0x45);
    expect(late.answers).toHaveLength(1);
  });

  test('shares an observation and sets it up again after a reconnect', async () => {
    const { desk, signIn } = open();
    const first = await signIn('dev');
    const a = collector();
    const b = collector();
    const one = desk.ask('dev', { path: ['light'], observe: true }, a.add);
    const asked = await first.next();
    first.send({ code: 0x45, token: asked.token, options: [[6, [1]]], payload: '1' });
    expect(await a.last()).toMatchObject({ text: '1', last: false });
    const two = desk.ask('dev', { path: ['light'], observe: true }, b.add);
    expect(await b.last()).toMatchObject({ text: '1', last: false });
    const second = await signIn('dev');
    const again = await second.next();
    expect(again.options[0]).toEqual([6, Buffer.alloc(0)]);
    second.send({ code: 0x45, token: again.token, options: [[6, [1]]], payload: '2' });
    expect((await a.last(2)).text).toBe('2');
    expect((await b.last(2)).text).toBe('2');
    desk.cancel(one);
    desk.cancel(two);
    const end = await second.next();
    expect(end.token).toEqual(again.token);
    expect(end.options[0]).toEqual([6, Buffer.from([1])]);
  });

  test('serves observations of a peer, and answers of any size', async () => {
    const body = Buffer.alloc(100000, 'abcdefg');
    const { desk, requests, peer } = open({}, ({ path, query }) =>
      path[1] === 'large'
        ? { code: '2.05', payload: body }
        : { code: '2.05', options: [[6, Buffer.from([1])]], payload: Buffer.from(query[0] ?? '1') }
    );
    const one = peer();
    const answer = await one.request(GET, 'd/x', { token: 'o', options: [[6, '']] });
    expect(answer.options).toEqual([[6, Buffer.from([1])]]);
    const { connection, token } = requests[0];
    desk.answer(connection, token, '2.05', [[6, Buffer.from([2])]], Buffer.from('2'));
    expect((await one.next()).payload.toString()).toBe('2');
    one.send({ code: 0xe1, options: [[2, [16, 0]], [4, '']] }); // prettier-ignore
    const parts = [];
    for (let more = true; more;) {
      const at = Buffer.concat(parts).length / 1024;
      const options = at > 0 ? [[23, [at >> 4, ((at & 15) << 4) | 7]]] : [];
      const part = await one.request(GET, 'd/large', { token: 'l', options });
      parts.push(part.payload);
      const block = part.options.find(([number]) => number === 23)?.[1];
      expect(part.payload.length).toBeLessThan(4096);
      more = Boolean(block && block[block.length - 1] & 8);
    }
    expect(Buffer.concat(parts).equals(body)).toBe(true);
  });

  test('replaces the older connection of a device, and keeps the number of its records', async () => {
    const { desk, engine, requests, gone, signIn } = open();
    const first = await signIn('dev');
    const [{ connection }] = requests;
    expect(await desk.record(connection, 'ps/room', Buffer.from('1'))).toBe('safe');
    const second = await signIn('dev');
    expect((await first.next()).code).toBe(RELEASE);
    await eventually(() => first.closed);
    expect(gone).toEqual([[connection, 'dev', 'takenOver']]);
    expect(await desk.record(connection, 'ps/room', Buffer.from('2'))).toBe('lost');
    expect(await desk.record(requests[1].connection, 'ps/room', Buffer.from('3'), 1)).toBe('safe');
    expect((await second.request(POST, 'r/dev/t', { payload: '4' })).code).toBe(0x44);
    const [agent] = engine.agents('', 10);
    expect(agent).toMatchObject({ device: 'dev', records: 3, connected: true });
    desk.forget(requests[1].connection, 'signedOut');
    await eventually(() => gone.length === 2);
    expect((await second.request(POST, 'r/dev/t', { payload: '5' })).code).toBe(0x81);
    expect(await desk.record(requests[1].connection, 'ps/room', Buffer.from('6'))).toBe('notAllowed');
    desk.close(requests[1].connection, 'deleted');
    await eventually(() => second.closed);
    expect(gone.slice(1)).toEqual([
      [requests[1].connection, 'dev', 'signedOut'],
      [requests[1].connection, '', 'deleted']
    ]);
  });

  test('limits what a peer may do before it signs in', async () => {
    const { gone, peer } = open({ identifyTimeoutMs: 500, maxAskedBefore: 2 }, () => null);
    const one = peer();
    for (const token of ['1', '2', '3']) one.send({ code: GET, token, options: [[11, 'd']] });
    const refused = await one.next();
    expect(refused.token.toString()).toBe('3');
    expect(refused.code).toBe(0xa3);
    expect(refused.options).toEqual([[14, Buffer.from([1])]]);
    await eventually(() => one.closed);
    expect(gone.map(([, device, reason]) => [device, reason])).toEqual([['', 'timeout']]);
    const two = peer();
    two.send({ code: POST, options: [[11, 'x']], payload: Buffer.alloc(9000) });
    expect((await two.next()).code).toBe(0xe5);
    await eventually(() => two.closed);
  });

  test('forwards requests between devices: those of the owner, and those that a grant allows', async () => {
    const forward = { prefix: 'd/f', timeoutMs: 300, options: [[4, 1, 8, 1]], answerOptions: [4, 8] };
    const { desk, engine, requests, signIn } = open({ forward }, () => ({ code: '4.03' }));
    const device = await signIn('dev');
    const asker = await signIn('asker');
    const [{ connection }] = requests;
    const path = ['d', 'f', 'dev', 'light'].map((part) => [11, part]);
    /** Sends a request, and answers it at the device if it comes there. Returns the code of the asker's answer. */
    const ask = async (code) => {
      let answer = null;
      asker.send({ code, token: 'a', options: path });
      void asker.next().then((message) => (answer = message));
      await eventually(() => {
        const got = device.inbox.shift();
        if (got) device.send({ code: 0x45, token: got.token });
        return answer;
      });
      return answer.code;
    };
    // The workers learn of a device, and of changes, one after the other.
    await eventually(async () => (await ask(GET)) === 0x45);
    const forwarded = engine.stats().counters.requestsForwarded;
    expect(forwarded).toBeGreaterThan(0);

    asker.send({ code: GET, token: 'b', options: [[4, 'e'], [14, 'x'], ...path] }); // prettier-ignore
    const got = await device.next();
    expect(got.options).toEqual([
      [4, Buffer.from('e')],
      [11, Buffer.from('light')]
    ]);
    device.send({ code: 0x41, token: got.token, options: [[8, 'new'], [12, [60]]], payload: 'made' }); // prettier-ignore
    const answer = await asker.next();
    expect(answer).toMatchObject({ code: 0x41, token: Buffer.from('b'), payload: Buffer.from('made') });
    expect(answer.options.map(([, value]) => value.toString())).toEqual(['d', 'f', 'dev', 'new']);

    asker.send({ code: POST, token: 'c', options: path });
    const late = await device.next();
    expect((await asker.next()).code).toBe(0xa4);
    device.send({ code: 0x45, token: late.token, payload: 'late' });

    desk.identify(connection, { device: 'dev', owner: 'other' });
    await eventually(async () => (await ask(GET)) === 0x83);
    desk.grant(connection, 'me', 'r');
    await eventually(async () => (await ask(GET)) === 0x45);
    expect(await ask(POST)).toBe(0x83);
    desk.grant(connection, 'me', 'rw');
    await eventually(async () => (await ask(POST)) === 0x45);
    desk.revoke(connection, 'me');
    await eventually(async () => (await ask(GET)) === 0x83);
  });

  test('refuses options that no listener has', () => {
    const { engine } = open();
    engine.unlisten(SOURCE);
    const listen = (desk, more = {}) => engine.listen(SOURCE, { host: '127.0.0.1', port: 0, desk, ...more });
    expect(() => listen({})).toThrow(/prefixes must be an array/);
    expect(() => listen({ prefixes: ['/a'] })).toThrow(/must be paths/);
    expect(() => listen({ prefixes: [''], knownOptions: [70000] })).toThrow(/from 1 to 65535/);
    expect(() => listen({ prefixes: [''], pingS: -1 })).toThrow(/pingS/);
    expect(() => listen({ prefixes: [''] }, { login: 'ask' })).toThrow(/login open/);
    expect(() => listen({ prefixes: [''] }, { transport: 'udp' })).toThrow(/TCP or streams/);
    const forward = { prefix: 'a', options: [], answerOptions: [] };
    const wrong = (more) => () => listen({ prefixes: [''], forward: { ...forward, ...more } });
    expect(() => listen({ prefixes: [''], forward: 1 })).toThrow(/forward must be an object/);
    expect(wrong({ prefix: '' })).toThrow(/1 to 256 bytes/);
    expect(wrong({ prefix: 'a//b' })).toThrow(/empty segments/);
    expect(wrong({ prefix: 'a/' })).toThrow(/empty segments/);
    expect(wrong({ timeoutMs: 0 })).toThrow(/timeoutMs/);
    expect(wrong({ options: 1 })).toThrow(/forward.options must be an array/);
    expect(wrong({ options: [4] })).toThrow(/number, least, most, times/);
    expect(wrong({ options: [[4, 0, 2000, 1]] })).toThrow(/most bytes/);
    expect(wrong({ options: [[4, 0, 8, 0]] })).toThrow(/times/);
    expect(wrong({ answerOptions: [0] })).toThrow(/answerOptions/);
    expect(wrong({ answerOptions: Array(65).fill(4) })).toThrow(/at most 64/);
    expect(wrong({ format: 1 })).toThrow(/forward.format must be an object/);
    expect(wrong({ format: { value: 1, alias: 2, acceptOption: 0 } })).toThrow(/acceptOption/);
    expect(() => engine.grantConnection(1, '', 1)).toThrow(/1 to 256 bytes/);
    expect(() => engine.grantConnection(1, 'o', 3)).toThrow(/from 0 to 2/);
    expect(engine.grantConnection(99, 'o', 1)).toBe(false);
    expect(engine.settleRequest(99, Buffer.alloc(1))).toBe(false);
    expect(() => engine.answerRequest(1, Buffer.alloc(9), 0x45, [], Buffer.alloc(0))).toThrow(/8 bytes/);
    expect(engine.answerRequest(99, Buffer.alloc(1), 0x45, [], Buffer.alloc(0))).toBe(false);
    const all = (/** @type {any} */ to) => engine.answerRequests(to, 0x45, [], Buffer.alloc(0));
    expect(() => all(Array(1025).fill({ connection: 1, token: Buffer.alloc(1) }))).toThrow(/1024 requests/);
    expect(() => all([{ connection: 1, token: Buffer.alloc(9) }])).toThrow(/8 bytes/);
    expect(() => all([{ connection: 1 }])).toThrow(/token/);
    expect(() => all([7])).toThrow(/object/);
    expect(all([{ connection: 99, token: Buffer.alloc(1) }])).toBe(undefined);
    expect(engine.identifyConnection(99, 'd', '', 0)).toBe(false);
  });
});

const outside = needs('python:aiocoap');
outside.describe('aiocoap', () => {
  outside.test('reads a large answer over TCP', async () => {
    const { port } = open({}, () => ({ code: '2.05', payload: Buffer.alloc(50000, 'x') }));
    const script = [
      'import asyncio, sys',
      'from aiocoap import *',
      'async def main():',
      '    context = await Context.create_client_context()',
      '    answer = await context.request(Message(code=GET, uri=sys.argv[1])).response',
      '    print(answer.code, len(answer.payload))',
      '    await context.shutdown()',
      'asyncio.run(main())'
    ].join('\n');
    const uri = `coap+tcp://127.0.0.1:${port}/d/large`;
    const { stdout } = await promisify(execFile)(python(), ['-c', script, uri], { timeout: 25000 });
    expect(stdout.trim()).toBe('2.05 Content 50000');
  });
});
