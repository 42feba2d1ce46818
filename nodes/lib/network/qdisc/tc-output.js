'use strict';
// Parses the output of tc and ip. `qdisc show` and `link show` are JSON wherever -j exists. Classes are not JSON before
// iproute2 6.8, and filters not in older versions, so those two are parsed as text, whose format has been the same for
// twenty years.

const { readRate } = require('./link-bitrate');

/** @typedef {{ bytes: number, packets: number, dropped: number, backlogBytes: number }} Counters */
/**
 * `parent` is '' for the root. isDefault: the kernel created the qdisc by itself, so it has no handle of its own.
 * @typedef {object} QdiscFields
 * @property {string} kind
 * @property {string} handle
 * @property {string} parent
 * @property {boolean} isDefault
 * @property {Record<string, any>} options
 */
/** @typedef {Counters & QdiscFields} Qdisc */
/**
 * Rates in bits per second, 0 = none.
 * @typedef {object} ClassFields
 * @property {string} kind
 * @property {string} id
 * @property {string} parent
 * @property {string} leaf
 * @property {number} prio
 * @property {number} rate
 * @property {number} ceil
 */
/** @typedef {Counters & ClassFields} Class */
/**
 * @typedef {object} Filter
 * @property {string} parent
 * @property {string} protocol
 * @property {number} pref
 * @property {string} kind
 * @property {string} flowid
 * @property {string[]} matches
 */
/**
 * @typedef {object} Link
 * @property {string} name
 * @property {number} index
 * @property {number} mtu
 * @property {number} txqueuelen packets
 * @property {number} gsoMaxSegs
 * @property {number} queues
 * @property {boolean} isLoopback
 * @property {string} kind of a virtual interface
 */

/** @param {unknown} value @returns {number} a whole number, not negative */
const count = (value) => {
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
};

/** @param {string} text @returns {any[]} empty if it is not a JSON array */
function parseArray(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value.filter((entry) => entry !== null && typeof entry === 'object') : [];
  } catch {
    return [];
  }
}

/** @param {string} json of `tc -j -s qdisc show` @returns {Qdisc[]} without those of incoming packets */
function parseQdiscs(json) {
  return parseArray(json)
    .filter(({ kind }) => typeof kind === 'string' && kind !== 'ingress' && kind !== 'clsact')
    .map((entry) => ({
      kind: entry.kind,
      handle: String(entry.handle ?? ''),
      parent: entry.root ? '' : String(entry.parent ?? ''),
      isDefault: entry.handle === '0:',
      options: entry.options !== null && typeof entry.options === 'object' ? entry.options : {},
      bytes: count(entry.bytes),
      packets: count(entry.packets),
      dropped: count(entry.drops),
      backlogBytes: count(entry.backlog)
    }));
}

/** @param {string | undefined} text such as 1514b or 12Kb @returns {number} */
function readSize(text) {
  const found = /^(\d+(?:\.\d+)?)([KMG]?)b$/i.exec(text ?? '');
  if (!found) return 0;
  return Math.round(
    Number(found[1]) * ({ '': 1, k: 1024, m: 1 << 20, g: 1 << 30 }[found[2].toLowerCase()] ?? 1)
  );
}

/** @param {string} text of `tc -s class show` @returns {Class[]} */
function parseClasses(text) {
  return text.split(/^(?=class )/m).flatMap((part) => {
    const head = /^class (\S+) (\S+) (?:root|parent (\S+))/.exec(part);
    if (!head) return [];
    const word = (/** @type {string} */ name) => new RegExp(`\\s${name} (\\S+)`).exec(part)?.[1] ?? '';
    const sent = /Sent (\d+) bytes (\d+) pkts? \(dropped (\d+)/.exec(part) ?? [];
    return [
      {
        kind: head[1],
        id: head[2],
        parent: head[3] ?? '',
        leaf: word('leaf'),
        prio: count(word('prio')),
        rate: readRate(word('rate')),
        ceil: readRate(word('ceil')),
        bytes: count(sent[1]),
        packets: count(sent[2]),
        dropped: count(sent[3]),
        backlogBytes: readSize(word('backlog'))
      }
    ];
  });
}

/** @param {string} text of `tc filter show` @returns {Filter[]} only filters that match something */
function parseFilters(text) {
  return text.split(/^(?=filter )/m).flatMap((part) => {
    const head = /^filter (?:parent (\S+) )?protocol (\S+) pref (\d+) (\S+) chain \d+ (\S.*)/.exec(part);
    // The head of a list, and the hash tables of u32, are printed like filters.
    if (!head || /\bht divisor\b/.test(head[5])) return [];
    return [
      {
        parent: head[1] ?? '',
        protocol: head[2],
        pref: count(head[3]),
        kind: head[4],
        flowid: /\bflowid (\S+)/.exec(part)?.[1] ?? '',
        matches: [...part.matchAll(/^\s+(?:match )?([0-9a-f]{8}\/[0-9a-f]{8} at \S+|meta\(.*)/gm)].map(
          (match) => match[1].trim()
        )
      }
    ];
  });
}

/** @param {string} json of `ip -j -d link show` @returns {Link | null} */
function parseLink(json) {
  const [entry] = parseArray(json);
  if (typeof entry?.ifname !== 'string') return null;
  return {
    name: entry.ifname,
    index: count(entry.ifindex),
    mtu: count(entry.mtu) || 1500,
    txqueuelen: count(entry.txqlen),
    gsoMaxSegs: count(entry.gso_max_segs),
    queues: count(entry.num_tx_queues) || 1,
    isLoopback: entry.link_type === 'loopback',
    kind: String(entry.linkinfo?.info_kind ?? '')
  };
}

/** @param {string} json of `ip -j route show default` @returns {string} interface of the best default route, or '' */
function parseDefaultRoute(json) {
  const routes = parseArray(json)
    .filter(({ dst, dev }) => dst === 'default' && typeof dev === 'string')
    .sort((a, b) => count(a.metric) - count(b.metric));
  return routes.length > 0 ? routes[0].dev : '';
}

module.exports = { parseQdiscs, parseClasses, parseFilters, parseLink, parseDefaultRoute };
