'use strict';
// Lists the members of the engine that several threads write while records flow, and what else is in their cache lines,
// from the layouts that clang prints. `perf c2c` would measure it, but needs a counter that virtual machines lack.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { localToolchain } = require('../../native/compiler');
const { haveTool } = require('../harness/tools');
const { markdown } = require('../report/report');

const native = path.join(__dirname, '..', '..', 'native');
/** Bytes of a cache line. The objects begin with one: each has a member that is aligned to it. */
const LINE = 64;

/** Who writes what, and how often. A test checks that they exist. @type {[owner: string, member: string, written: string][]} */
const SHARED = [
  ['Engine', 'budget_.records_', 'each record, by its worker; each batch, by the session'],
  ['Engine', 'budget_.held_', 'each batch, by its worker and by the session'],
  ['Engine', 'sequence_', 'each batch, by its worker'],
  ['Lanes', 'memory_.bytes_', 'each batch, by its worker and by the session'],
  ['Lanes', 'demand_.raised_', 'each idle turn of the session, and the next batch'],
  ['Lanes', 'demand_.waiting_', 'each batch that waits for demand, by its worker'],
  ['Lanes', 'mutex_', 'each batch, by its worker, the session and the store']
];

/** @typedef {{member: string, from: number, to: number}} Member bytes [from, to) of its owner */

/**
 * Returns the atomic members and mutexes of a class.
 * @param {string} dump of clang @param {string} owner such as Engine
 * @returns {Member[]}
 */
function sharedMembers(dump, owner) {
  const layout = dump
    .split('*** Dumping AST Record Layout\n')
    .find((part) => new RegExp(`^ *0 \\| class seganet::${owner}\\n`).test(part));
  if (!layout) throw new Error(`clang printed no layout of ${owner}.`);
  const rows = [...layout.matchAll(/^ *(\d+)(?::[\d-]+)? \|( +)(.*?)(?: \(.*\))?$/gm)].map(
    ([, at, indent, text]) => ({ at: Number(at), depth: (indent.length - 1) / 2, text })
  );
  const size = Number(/sizeof=(\d+)/.exec(layout)?.[1]);
  /** @type {string[]} */
  const names = [];
  /** @type {Member[]} */
  const found = [];
  rows.forEach(({ at, depth, text }, index) => {
    names.length = depth;
    names[depth] = /(\w+)$/.exec(text)?.[1] ?? '';
    if (!/^(struct|class) (std::array<struct )?std::(atomic<[^*]*>|mutex) \w+$/.test(text)) return;
    const next = rows.slice(index + 1).find((row) => row.depth <= depth);
    found.push({ member: names.slice(1).join('.'), from: at, to: next?.at ?? size });
  });
  return found;
}

/** @param {Member} a @param {Member} b @returns {boolean} a line has a part of each */
const share = (a, b) =>
  Math.floor(a.from / LINE) <= Math.floor((b.to - 1) / LINE) &&
  Math.floor(b.from / LINE) <= Math.floor((a.to - 1) / LINE);

/** @param {string} dump of clang @returns {(string | number)[][]} the rows of the table */
function lineRows(dump) {
  return SHARED.map(([owner, name, written]) => {
    const all = sharedMembers(dump, owner);
    const member = all.find((each) => each.member === name);
    if (!member) throw new Error(`${owner} has no member ${name}. Update SHARED in bench/cores/lines.js.`);
    const others = all.filter((each) => each !== member && share(member, each));
    const last = Math.floor((member.to - 1) / LINE);
    const first = Math.floor(member.from / LINE);
    return [
      `\`${owner}::${name}\``,
      first === last ? first : `${first} to ${last}`,
      written,
      others.map((each) => `\`${each.member}\``).join(', ') || 'none'
    ];
  });
}

/** @returns {string | undefined} what clang prints about the engine; undefined: there is no clang */
function layouts() {
  if (!haveTool('clang++')) return undefined;
  const flags = localToolchain().compile.filter((each) => /^-(I|D|std)/.test(each));
  const asked = ['-fsyntax-only', '-Xclang', '-fdump-record-layouts', 'core/runtime/engine.cc'];
  return execFileSync('clang++', [...flags, ...asked], {
    cwd: native,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'ignore']
  });
}

/** @returns {string} a table, or why there is none */
function sharedLines() {
  const dump = layouts();
  if (dump === undefined) return 'Not listed: this needs clang++ (Debian: apt install clang).';
  return markdown(
    ['member', 'cache line', 'written', 'atomics and mutexes of the same lines'],
    lineRows(dump)
  );
}

module.exports = { layouts, lineRows, sharedLines, sharedMembers };
