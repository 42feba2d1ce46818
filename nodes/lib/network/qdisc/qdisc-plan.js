'use strict';
// Chooses a scheme, and returns its steps and warnings.

const { EXIT, CliError } = require('../common/network-error');
const { SCHEMES } = require('./schemes');

/** @typedef {import('./schemes').Step} Step */
/** @typedef {import('./schemes').DesiredState} DesiredState */
/** @typedef {import('./inspect-qdisc').Facts} Facts */
/**
 * @typedef {object} Plan
 * @property {string} scheme
 * @property {Step[]} steps
 * @property {string[]} warnings
 * @property {{ scheme: string, why: string }[]} skipped better schemes that are not available
 */

/**
 * @param {string} name
 * @param {import('./kernel-capabilities').Capabilities} has
 * @returns {string} why the scheme is not available, or ''
 */
function missing(name, has) {
  const { needs, oneOf = [] } = SCHEMES[name];
  const lacks = needs.filter((part) => has[part] === 'no');
  if (lacks.length > 0) return `this kernel has no ${lacks.join(' and no ')}`;
  if (oneOf.length > 0 && oneOf.every((part) => has[part] === 'no')) {
    return 'this kernel has no filter for DSCP or SO_PRIORITY (u32, bpf, basic with meta)';
  }
  return '';
}

/**
 * @param {string} name
 * @param {boolean} shapes
 * @returns {string} why the scheme does not fit, or ''
 */
function misfit(name, shapes) {
  if (SCHEMES[name].shapes === shapes) return '';
  return shapes ? 'it does not shape: omit --rate' : 'it requires --rate';
}

/**
 * @param {string} wanted a scheme or auto
 * @param {DesiredState} desired
 * @returns {{ scheme: string, skipped: Plan['skipped'] }}
 */
function choose(wanted, desired) {
  const shapes = desired.rate > 0;
  if (wanted !== 'auto') {
    const wrong = misfit(wanted, shapes);
    if (wrong !== '') throw new CliError(`The scheme ${wanted} cannot be used: ${wrong}.`, EXIT.USAGE);
    const why = missing(wanted, desired.capabilities);
    if (why !== '') throw new CliError(`The scheme ${wanted} cannot be used: ${why}.`, EXIT.CANNOT);
    return { scheme: wanted, skipped: [] };
  }
  const skipped = [];
  for (const name of Object.keys(SCHEMES)) {
    if (misfit(name, shapes) !== '') continue;
    const why = missing(name, desired.capabilities);
    if (why === '') return { scheme: name, skipped };
    skipped.push({ scheme: name, why });
  }
  throw new CliError(
    'This kernel cannot limit a rate: it has neither htb nor tbf. Without --rate, bands still work where this interface is the bottleneck.',
    EXIT.CANNOT
  );
}

/**
 * @param {string} scheme
 * @param {DesiredState} desired
 * @param {Facts} facts
 * @returns {string[]}
 */
function warningsOf(scheme, desired, { link, qdiscs }) {
  const { capabilities, rate } = desired;
  const warnings = [];
  if (rate === 0) {
    warnings.push(
      'No --rate: priority has an effect only where packets wait in this interface. If they wait in a modem, an access point or a router beyond it, set a rate slightly below that of the uplink.'
    );
  }
  if (rate === 0 && ['veth', 'bridge', 'vlan', 'bond', 'team', 'macvlan', 'ipvlan'].includes(link.kind)) {
    warnings.push(`packets never wait in '${link.name}' (${link.kind}) itself: only a rate helps.`);
  }
  if (qdiscs.some(({ kind, parent }) => kind === 'mq' && parent === '')) {
    warnings.push(
      `'${link.name}' has ${link.queues} transmit queues (mq). A single root replaces mq: bands apply across all queues, and cores share one lock.`
    );
  }
  if (scheme === 'htb' && capabilities.meta !== 'yes' && capabilities.bpf === 'no') {
    warnings.push(
      'No filter can match SO_PRIORITY here (the kernel has none, or it requires root): only DSCP selects bands.'
    );
  }
  if (scheme !== 'htb') {
    warnings.push('Strict bands: urgent traffic that fills the line starves the other bands.');
  }
  if (scheme.includes('pfifo_fast')) {
    warnings.push('pfifo_fast counts its bands together and uses only SO_PRIORITY, not DSCP.');
  }
  const unknown = Object.entries(capabilities).filter(([, has]) => has === 'unknown');
  if (unknown.length > 0) {
    const parts = unknown.map(([part]) => part).join(', ');
    warnings.push(`It is unknown whether this kernel has ${parts}. Run the command as root.`);
  }
  return warnings;
}

/**
 * @param {string} wanted a scheme or auto
 * @param {DesiredState} desired
 * @param {Facts} facts
 * @returns {Plan}
 */
function makePlan(wanted, desired, facts) {
  const { scheme, skipped } = choose(wanted, desired);
  return {
    scheme,
    steps: SCHEMES[scheme].steps(desired),
    warnings: warningsOf(scheme, desired, facts),
    skipped
  };
}

module.exports = { makePlan };
