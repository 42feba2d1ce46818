'use strict';
// The ports that a flow opens, for the checks of the gateway's command and of its service.

const { wantedPorts } = require('../../../flows/cli/flow-ports');

const env = { SEGANET_EDITOR_PORT: 'off', MY_PORT: '8081' };
const cloud = (more) => ({
  id: 'c1',
  type: 'seganet-ocf-cloud',
  z: 'tab',
  name: 'plant',
  transport: 'tls',
  host: '0.0.0.0',
  port: '5684',
  httpHost: '127.0.0.1',
  httpPort: '8080',
  ...more
});
const ports = (...flow) => wantedPorts(flow, env);

test('has both ports of an ocf cloud, the second only if it has one', () => {
  expect(ports(cloud())).toEqual([
    { host: '0.0.0.0', port: 5684, protocol: 'tcp', what: 'the node plant' },
    { host: '127.0.0.1', port: 8080, protocol: 'tcp', what: 'HTTP of the node plant' }
  ]);
  expect(ports(cloud({ httpPort: '' })).map(({ port }) => port)).toEqual([5684]);
  expect(ports(cloud({ httpPort: undefined })).map(({ port }) => port)).toEqual([5684]);
});

test('replaces variables, and leaves out what is not a fixed port', () => {
  expect(ports(cloud({ httpPort: '${MY_PORT}' })).map(({ port }) => port)).toEqual([5684, 8081]);
  for (const httpPort of ['0', 'x', '70000', '-1', '${NONE}'])
    expect([httpPort, ports(cloud({ httpPort })).map(({ port }) => port)]).toEqual([httpPort, [5684]]);
});

test('leaves out nodes and tabs that are disabled', () => {
  expect(ports(cloud({ d: true }))).toEqual([]);
  expect(ports({ id: 'tab', type: 'tab', disabled: true }, cloud())).toEqual([]);
  expect(ports({ id: 'tab', type: 'tab' }, cloud({ name: '' }))).toEqual([
    expect.objectContaining({ what: 'the node c1' }),
    expect.objectContaining({ what: 'HTTP of the node c1' })
  ]);
});

test('has the ports of the instances of a subflow, not of the subflow itself', () => {
  const subflow = { id: 'sub', type: 'subflow', name: 'cell' };
  const inside = cloud({ z: 'sub', name: '', httpPort: '' });
  const instance = (/** @type {object} */ more) => ({ id: 'i1', type: 'subflow:sub', z: 'tab', ...more });
  expect(ports(subflow, inside)).toEqual([]);
  expect(ports(subflow, inside, instance({ d: true }))).toEqual([]);
  expect(ports({ id: 'tab', type: 'tab', disabled: true }, subflow, inside, instance({}))).toEqual([]);
  expect(ports(subflow, { ...inside, d: true }, instance({}))).toEqual([]);
  const listed = ports(subflow, inside, instance({}), instance({ id: 'i2' })).map(({ what }) => what);
  expect(listed).toEqual(['the node i1-c1', 'the node i2-c1']);
  const outer = { id: 'out', type: 'subflow', name: 'hall' };
  const nested = [outer, { ...instance({}), z: 'out' }, { id: 'o1', type: 'subflow:out', z: 'tab' }];
  expect(ports(subflow, inside, ...nested).map(({ what }) => what)).toEqual(['the node o1-i1-c1']);
});
