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
    expect(() => engine.answerRequest(1, Buffer.alloc(9), 0x45, [], Buffer.alloc(0))).toThrow(/8 bytes/);
    expect(engine.answerRequest(99, Buffer.alloc(1), 0x45, [], Buffer.alloc(0))).toBe(false);
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
