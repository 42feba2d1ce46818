'use strict';
// Gives htb access to a packet's priority (SO_PRIORITY), for which not every kernel has a filter: an eBPF program for
// cls_bpf. It is written as an ELF object here, so that no compiler is needed.

const { BANDS, MAJOR } = require('./bands');

/** Name of the section, and of the program in it: tc's default. */
const SECTION = 'classifier';

/** Offset in struct __sk_buff, which is part of the kernel's interface [linux/bpf.h]. */
const SKB_PRIORITY = 32;

// [RFC 9669]
const LOAD_WORD = 0x61;
const MOVE = 0xb7;
const JUMP_IF_EQUAL = 0x15;
const EXIT = 0x95;

/**
 * @param {number} opcode
 * @param {number} registers source in the high half
 * @param {number} offset
 * @param {number} value
 */
function instruction(opcode, registers, offset, value) {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(opcode, 0);
  bytes.writeUInt8(registers, 1);
  bytes.writeInt16LE(offset, 2);
  bytes.writeInt32LE(value, 4);
  return bytes;
}

/** Returns the program, which returns the class of a packet, or 0: then the next filter is tried. */
function program() {
  const tests = BANDS.filter((band) => !band.isDefault).flatMap((band) => [
    { move: MAJOR * 0x10000 + band.minor },
    ...band.priorities.map((priority) => ({ equals: priority }))
  ]);
  // [0] loads, the tests follow, then "no match" and the exit.
  const exit = tests.length + 2;
  return Buffer.concat([
    instruction(LOAD_WORD, 0x12, SKB_PRIORITY, 0),
    ...tests.map((test, i) =>
      'move' in test
        ? instruction(MOVE, 0, 0, /** @type {number} */ (test.move))
        : instruction(JUMP_IF_EQUAL, 2, exit - (i + 1) - 1, test.equals)
    ),
    instruction(MOVE, 0, 0, 0),
    instruction(EXIT, 0, 0, 0)
  ]);
}

// [ELF-64 Object File Format 1.5]
const HEADER_BYTES = 64;
const SECTION_HEADER_BYTES = 64;
const TYPE = { NONE: 0, PROGRAM: 1, SYMBOLS: 2, STRINGS: 3 };
const EXECUTABLE = 6; // allocated, with instructions
const MACHINE_BPF = 247;
const GLOBAL_FUNCTION = 0x12;

/**
 * @param {Buffer} code
 * @param {number} name
 * @param {number} section
 */
function symbols(code, name, section) {
  const bytes = Buffer.alloc(48); // the first one is empty
  bytes.writeUInt32LE(name, 24);
  bytes.writeUInt8(GLOBAL_FUNCTION, 28);
  bytes.writeUInt16LE(section, 30);
  bytes.writeBigUInt64LE(BigInt(code.length), 40);
  return bytes;
}

/** @returns {Buffer} an ELF object for `tc filter add … bpf` */
function classifierObject() {
  const names = ['', '.strtab', SECTION, 'license', '.symtab'];
  const strings = Buffer.from(names.map((name) => `${name}\0`).join(''));
  const nameAt = (/** @type {number} */ i) => names.slice(0, i).reduce((at, name) => at + name.length + 1, 0);
  const code = program();
  const sections = [
    { type: TYPE.NONE, flags: 0, link: 0, info: 0, entry: 0, bytes: Buffer.alloc(0) },
    { type: TYPE.STRINGS, flags: 0, link: 0, info: 0, entry: 0, bytes: strings },
    { type: TYPE.PROGRAM, flags: EXECUTABLE, link: 0, info: 0, entry: 0, bytes: code },
    { type: TYPE.PROGRAM, flags: 2, link: 0, info: 0, entry: 0, bytes: Buffer.from('Apache-2.0\0') },
    { type: TYPE.SYMBOLS, flags: 0, link: 1, info: 1, entry: 24, bytes: symbols(code, nameAt(2), 2) }
  ];
  let at = HEADER_BYTES;
  /** @type {Buffer[]} */
  const bodies = [];
  const headers = sections.map(({ type, flags, link, info, entry, bytes }, i) => {
    const padded = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
    const header = Buffer.alloc(SECTION_HEADER_BYTES);
    header.writeUInt32LE(nameAt(i), 0);
    header.writeUInt32LE(type, 4);
    header.writeBigUInt64LE(BigInt(flags), 8);
    header.writeBigUInt64LE(BigInt(at), 24);
    header.writeBigUInt64LE(BigInt(bytes.length), 32);
    header.writeUInt32LE(link, 40);
    header.writeUInt32LE(info, 44);
    header.writeBigUInt64LE(8n, 48);
    header.writeBigUInt64LE(BigInt(entry), 56);
    bodies.push(padded);
    at += padded.length;
    return header;
  });
  const elf = Buffer.alloc(HEADER_BYTES);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(elf); // 64 bits, little-endian
  elf.writeUInt16LE(1, 16); // relocatable
  elf.writeUInt16LE(MACHINE_BPF, 18);
  elf.writeUInt32LE(1, 20);
  elf.writeBigUInt64LE(BigInt(at), 40);
  elf.writeUInt16LE(HEADER_BYTES, 52);
  elf.writeUInt16LE(SECTION_HEADER_BYTES, 58);
  elf.writeUInt16LE(sections.length, 60);
  elf.writeUInt16LE(1, 62);
  return Buffer.concat([elf, ...bodies, ...headers]);
}

module.exports = { SECTION, classifierObject };
