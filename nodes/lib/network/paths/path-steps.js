'use strict';
// Computes the commands that change the present state into the desired one: none if they are equal. Pure. They never
// affect anything that is not ours.

const {
  MAIN_TABLE,
  PROTOCOL,
  SLOTS,
  endpointIdOf,
  localPreference,
  pathPreference,
  tableOf
} = require('./path-numbers');
const { DESIRED } = require('./sysctls');
const { endpointOf, desired } = require('./desired-state');

/** @typedef {import('./ip-output').Rule} Rule */
/** @typedef {import('./ip-output').Route} Route */
/** @typedef {import('./ip-output').Endpoint} Endpoint */
/** @typedef {import('./path-selection').Path} Path */
/** @typedef {import('./inspect-paths').Facts} Facts */
/**
 * A command. `sysctl` does not run as a process: its file is written. otherwise: harsher steps with the same effect if
 * this one fails.
 * @typedef {{ tool: 'ip' | 'sysctl', args: string[], why: string, otherwise?: Step[] }} Step
 */

/**
 * @param {string} why
 * @param {string[]} args
 * @returns {Step}
 */
const ip = (why, ...args) => ({ tool: 'ip', args, why });

/** @param {Rule} rule */
const isOurRule = ({ protocol, preference }) =>
  protocol === PROTOCOL &&
  SLOTS.some((slot) => [localPreference(slot), pathPreference(slot)].includes(preference));

/** @param {Rule} rule */
const ruleWords = ({ preference, source, table, suppress }) => [
  ...['pref', String(preference), 'from', source, 'lookup', table === MAIN_TABLE ? 'main' : String(table)],
  ...(suppress < 0 ? [] : ['suppress_prefixlength', String(suppress)]),
  ...['protocol', String(PROTOCOL)]
];

/** Only routes in our tables are ours. @param {Route} route */
const isOurRoute = ({ table }) => SLOTS.some((slot) => tableOf(slot) === table);

/** @param {Route} route */
const routeWords = ({ destination, gateway, device, source, table, onlink }) => [
  destination,
  ...(gateway === '' ? [] : ['via', gateway]),
  ...['dev', device],
  ...(gateway === '' ? ['scope', 'link'] : []),
  ...(onlink ? ['onlink'] : []),
  ...['src', source, 'table', String(table), 'proto', String(PROTOCOL)]
];

/** @param {Endpoint} endpoint */
const endpointWords = ({ id, address, device, backup }) => [
  ...[address, 'dev', device, 'id', String(id), 'subflow'],
  ...(backup ? ['backup'] : [])
];

/** @param {unknown} a @param {unknown} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** @param {Rule} rule */
const ruleKey = (rule) => ruleWords(rule).join(' ');
/** @param {Route} route */
const routeKey = (route) => routeWords(route).join(' ');

/**
 * Returns our endpoints: those with our number and our rule. REQUIRES: the rules before any step.
 * @param {Facts} facts
 * @returns {Endpoint[]}
 */
function ourEndpoints({ endpoints, rules }) {
  return endpoints.filter(({ id, subflow, more }) => {
    const slot = SLOTS.find((each) => endpointIdOf(each) === id);
    return (
      slot !== undefined &&
      subflow &&
      !more &&
      rules.some((rule) => isOurRule(rule) && rule.preference === pathPreference(slot))
    );
  });
}

/**
 * @param {Facts} facts
 * @param {Path[]} paths
 * @returns {Endpoint[]} endpoints of other programs for our addresses, or with our numbers
 */
function foreignEndpoints(facts, paths) {
  const ours = ourEndpoints(facts);
  return facts.endpoints.filter(
    (endpoint) =>
      !ours.includes(endpoint) &&
      paths.some(({ address, slot }) => endpoint.address === address || endpoint.id === endpointIdOf(slot))
  );
}

/**
 * Returns the steps for rules and routes.
 * @param {Facts} facts
 * @param {Path[]} paths
 * @returns {Step[]}
 */
function routeSteps(facts, paths) {
  const target = desired(paths);
  // A path between two addresses keeps its rule, which identifies its endpoint as ours.
  const waiting = paths.filter(({ address }) => address === '').map(({ slot }) => slot);
  const rules = facts.rules.filter(isOurRule);
  const stays = (/** @type {Rule} */ rule) =>
    waiting.some((slot) => [localPreference(slot), pathPreference(slot)].includes(rule.preference));
  const wantedRules = new Set(target.rules.map(ruleKey));
  const thereRules = new Set(rules.map(ruleKey));
  const wantedRoutes = new Set(target.routes.map(routeKey));
  const routes = facts.routes.filter(isOurRoute);
  const thereRoutes = new Set(routes.map(routeKey));
  return [
    ...rules
      .filter((rule) => !wantedRules.has(ruleKey(rule)) && !stays(rule))
      .map((rule) => ip('obsolete rule', 'rule', 'del', ...ruleWords(rule))),
    ...routes
      .filter((route) => !wantedRoutes.has(routeKey(route)))
      .map((route) => ip('obsolete route', 'route', 'del', ...routeWords(route))),
    // The route to the network first: the gateway is reached through it.
    ...target.routes
      .filter((route) => !thereRoutes.has(routeKey(route)))
      .map((route) =>
        ip(`${route.device}: own routes in its own table`, 'route', 'replace', ...routeWords(route))
      ),
    ...target.rules
      .filter((rule) => !thereRules.has(ruleKey(rule)))
      .map((rule) =>
        ip(
          rule.suppress < 0 ? `packets from ${rule.source} use its table` : `except to local networks`,
          ...['rule', 'add', ...ruleWords(rule)]
        )
      )
  ];
}

