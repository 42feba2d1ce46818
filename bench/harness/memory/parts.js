'use strict';
// Divides a process's memory among its parts: program files, V8's heaps, malloc's arenas, stacks. The parts come from
// /proc/PID/smaps (proc(5)), the heaps from Node's diagnostic report.

/** glibc reserves this many bytes for an arena other than the first, aligned to the same number (malloc/arena.c). */
const ARENA_BYTES = 64 * 2 ** 20;
const KIB = 1024;

/**
 * @typedef {object} Mapping
 * @property {number} from address @property {number} to
 * @property {string} access such as rw-p
 * @property {string} name path, or a name in brackets, '' = anonymous
 * @property {number} rss bytes in memory @property {number} pss bytes, shared pages divided among their processes
 * @property {number} anonymous bytes that belong to no file
 */

/** @typedef {{ part: string, mappings: number, rss: number, pss: number, anonymous: number }} Part */

/** @type {Record<string, 'rss' | 'pss' | 'anonymous'>} */
const FIELDS = { Rss: 'rss', Pss: 'pss', Anonymous: 'anonymous' };

/** @param {string} text of /proc/PID/smaps @returns {Mapping[]} in the order of their addresses */
function parseSmaps(text) {
  /** @type {Mapping[]} */
  const mappings = [];
  for (const line of text.split('\n')) {
    const head = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+\s*(.*)$/.exec(line);
    if (head) {
      const [from, to] = [parseInt(head[1], 16), parseInt(head[2], 16)];
      mappings.push({ from, to, access: head[3], name: head[4], rss: 0, pss: 0, anonymous: 0 });
      continue;
    }
    const value = /^(\w+):\s+(\d+) kB$/.exec(line);
    const field = value && FIELDS[value[1]];
    const last = mappings.at(-1);
    if (field && last) last[field] = Number(value[2]) * KIB;
  }
  return mappings;
}

/**
 * True if the mapping is the used part of an arena: it begins at a multiple of the arena's size, and the rest of that
 * size follows without access.
 * @param {Mapping} mapping
 * @param {Mapping | undefined} next
 */
function isArena({ from, to, access, name }, next) {
  if (name !== '' || access !== 'rw-p' || from % ARENA_BYTES !== 0) return false;
  if (to - from === ARENA_BYTES) return true;
  return next !== undefined && next.access === '---p' && next.from === to && next.to === from + ARENA_BYTES;
}

/**
 * True for a thread's stack: a mapping of 1 MiB or more above a guard page or a few.
 * @param {Mapping} mapping
 * @param {Mapping | undefined} before
 */
function isStack({ from, to, access, name }, before) {
  if (name !== '' || access !== 'rw-p' || to - from < 2 ** 20 || !before) return false;
  return before.access === '---p' && before.to === from && before.to - before.from <= 64 * KIB;
}

/**
 * @param {Mapping} mapping
 * @param {Mapping | undefined} before
 * @param {Mapping | undefined} next
 * @param {string} program path of the executable
 */
function partOf(mapping, before, next, program) {
  const { name, access } = mapping;
  if (name === program) return 'node binary';
  if (/seganet[^/]*\.node$/.test(name)) return 'engine (seganet.node)';
  if (name.startsWith('/')) return 'other files';
  if (name === '[heap]') return 'malloc, first arena';
  if (name === '[stack]' || isStack(mapping, before)) return 'stacks';
  if (isArena(mapping, next)) return 'malloc, further arenas';
  if (access.includes('x')) return "V8's code";
  return "V8's heaps and other anonymous memory";
}

/**
 * Sums the mappings by part, the largest first.
 * @param {string} text of /proc/PID/smaps
 * @param {string} program path of the executable
 * @returns {Part[]}
 */
function divide(text, program) {
  const mappings = parseSmaps(text);
  /** @type {Map<string, Part>} */
  const parts = new Map();
  mappings.forEach((mapping, i) => {
    const part = partOf(mapping, mappings[i - 1], mappings[i + 1], program);
    const sum = parts.get(part) ?? { part, mappings: 0, rss: 0, pss: 0, anonymous: 0 };
    parts.set(part, sum);
    sum.mappings += 1;
    for (const field of Object.values(FIELDS)) sum[field] += mapping[field];
  });
  return [...parts.values()].filter(({ rss }) => rss > 0).sort((a, b) => b.rss - a.rss);
}

/** @typedef {{ thread: string, total: number, used: number, young: number, limit: number }} Heap bytes */

/**
 * Returns the heap of each isolate in a diagnostic report, the main thread's first.
 * @param {any} report
 * @returns {Heap[]}
 */
function heapsOf(report) {
  /** @param {any} each @param {string} thread @returns {Heap} */
  const heap = ({ javascriptHeap: one }, thread) => ({
    thread,
    total: one.totalCommittedMemory,
    used: one.usedMemory,
    young: one.heapSpaces.new_space.committedMemory,
    limit: one.heapSizeLimit ?? one.memoryLimit
  });
  /** @type {any[]} */
  const workers = report.workers ?? [];
  return [
    heap(report, 'main'),
    ...workers.map((each, i) => heap(each, each.header?.threadName || `worker ${i + 1}`))
  ];
}

module.exports = { divide, heapsOf, parseSmaps };
