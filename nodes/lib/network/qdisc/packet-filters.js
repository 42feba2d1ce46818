'use strict';
// The filters that direct packets into the bands: DSCP first, then SO_PRIORITY. Pure.

const { BANDS, MAJOR } = require('./bands');

/** @typedef {import('./schemes').Step} Step */
/** @typedef {import('./schemes').DesiredState} DesiredState */

/**
 * @param {DesiredState} desired
 * @param {string} parent a qdisc
 * @param {(band: number) => string} flowOf
 * @param {number} pref lower values are tried first
 * @returns {Step[]}
 */
function dscpFilters(desired, parent, flowOf, pref) {
  const { interface: name, capabilities } = desired;
  if (capabilities.u32 === 'no') return [];
  return BANDS.flatMap((band, i) =>
    band.dscp.flatMap(({ value, name: dscp }) =>
      [
        { protocol: 'ip', pref, match: ['ip', 'dsfield'] },
        { protocol: 'ipv6', pref: pref + 1, match: ['ip6', 'priority'] }
      ].map(({ protocol, pref: at, match }) => ({
        tool: /** @type {const} */ ('tc'),
        args: [
          ...['filter', 'add', 'dev', name, 'parent', parent, 'protocol', protocol, 'prio', String(at)],
          ...['u32', 'match', ...match, `0x${(value << 2).toString(16).padStart(2, '0')}`, '0xfc'],
          ...['flowid', flowOf(i)]
        ],
        why: `${band.name}: DSCP ${dscp} in ${protocol === 'ip' ? 'IPv4' : 'IPv6'}`
      }))
    )
  );
}

/**
 * @param {DesiredState} desired
 * @param {string} parent
 * @param {(band: number) => string} flowOf
 * @returns {Step[]}
 */
function priorityFilters(desired, parent, flowOf) {
  const { interface: name, capabilities, object } = desired;
  const filter = (/** @type {number} */ pref) => [
    ...['filter', 'add', 'dev', name, 'parent', parent, 'protocol', 'all', 'prio', String(pref)]
  ];
  if (capabilities.meta === 'yes') {
    return BANDS.flatMap((band, i) =>
      (band.isDefault ? [] : band.priorities).map((priority) => ({
        tool: /** @type {const} */ ('tc'),
        args: [...filter(30), 'basic', 'match', `meta(priority eq ${priority})`, 'flowid', flowOf(i)],
        why: `${band.name}: SO_PRIORITY ${priority}`
      }))
    );
  }
  if (capabilities.bpf === 'no') return [];
  const bands = BANDS.filter((band) => !band.isDefault);
  const why = bands.map((band) => `${band.name}: SO_PRIORITY ${band.priorities.join(', ')}`).join('; ');
  const args = [...filter(30), 'bpf', 'object-file', object, 'section', 'classifier'];
  return [{ tool: 'tc', args, why }];
}

/** @param {DesiredState} desired @returns {Step} */
const arpFilter = ({ interface: name }) => ({
  tool: 'tc',
  args: [
    ...['filter', 'add', 'dev', name, 'parent', `${MAJOR}:`, 'protocol', 'arp', 'prio', '20'],
    ...['u32', 'match', 'u32', '0', '0', 'flowid', `${MAJOR}:${BANDS[0].minor.toString(16)}`]
  ],
  why: 'urgent: address resolution, which all traffic depends on'
});

module.exports = { arpFilter, dscpFilters, priorityFilters };
