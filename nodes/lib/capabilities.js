'use strict';
// The capabilities, which the core does not know. The files of their node types call use(), so the parts of one whose
// node types are disabled in the palette are never loaded.

const { register } = require('./engine/additions');

/** @type {Record<string, () => Omit<import('./engine/additions').Addition, 'name'>>} */
const CAPABILITIES = {
  demand: () => require('./demand/capability'),
  directory: () => require('./directory/capability'),
  forecast: () => require('./forecast/capability'),
  kafka: () => require('./kafka/capability'),
  ocf: () => require('./ocf/capability'),
  overlay: () => require('./overlay/capability'),
  pair: () => require('./pair/capability'),
  parquet: () => require('./parquet/capability'),
  series: () => require('./series/capability'),
  shadow: () => require('./shadow/capability'),
  tenants: () => require('./tenants/capability')
};

/** @param {keyof typeof CAPABILITIES} name of the capability whose node type is loaded */
function use(name) {
  register({ name, ...CAPABILITIES[name]() });
}

/**
 * Adds what an engine needs of a capability whose node types are disabled: a keeper may run tenants in containers
 * without a node in the flow, and no listener may be open to them.
 */
function useAlways() {
  register({ name: 'tenants', exposure: require('./tenants/exposure').exposureOf });
}

module.exports = { use, useAlways };
