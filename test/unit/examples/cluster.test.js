'use strict';
// Example 30 is the flow of the preset "cluster" with values in the place of variables.

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../../..');
/** @param {string} name @returns {any[]} */
const read = (name) => JSON.parse(fs.readFileSync(path.join(root, name), 'utf8'));

/** What decides how records go, by type and place in the flow. @param {any[]} flow */
function essence(flow) {
  const [tab] = flow.filter(({ type }) => type === 'tab');
  const own = flow.filter(({ z, type }) => z === tab.id || (!z && /^seganet-(engine|kafka)$/.test(type)));
  const typeOf = (/** @type {string} */ id) => flow.find((node) => node.id === id)?.type;
  const engines = own.filter(({ type }) => type === 'seganet-engine').map(({ id }) => id);
  const kept = [
    ...[
      'replicasMissing',
      'topics',
      'group',
      'from',
      'window',
      'sessionTimeoutMs',
      'deviceFrom',
      'classHeader'
    ],
    ...['topic', 'envelopeTopic', 'createTopics', 'reconnectMinMs', 'reconnectMaxMs', 'ackTimeoutMs'],
    ...['connectTimeoutMs', 'maxBytes', 'maxDelayMs', 'flush', 'qos']
  ];
  const isVariable = (/** @type {unknown} */ value) => /^\$\{/.test(String(value));
  return own
    .filter(({ type }) => !['comment', 'tls-config'].includes(type))
    .map((node) => ({
      type: node.type,
      engine: engines.indexOf(node.engine),
      to: (node.wires ?? []).flat().map(typeOf),
      ...Object.fromEntries(kept.map((name) => [name, isVariable(node[name]) ? 'variable' : node[name]]))
    }));
}

test('the example and the preset of a cluster are one flow', () => {
  const example = essence(read('examples/30 - cluster over kafka.json'));
  const preset = essence(read('flows/cluster.json'));
  expect(example).toHaveLength(preset.length);
  for (const [i, node] of preset.entries()) {
    const same = Object.fromEntries(Object.entries(node).filter(([, value]) => value !== 'variable'));
    expect(example[i]).toMatchObject(same);
  }
});
