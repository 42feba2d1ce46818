'use strict';
// Backup of a tenant's volume while a process writes into it: time, size, and whether a changed byte is found.
//
//   node native/node/run.js bench/questions/tenant-backup.js [--rounds 5] [--out FILE]

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { spawn } = require('node:child_process');
const { parseArgs } = require('node:util');

const MAIN = path.join(__dirname, '..', '..', 'docker', 'tenants', 'main.js');
const FILES = 133;
const TEXT_BYTES = 11 << 20;
const DATABASE_BYTES = 15 << 20;

/** Writes a row each 2 ms. */
const WRITER = `const db = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 10000 });
const insert = db.prepare('INSERT INTO points (series, body) VALUES (?, ?)');
setInterval(() => insert.run(1, Buffer.alloc(100, 1)), 2);
console.log('writes');`;

/** @param {string} volume a volume as a gateway's: JSON texts, and points in a database */
function fill(volume) {
  const { DatabaseSync } = require('node:sqlite');
  for (let i = 0; i < FILES; i++) {
    const folder = path.join(volume, `lib-${i % 10}`);
    fs.mkdirSync(folder, { recursive: true });
    const rows = [];
    for (let bytes = 0; bytes < TEXT_BYTES / FILES; bytes += rows[rows.length - 1].length) {
      rows.push(
        JSON.stringify({
          id: crypto.randomBytes(8).toString('hex'),
          type: 'function',
          x: rows.length,
          wires: []
        })
      );
    }
    fs.writeFileSync(path.join(folder, `flow-${i}.json`), rows.join('\n'));
  }
  const db = new DatabaseSync(path.join(volume, 'series.db'));
  db.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE points (id INTEGER PRIMARY KEY AUTOINCREMENT, series, body); BEGIN'
  );
  const insert = db.prepare('INSERT INTO points (series, body) VALUES (?, ?)');
  for (let bytes = 0, i = 0; bytes < DATABASE_BYTES; bytes += 1020, i++) {
    const body = Buffer.alloc(1000);
    for (let at = 0; at < 1000; at += 8)
      body.writeUInt16LE((i * 37 + at + crypto.randomInt(64)) & 0xffff, at);
    insert.run(i % 100, body);
  }
  db.exec('COMMIT');
  db.close();
}

/** @param {string[]} args @param {NodeJS.ProcessEnv} env */
async function command(args, env) {
  const from = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part) => (out += part));
  child.stderr.on('data', (part) => (err += part));
  const [code] = await once(child, 'close');
  return { code, out, err, ms: performance.now() - from };
}

/** @param {number[]} values */
function spread(values) {
  const sorted = [...values].sort((a, b) => a - b).map(Math.round);
  return `${sorted[sorted.length >> 1]} [${sorted[0]}..${sorted[sorted.length - 1]}]`;
}

async function main() {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '5' }, out: { type: 'string' } }
  });
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-tenant-backup-'));
  const folder = path.join(root, 'tenants');
  const volume = path.join(folder, 'volumes', 'acme');
  /** @type {import('node:child_process').ChildProcess | null} */
  let writer = null;
  try {
    fs.mkdirSync(volume, { recursive: true });
    const tenant = { name: 'acme', driver: 'process', command: ['true'], port: 1883 };
    fs.writeFileSync(path.join(folder, 'tenants.json'), JSON.stringify({ version: 1, tenants: [tenant] }));
    fs.writeFileSync(path.join(folder, 'passphrase'), 'correct horse battery\n');
    fill(volume);
    writer = spawn(process.execPath, ['-e', WRITER, path.join(volume, 'series.db')], {
      stdio: ['ignore', 'pipe', 'ignore']
    });
    await once(/** @type {import('node:stream').Readable} */ (writer.stdout), 'data');
    const env = { ...process.env, SEGANET_HOME: root };
    const kinds = [
      { name: 'plain', options: [] },
      { name: 'encrypted', options: ['--passphrase-file', path.join(folder, 'passphrase')] }
    ];
    const results = [];
    for (const { name, options } of kinds) {
      /** @type {Record<'save' | 'saveCommand' | 'check' | 'checkCommand', number[]>} */
      const times = { save: [], saveCommand: [], check: [], checkCommand: [] };
      let last = { volumeBytes: 0, bytes: 0, files: 0, databases: 0 };
      let found = 0;
      for (let round = 0; round < Number(values.rounds); round++) {
        const saved = await command(['backup', 'acme', '--json', ...options], env);
        if (saved.code !== 0) throw new Error(saved.err);
        const made = JSON.parse(saved.out);
        last = made;
        const restore = [
          'restore',
          'acme',
          '--from',
          made.file,
          '--check',
          '--no-start',
          '--json',
          ...options
        ];
        const checked = await command(restore, env);
        if (checked.code !== 0) throw new Error(checked.err);
        times.save.push(made.ms);
        times.saveCommand.push(saved.ms);
        times.check.push(JSON.parse(checked.out).ms);
        times.checkCommand.push(checked.ms);
        const bytes = fs.readFileSync(made.file);
        bytes[crypto.randomInt(bytes.length)] ^= 1;
        fs.writeFileSync(made.file, bytes);
        if ((await command(restore, env)).code === 1) found++;
      }
      results.push({ name, ...last, times, found });
    }
    const [{ model }] = os.cpus();
    console.log(
      `${os.cpus().length} × ${model}, Linux ${os.release()}, Node ${process.version}, ${values.rounds} rounds; a process writes a row into the database each 2 ms\n`
    );
    console.log(
      '| backup | volume | file | save, ms | with start of the command | restore and check, ms | with start of the command | changed byte refused |'
    );
    console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
    for (const { name, volumeBytes, bytes, files, databases, times, found } of results) {
      const mb = (/** @type {number} */ count) => `${(count / 1e6).toFixed(1)} MB`;
      const cells = [
        name,
        `${mb(volumeBytes)}, ${files} files, ${databases} database`,
        mb(bytes),
        ...Object.values(times).map(spread)
      ];
      console.log(`| ${cells.join(' | ')} | ${found} of ${values.rounds} |`);
    }
    if (values.out) fs.writeFileSync(values.out, `${JSON.stringify(results, null, 2)}\n`);
  } finally {
    writer?.kill('SIGKILL');
    fs.rmSync(root, { recursive: true, force: true });
  }
}

if (require.main === module) main();
