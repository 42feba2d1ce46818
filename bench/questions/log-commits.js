'use strict';
// Measures the group commits, bytes and records per second of the log by the size of its chunks.
//   node native/node/run.js bench/questions/log-commits.js [--seconds 2] [--directory DIR] [--record-bytes 300]

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { checkOptions } = require('../../nodes/lib/store/log-options');
const { Store } = require('../../nodes/lib/store/log-store');

const SIZES = [300, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    directory: { type: 'string', default: os.tmpdir() },
    'record-bytes': { type: 'string', default: '300' }
  }
});
const seconds = Number(values.seconds);
const recordBytes = Number(values['record-bytes']);

/** A source that always has chunks of one size and keeps only the newest. */
class Source {
  constructor(/** @type {number} */ size, /** @type {number} */ perCommit) {
    this.bytes = Buffer.alloc(size + 8, 'bench');
    this.perCommit = perCommit;
    this.left = perCommit;
    this.ticket = 0;
    this.chunks = 0;
    /** @type {number[]} */
    this.rows = [];
    this.isOn = true;
  }
  opened() {}
  due() {
    return this.isOn ? 0 : -1;
  }
  take(/** @type {Uint8Array} */ into, /** @type {Float64Array} */ meta) {
    if (!this.isOn || this.left-- <= 0) {
      this.left = this.perCommit;
      return -1;
    }
    if (into.length < this.bytes.length) {
      this.left++;
      return -(this.bytes.length + 2);
    }
    into.set(this.bytes);
    meta.set([
      ++this.ticket,
      3,
      Math.max(1, Math.floor((this.bytes.length - 8) / recordBytes)),
      1,
      1,
      2,
      0,
      8,
      0,
      0
    ]);
    return this.bytes.length;
  }
  committed(/** @type {number} */ _ticket, /** @type {number} */ row) {
    this.chunks++;
    this.rows.push(row);
  }
  failed() {
    throw new Error('a commit failed');
  }
  dropped() {}
  removed() {}
  frees(/** @type {Float64Array} */ into) {
    const gone = this.rows.splice(0, Math.min(into.length, Math.max(0, this.rows.length - 500)));
    into.set(gone);
    return gone.length;
  }
  freed() {}
  wanted() {
    return null;
  }
  loaded() {
    return /** @type {const} */ ('ok');
  }
  missing() {}
  close() {}
}

/** Returns the bytes that this process has passed to write calls. */
function writes() {
  return Number(/^wchar: (\d+)/m.exec(fs.readFileSync('/proc/self/io', 'latin1'))?.[1]);
}

/** @param {number} size @param {number} perCommit */
async function measure(size, perCommit) {
  const directory = fs.mkdtempSync(path.join(values.directory, 'seganet-log-commits-'));
  const source = new Source(size, perCommit);
  const store = new Store({
    options: checkOptions({ directory }, '-'),
    rows: new Float64Array(1),
    changed() {},
    problem(code, reason) {
      throw new Error(`${code}: ${reason}`);
    }
  });
  store.start();
  const written = writes();
  const cpu = process.cpuUsage();
  const start = performance.now();
  store.attach(source);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  source.isOn = false;
  const took = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const bytes = writes() - written;
  await new Promise((resolve) => store.stop(5000, resolve));
  fs.rmSync(directory, { recursive: true });
  const records = source.chunks * Math.max(1, Math.floor(size / recordBytes));
  return [
    size,
    perCommit,
    Math.round(store.commits / took),
    Math.round(source.chunks / took),
    Math.round(records / took),
    ((source.chunks * size) / took / 2 ** 20).toFixed(1),
    store.commitMs.toFixed(2),
    store.commitMaxMs.toFixed(1),
    (bytes / (source.chunks * size)).toFixed(2),
    ((user + system) / 1e6 / took).toFixed(2)
  ];
}

async function main() {
  console.log(
    `- ${os.cpus().length} cores (${os.cpus()[0]?.model.trim()}), ${os.release()}, load ${os.loadavg()[0].toFixed(1)}`
  );
  console.log(
    `- Node ${process.version}, SQLite ${process.versions.sqlite}, ${values.directory}, type ${fs.statfsSync(values.directory).type.toString(16)}`
  );
  console.log(
    `- ${seconds} s each; WAL, synchronous=FULL; only the newest 500 rows are kept; records of ${recordBytes} bytes\n`
  );
  const head = [
    'chunk bytes',
    'chunks per commit',
    'commits/s',
    'chunks/s',
    'records/s',
    'MiB/s',
    'commit ms',
    'max ms',
    'bytes written per byte',
    'cores'
  ];
  console.log(`| ${head.join(' | ')} |\n|${head.map(() => ' ---: |').join('')}`);
  for (const size of SIZES) {
    for (const perCommit of [1, 16]) console.log(`| ${(await measure(size, perCommit)).join(' | ')} |`);
  }
}

main();
