'use strict';
// A random flow between devices that wait for delivery and an uplink: two function nodes that run the programs of the
// records, and core nodes between and beside them.

const path = require('node:path');
const { draws, seeded } = require('../../fixtures/random');
const { codeOf } = require('./programs');

/**
 * @typedef {{ id: string, type: string, [name: string]: any }} FlowNode
 * @typedef {{ nodes: FlowNode[], last: string }} Part
 */

const TIMEOUT_S = 8;
const place = { z: 'tab', x: 10, y: 10 };

/** @param {string} id @param {string} code @param {string[][]} wires */
const func = (id, code, wires) => ({
  id,
  type: 'function',
  ...place,
  func: code,
  outputs: 1,
  timeout: 0,
  libs: [],
  wires
});

const delayOf = (/** @type {string} */ id, /** @type {number} */ ms, /** @type {object} */ more = {}) => ({
  id,
  type: 'delay',
  ...place,
  pauseType: 'delay',
  timeout: String(ms),
  timeoutUnits: 'milliseconds',
  rate: '1',
  nbRateUnits: '1',
  rateUnits: 'second',
  randomFirst: '1',
  randomLast: '900',
  randomUnits: 'milliseconds',
  drop: false,
  allowrate: false,
  outputs: 1,
  ...more
});

const joinOf = (/** @type {object} */ more) => ({
  id: 'join',
  type: 'join',
  ...place,
  mode: 'custom',
  build: 'array',
  property: 'payload',
  propertyType: 'msg',
  key: 'topic',
  joiner: '\\n',
  joinerType: 'str',
  accumulate: false,
  count: '3',
  timeout: '0.4',
  reduceRight: false,
  reduceExp: '',
  reduceInit: '',
  reduceInitType: '',
  reduceFixup: '',
  ...more
});

const split = {
  id: 'split',
  type: 'split',
  ...place,
  splt: '\\n',
  spltType: 'str',
  arraySplt: 1,
  arraySpltType: 'len',
  stream: false,
  addname: '',
  property: 'payload'
};
/** Two copies, for the split node. */
const twice = (/** @type {string} */ to) =>
  func('twice', 'msg.payload = [msg.payload, msg.payload]; return msg;', [[to]]);

/** What may stand between the functions; `to` is the next node. */
const PARTS = {
  none: (/** @type {string} */ to) => ({ first: to, nodes: [] }),
  delay: (/** @type {string} */ to, /** @type {import('./programs').Draws} */ { between }) => ({
    first: 'delay',
    nodes: [{ ...delayOf('delay', between(100, 2000)), wires: [[to]] }]
  }),
  random: (/** @type {string} */ to) => ({
    first: 'delay',
    nodes: [{ ...delayOf('delay', 0, { pauseType: 'random' }), wires: [[to]] }]
  }),
  join: (/** @type {string} */ to) => ({ first: 'join', nodes: [{ ...joinOf({}), wires: [[to]] }] }),
  parts: (/** @type {string} */ to) => ({
    first: 'twice',
    nodes: [twice('split'), { ...split, wires: [[to]] }]
  }),
  'join of parts': (/** @type {string} */ to) => ({
    first: 'twice',
    nodes: [twice('split'), { ...split, wires: [['join']] }, { ...joinOf({}), wires: [[to]] }]
  }),
  'join and delay': (/** @type {string} */ to, /** @type {import('./programs').Draws} */ { between }) => ({
    first: 'join',
    nodes: [
      { ...joinOf({}), wires: [['delay']] },
      { ...delayOf('delay', between(300, 2000)), wires: [[to]] }
    ]
  }),
  'join beside a delay': (/** @type {string} */ to) => ({
    first: 'fork',
    nodes: [
      { id: 'fork', type: 'junction', ...place, wires: [['join', 'aside']] },
      { ...joinOf({}), wires: [['delay']] },
      { ...delayOf('delay', 900), wires: [[to]] },
      { ...delayOf('aside', 50), wires: [['end']] }
    ]
  }),
  reduce: (/** @type {string} */ to) => ({
    first: 'twice',
    nodes: [
      twice('split'),
      { ...split, wires: [['join']] },
      {
        ...joinOf({ mode: 'reduce', reduceExp: '$append($A, payload)', reduceInit: '[]' }),
        reduceInitType: 'json',
        wires: [['delay']]
      },
      { ...delayOf('delay', 700), wires: [[to]] }
    ]
  }),
  batch: (/** @type {string} */ to) => ({
    first: 'sequence',
    nodes: [
      {
        id: 'sequence',
        type: 'batch',
        ...place,
        mode: 'interval',
        count: 3,
        overlap: 0,
        interval: '0.3',
        allowEmptySequence: false,
        honourParts: false,
        topics: [],
        wires: [['delay']]
      },
      { ...delayOf('delay', 400), wires: [[to]] }
    ]
  }),
  'link call': (/** @type {string} */ to) => ({
    first: 'call',
    nodes: [
      {
        id: 'call',
        type: 'link call',
        ...place,
        links: ['in'],
        linkType: 'static',
        timeout: '8',
        wires: [[to]]
      },
      { id: 'in', type: 'link in', ...place, links: [], wires: [['delay']] },
      { ...delayOf('delay', 300), wires: [['out']] },
      { id: 'out', type: 'link out', ...place, mode: 'return', links: [], wires: [] }
    ]
  })
};

