'use strict';
// npm run cloud: an OCF cloud to try out, with a lamp and a controller. See --help.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { newCode } = require('../../../nodes/lib/sources/ocf/access-codes');
const { SqliteStore } = require('../../../nodes/lib/sources/ocf/store');
const { stopWithParent } = require('../../launcher/stop');
const { EXIT, HELP, readArguments } = require('./arguments');
const { cloudFlow } = require('./flow');
const { Gateway, HOST, isFree } = require('../gateway');
const { startLogin } = require('./login');
const { startScene } = require('./scene');

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
/** A reader needs some time to enter a code in a device. */
const CODE_MINUTES = 60;
const PROVIDER = 'seganet';

/** @typedef {import('./arguments').Options} Options */

/** @param {string} text */
const print = (text) => process.stdout.write(`${text}\n`);
/** @param {string} sentence */
const say = (sentence) => print(`${new Date().toTimeString().slice(0, 8)} ${sentence}`);

/**
 * @param {Options} options
 * @throws {CliError}
 */
async function checkPorts({ port, editorPort, loginPort }) {
  const ports = { '--port': port, '--editor-port': editorPort, '--login-port': loginPort };
  for (const [name, each] of Object.entries(ports)) {
    if (await isFree(each)) continue;
    throw new CliError(
      `Port ${each} is taken, perhaps by another gateway. End that program, or choose another port with ${name}.`,
      EXIT.CANNOT
    );
  }
}

/**
 * @param {Options} options
 * @returns {{ home: string, remove: () => void }}
 */
function makeHome({ home }) {
  if (!home) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cloud-'));
    return { home: folder, remove: () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) };
  }
  try {
    fs.mkdirSync(home, { recursive: true, mode: 0o700 });
    fs.accessSync(home, fs.constants.W_OK);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new CliError(
      `The folder ${home} cannot be used (${message}). Set another SEGANET_HOME.`,
      EXIT.CANNOT
    );
  }
  return { home, remove: () => {} };
}

/**
 * Starts everything, and tells the user what there is.
 * @param {Options} options
 * @param {(stop: () => unknown) => void} onEnd adds what must be done at the end, the last one first
 */
async function start(options, onEnd) {
  await checkPorts(options);
  const { home, remove } = makeHome(options);
  onEnd(remove);
  const storeFile = path.join(home, 'ocf.db');
  const store = new SqliteStore(storeFile);
  onEnd(() => store.close());
  const sid = (await store.read('cloudId')) || randomUUID();
  const { port, editorPort, loginPort, kafka, everySeconds } = options;
  const login = await startLogin({ home, port: loginPort, warn: (sentence) => print(`login: ${sentence}`) });
  onEnd(login.stop);
  const { issuer } = login.client;
  const flow = cloudFlow({
    home,
    port,
    sid,
    storeFile,
    kafka,
    users: { ...login.client, provider: PROVIDER }
  });
  const gateway = new Gateway({ id: 'cloud', home, flow, editorPort });
  onEnd(() => gateway.stop());
  const codeOf = async () => (await newCode(store, 'alice', { minutes: CODE_MINUTES, issuer })).code;
  const [lamp, controller, own] = [await codeOf(), await codeOf(), await codeOf()];
  await gateway.listens(port);
  print(`The cloud is ready, on this machine only. Ctrl-C ends it.

  cloud        coap+tcp://${HOST}:${port}
  cloud id     ${sid}
  access code  ${own}  (one device of alice, ${CODE_MINUTES} minutes)
  provider     ${PROVIDER}
  editor       http://${HOST}:${editorPort}/
  more codes   ${issuer}/  (log in as ${login.users.map(({ user, password }) => `${user}: ${password}`).join(', or ')})
${kafka && `  records      Kafka ${kafka}, topic seganet.normal\n`}`);
  gateway.follow((line) => print(`gateway: ${line}`));
  gateway.ended.then((how) => fail(new Error(`The gateway ended (${how}).\n${gateway.output.trim()}`)));
  onEnd(
    await startScene({
      cloud: { host: HOST, port },
      provider: PROVIDER,
      codes: { lamp, controller },
      everySeconds,
      say
    })
  );
}

/** What to do at the end. @type {(() => unknown)[]} */
const endings = [];
let isEnding = false;

/** @param {number} code */
async function end(code) {
  if (isEnding) return;
  isEnding = true;
  for (const ending of endings.reverse()) {
    try {
      await ending();
    } catch (error) {
      process.stderr.write(`${/** @type {Error} */ (error).message}\n`);
    }
  }
  process.exit(code);
}

/** @param {Error} error */
function fail(error) {
  if (isEnding) return;
  process.stderr.write(`${error.message}\n`);
  end(error instanceof CliError ? error.exitCode : EXIT.CANNOT);
}

async function main() {
  try {
    const options = readArguments(process.argv.slice(2));
    if (!options) return print(HELP);
    process.umask(0o077);
    stopWithParent();
    for (const signal of SIGNALS) process.on(signal, () => end(EXIT.OK));
    await start(options, (ending) => {
      if (isEnding) ending();
      else endings.push(ending);
    });
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}

if (require.main === module) main();
