'use strict';
// Process 1 of a tenant's container, with the shells that images have.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../bench/harness/tools');
const { withOutputFile } = require('../../../docker/tenants/lib/drivers/container-output');

/** @type {string} */
let folder;
/** @type {string} */
let file;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'output-'));
  file = path.join(folder, 'output.log');
  fs.writeFileSync(file, '');
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

describe.each(['sh', 'bash', 'busybox'])('process 1 of a container, with %s', (shell) => {
  const { test: shellTest } = needs(shell);
  /** @param {string[]} command @param {number} [files] */
  function start(command, files = 100) {
    const { Entrypoint, Cmd } = withOutputFile({ Cmd: command, HostConfig: {} }, {}, files);
    const [, option, script, name, , most] = Entrypoint;
    const args = [...(shell === 'busybox' ? ['sh'] : []), option, script, name, file, most, ...Cmd];
    const child = spawn(shell, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let rest = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (rest += part));
    return { child, rest: () => rest };
  }
  /** @param {string} text */
  async function untilPrinted(text) {
    while (!fs.readFileSync(file, 'utf8').includes(text))
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  shellTest('writes both streams to the file, and ends with the code of the command', async () => {
    const { child, rest } = start(['sh', '-c', 'echo "$1"; echo two >&2; exit 3', 'sh', 'o $ne']);
    expect(await once(child, 'close')).toEqual([3, null]);
    expect(fs.readFileSync(file, 'utf8')).toBe('o $ne\ntwo\n');
    expect(rest()).toBe('');
  });

  shellTest('limits the open files, and starts the command also where that is not possible', async () => {
    const program = ['sh', '-c', 'ulimit -Hn; ulimit -n'];
    expect(await once(start(program).child, 'close')).toEqual([0, null]);
    // Above what anybody may have (fs.nr_open).
    expect(await once(start(program, 2 ** 40).child, 'close')).toEqual([0, null]);
    expect(fs.readFileSync(file, 'utf8')).toMatch(/^100\n100\n\d+\n\d+\n$/);
  });

  shellTest('closes the pipes of the engine before the command ends', async () => {
    const { child } = start(['sh', '-c', 'echo up; exec sleep 60']);
    await Promise.all([once(child.stdout, 'close'), once(child.stderr, 'close')]);
    await untilPrinted('up');
    child.kill();
    expect(await once(child, 'exit')).toEqual([143, null]);
  });

  shellTest('passes a signal on, and waits for an orderly end', async () => {
    const program = 'process.on("SIGTERM", () => setTimeout(() => { console.log("in order"); process.exit(5); }, 50)); setInterval(() => {}, 1000); console.log("ready")'; // prettier-ignore
    const { child } = start([process.execPath, '-e', program]);
    await untilPrinted('ready');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([5, null]);
    expect(fs.readFileSync(file, 'utf8')).toBe('ready\nin order\n');
  });

  shellTest('ends with an error if the file is missing, or the command', async () => {
    const missing = start(['/none/program']);
    expect(await once(missing.child, 'close')).toEqual([127, null]);
    expect(fs.readFileSync(file, 'utf8')).toContain('/none/program');
    fs.rmSync(file);
    fs.mkdirSync(file);
    const { child, rest } = start(['echo', 'x']);
    expect((await once(child, 'close'))[0]).not.toBe(0);
    expect(rest()).not.toBe('');
  });
});