/** What may stand beside them, after the first function. */
const SIDES = /** @type {const} */ (['none', 'ends', 'slow', 'never']);

/**
 * @param {{ seed: number, url: string, folder: string, port: number, version?: number }} options version changes what a
 *   deploy replaces
 * @returns {{ flow: FlowNode[], about: string, catches: boolean }} catches: a Catch node leads to the uplink
 */
function makeFlow({ seed, url, folder, port, version = 0 }) {
  const own = draws(seeded(seed));
  const middle = own.pick(/** @type {(keyof typeof PARTS)[]} */ (Object.keys(PARTS)));
  const side = own.pick(SIDES);
  const catches = own.chance(30);
  const { first, nodes } = PARTS[middle]('f2', own);
  const beside = { none: [], ends: ['end'], slow: ['slow'], never: ['old'] }[side];
  // A deploy replaces one of them.
  const target = version > 0 ? own.pick(['f1', first, 'f2', 'cloud']) : '';
  /** @type {FlowNode[]} */
  const flow = [
    { id: 'tab', type: 'tab', label: 'fuzz' },
    {
      id: 'engine',
      type: 'seganet-engine',
      gatewayId: 'gw1',
      workers: '1',
      memoryMiB: '16',
      acknowledge: 'safe',
      logDir: path.join(folder, 'log'),
      logMiB: '64'
    },
    { id: 'broker', type: 'seganet-uplink-broker', url, clientId: 'gw1', groups: 'all' },
    {
      id: 'devices',
      type: 'seganet-mqtt-devices',
      ...place,
      engine: 'engine',
      port: String(port),
      acknowledgeMessages: 'delivered',
      deliveryTimeoutS: String(TIMEOUT_S),
      wires: [['f1']]
    },
    func('f1', codeOf('p'), [[first, ...beside]]),
    ...nodes,
    func('f2', codeOf('q'), [['rank']]),
    { id: 'rank', type: 'seganet-priority', ...place, engine: 'engine', rules: [], wires: [['pack']] },
    {
      id: 'pack',
      type: 'seganet-batch',
      ...place,
      engine: 'engine',
      mode: 'off',
      minDevices: '0',
      maxDelayMs: '50',
      wires: [['cloud']]
    },
    {
      id: 'cloud',
      type: 'seganet-uplink',
      ...place,
      engine: 'engine',
      broker: 'broker',
      topic: 'b/{class}',
      recordTopic: 'r/{class}',
      wires: []
    },
    func('end', 'return null;', [[]]),
    { ...delayOf('slow', 1500), wires: [['end']] },
    func('old', 'if (false) node.done();', [[]]),
    {
      id: 'catch',
      type: 'catch',
      ...place,
      scope: null,
      uncaught: false,
      wires: [[catches ? 'caught' : 'end']]
    },
    func('caught', 'msg.deviceId ??= "caught"; msg.topic ??= "t"; return msg;', [['rank']])
  ];
  const changed = flow.map((each) => (each.id === target ? { ...each, name: `v${version}` } : each));
  const about = `${middle}, beside: ${side}${catches ? ', with a Catch node' : ''}`;
  return { flow: changed, about, catches };
}

module.exports = { makeFlow };
