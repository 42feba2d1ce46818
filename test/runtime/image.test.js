'use strict';
// The container image without a container engine: a folder gets the files that the last stage of the Dockerfile copies,
// and its CMD starts there. A file that the image lacks is missing here, too.

const fs = require('node:fs');
const path = require('node:path');
const { pack, unpack } = require('../fixtures/gateway/packed');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

/** @returns {{ copies: [string, string][], command: string[], health: string[] }} of the last stage */
function lastStage() {
  const text = fs.readFileSync(path.join(ROOT, 'docker', 'Dockerfile'), 'utf8');
  const lines = text.slice(text.lastIndexOf('\nFROM ')).split('\n');
  const copies = lines
    .filter((line) => /^(COPY|ADD)\b/.test(line))
    .map((line) => {
      const found = /^COPY --from=build (\S+) (\S+)$/.exec(line);
      if (!found) throw new Error(`The test does not support this line of the Dockerfile: ${line}`);
      return /** @type {[string, string]} */ ([found[1], found[2]]);
    });
  const command = lines.flatMap((line) => (line.startsWith('CMD ') ? JSON.parse(line.slice(4)) : []));
  const [, health = '[]'] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(lines.join('\n')) ?? [];
  return { copies, command, health: JSON.parse(health) };
}

/** The files of the build stage at a place. @param {string} from @param {string} to */
function copy(from, to) {
  if (from === '/image') return unpack(pack(temporaryFolder()), to);
  if (from === '/gateway/node_modules') return fs.symlinkSync(path.join(ROOT, 'node_modules'), to);
  throw new Error(`The test does not know the content of the build stage at ${from}.`);
}

test('has every file that the gateway needs: records reach the cloud of its demo', async () => {
  const { copies, command, health } = lastStage();
  const gateway = temporaryFolder();
  for (const [from, to] of copies) copy(from, path.join(gateway, to));
  const [node, ...args] = command;
  expect(node).toBe('node');
  const env = cleanEnvironment({
    NODE_ENV: 'production',
    SEGANET_HOME: path.join(temporaryFolder(), 'data'),
    SEGANET_MQTT_PORT: '0',
    SEGANET_EDITOR_PORT: 'off'
  });
  const { child, says, ended } = run(process.execPath, args, { cwd: gateway, env });
  await says(/demo cloud: the first record/, 60000);
  const [, port] = await says(/MQTT listener on port (\d+)/);
  const check = () =>
    run(process.execPath, health.slice(1), { cwd: gateway, env: { ...env, SEGANET_MQTT_PORT: port } }).ended;
  expect(health[0]).toBe('node');
  expect(await check()).toMatchObject({ code: 0, output: expect.stringMatching(/port for devices is open/) });
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  expect((await check()).code).toBe(1);
}, 180000);
