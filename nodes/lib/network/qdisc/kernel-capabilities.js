'use strict';
// The kernel's features that the schemes need: 'yes', 'no' or 'unknown'. Pure; kernel-probe.js reads them.

/** @typedef {'htb' | 'tbf' | 'prio' | 'fq_codel' | 'u32' | 'meta' | 'bpf'} Part */
/** @typedef {'yes' | 'no' | 'unknown'} Has */
/** @typedef {Record<Part, Has>} Capabilities */

const ROOT = 'qdisc add dev lo root handle 1:';

/**
 * `trial`: lines for `tc -batch` in an empty network namespace, where lo is the only interface; {object} is an eBPF
 * object. `modules` and `config`: without a trial, all of them must exist. pfifo, bfifo and pfifo_fast are part of
 * every kernel that has any qdisc.
 * @type {Record<Part, { trial: string[], modules: string[], config: string[], what: string }>}
 */
const PARTS = {
  htb: {
    trial: [`${ROOT} htb default 20`],
    modules: ['sch_htb'],
    config: ['NET_SCH_HTB'],
    what: 'classes with guaranteed shares'
  },
  tbf: {
    trial: [`${ROOT} tbf rate 1mbit burst 128k latency 50ms`],
    modules: ['sch_tbf'],
    config: ['NET_SCH_TBF'],
    what: 'a rate limit that splits GSO packets'
  },
  prio: {
    trial: [`${ROOT} prio bands 3`],
    modules: ['sch_prio'],
    config: ['NET_SCH_PRIO'],
    what: 'bands with counters'
  },
  fq_codel: {
    trial: [`${ROOT} fq_codel`],
    modules: ['sch_fq_codel'],
    config: ['NET_SCH_FQ_CODEL'],
    what: 'short queues within a band'
  },
  u32: {
    trial: [
      `${ROOT} htb`,
      'filter add dev lo parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1'
    ],
    modules: ['cls_u32'],
    config: ['NET_CLS_U32'],
    what: 'filters by DSCP'
  },
  meta: {
    trial: [
      `${ROOT} htb`,
      'filter add dev lo parent 1: protocol all prio 1 basic match meta(priority eq 6) flowid 1:1'
    ],
    modules: ['cls_basic', 'em_meta'],
    config: ['NET_CLS_BASIC', 'NET_EMATCH_META'],
    what: 'filters by SO_PRIORITY'
  },
  bpf: {
    trial: [
      `${ROOT} htb`,
      'filter add dev lo parent 1: protocol all prio 1 bpf object-file {object} section classifier'
    ],
    modules: ['cls_bpf'],
    config: ['NET_CLS_BPF'],
    what: 'filters by SO_PRIORITY'
  }
};

const PART_NAMES = /** @type {Part[]} */ (Object.keys(PARTS));

/** @returns {Capabilities} */
const unknownCapabilities = () =>
  /** @type {Capabilities} */ (Object.fromEntries(PART_NAMES.map((part) => [part, 'unknown'])));

/**
 * Interprets the result of a trial.
 * @param {{ code: number, stderr: string }} result
 * @returns {Has}
 */
function readTrial({ code, stderr }) {
  if (code === 0) return 'yes';
  // A qdisc, a classifier or an ematch is missing; any other failure is inconclusive.
  return /unknown|not found|not supported|No ELF library|No such file or directory|Unable to load program|Invalid argument/i.test(
    stderr
  ) && !/Operation not permitted|Permission denied/i.test(stderr)
    ? 'no'
    : 'unknown';
}

/**
 * @typedef {object} KernelFiles each '' if it is missing
 * @property {string} config of the kernel
 * @property {string} builtin modules.builtin
 * @property {string} modules modules.dep
 * @property {string} loaded /proc/modules
 */

/**
 * @param {KernelFiles} files
 * @param {string} option without CONFIG_
 * @param {string} module
 * @returns {Has}
 */
function hasModule(files, option, module) {
  const name = module.replaceAll('_', '[_-]');
  if (new RegExp(`^${name} `, 'm').test(files.loaded)) return 'yes';
  const file = new RegExp(`(^|/)${name}\\.ko(\\.[a-z0-9]+)?(:|$)`, 'm');
  if (file.test(files.builtin) || file.test(files.modules)) return 'yes';
  const set = new RegExp(`^CONFIG_${option}=([ym])$`, 'm').exec(files.config);
  if (set?.[1] === 'y') return 'yes';
  // Built as a module, but not installed: some images omit modules.
  if (set?.[1] === 'm') return files.modules === '' ? 'unknown' : 'no';
  if (files.config !== '') return 'no';
  return files.modules === '' ? 'unknown' : 'no';
}

/** @param {KernelFiles} files @returns {Capabilities} */
function readKernelFiles(files) {
  const found = PART_NAMES.map((part) => {
    const { modules, config } = PARTS[part];
    const has = modules.map((module, i) => hasModule(files, config[i], module));
    return [part, has.includes('no') ? 'no' : has.includes('unknown') ? 'unknown' : 'yes'];
  });
  return /** @type {Capabilities} */ (Object.fromEntries(found));
}

module.exports = { PARTS, PART_NAMES, unknownCapabilities, readTrial, readKernelFiles };