/**
 * @param {Facts} facts
 * @param {Path[]} paths
 * @param {(path: Path) => import('./desired-state').Fate} fateOf
 * @returns {Step[]}
 */
function endpointSteps(facts, paths, fateOf) {
  if (!facts.mptcp) return [];
  const ours = ourEndpoints(facts);
  const foreign = foreignEndpoints(facts, paths);
  const gone = ours.filter(({ id }) => !paths.some(({ slot }) => endpointIdOf(slot) === id));
  const steps = gone.map((endpoint) => remove(endpoint, 'obsolete endpoint'));
  const additions = [];
  for (const path of paths) {
    const fate = fateOf(path);
    const there = ours.find(({ id }) => id === endpointIdOf(path.slot));
    const wanted = endpointOf(path);
    if (fate === 'kept') continue;
    if (fate === 'there' && there && same({ ...there, backup: wanted.backup }, wanted)) {
      if (there.backup !== wanted.backup) additions.push(changeRole(path, wanted));
      continue;
    }
    if (there) steps.push(remove(there, `${path.name}: end its subflows`));
    if (
      fate === 'gone' ||
      path.address === '' ||
      foreign.some(({ address, id }) => address === path.address || id === wanted.id)
    )
      continue;
    additions.push(add(path, wanted));
  }
  return [...steps, ...additions];
}

/** @param {Endpoint} endpoint @param {string} why */
const remove = ({ id }, why) => ip(why, 'mptcp', 'endpoint', 'delete', 'id', String(id));

/** @param {Path} path @param {Endpoint} wanted */
const add = ({ name }, wanted) =>
  ip(`${name}: connections get a subflow here`, 'mptcp', 'endpoint', 'add', ...endpointWords(wanted));

/**
 * Changes the role of an endpoint. Its subflows continue, and MP_PRIO notifies the far end [RFC 8684, 3.3.8]; requires
 * Linux and iproute2 5.17. With older versions, the subflows end.
 * @param {Path} path
 * @param {Endpoint} wanted
 * @returns {Step}
 */
function changeRole(path, wanted) {
  const [why, flag] = wanted.backup
    ? ['carries nothing while another path is up', 'backup']
    : ['carries its share', 'nobackup'];
  const words = ['mptcp', 'endpoint', 'change', 'id', String(wanted.id), flag];
  const otherwise = [remove(wanted, `${path.name}: end its subflows`), add(path, wanted)];
  return { ...ip(`${path.name}: ${why}`, ...words), otherwise };
}

/**
 * @param {Facts} facts
 * @param {number} paths
 * @returns {Step[]} limits are raised, never lowered
 */
function limitSteps({ mptcp, limits }, paths) {
  if (!mptcp || limits === null || limits.subflows >= paths) return [];
  return [ip('a subflow for each path', ...['mptcp', 'limits', 'set', 'subflows', String(paths)])];
}

/** @param {Facts} facts @returns {Step[]} */
function sysctlSteps({ sysctls }) {
  return DESIRED.flatMap(({ name, value, why, holds }) => {
    const now = sysctls[name];
    if (now === null || holds(now)) return [];
    return [{ tool: 'sysctl', args: ['-w', `net.mptcp.${name}=${value}`], why }];
  });
}

/**
 * Returns all steps, in an order in which a connection never lacks what it needs: a path's routes exist before its
 * endpoint does.
 * @param {Facts} facts
 * @param {Path[]} paths
 * @param {(path: Path) => import('./desired-state').Fate} fateOf
 * @returns {Step[]}
 */
function stepsTo(facts, paths, fateOf) {
  const endpoints = endpointSteps(facts, paths, fateOf);
  const removals = endpoints.filter(({ args }) => args[2] === 'delete');
  const additions = endpoints.filter(({ args }) => args[2] !== 'delete');
  return [
    ...sysctlSteps(facts),
    ...limitSteps(facts, paths.length),
    // First: data that waits on a dead subflow moves to another.
    ...removals,
    ...routeSteps(facts, paths),
    ...additions
  ];
}

/**
 * Returns the steps that remove everything of ours, even without a state file.
 * @param {Facts} facts
 * @returns {Step[]}
 */
const stepsAway = (facts) =>
  [...endpointSteps(facts, [], () => 'gone'), ...routeSteps(facts, [])].map((step) => ({
    ...step,
    why: 'made by seganet-paths'
  }));

module.exports = { stepsTo, stepsAway, foreignEndpoints };
