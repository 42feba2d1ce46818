'use strict';
// npm run cloud: an OCF cloud to try out, with a lamp and a controller. See --help.

const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { newCode } = require('../../../nodes/lib/ocf/cloud/access-codes');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { EXIT, checkPorts, print, runDemo, say } = require('../command');
const { makeFolder } = require('../command/folder');
const { HELP, readArguments } = require('./arguments');
const { cloudFlow } = require('./flow');
const { Gateway, HOST } = require('../gateway');
const { startLogin } = require('./login');
const { startScene } = require('./scene');

/** A reader needs some time to enter a code in a device. */
const CODE_MINUTES = 60;
const PROVIDER = 'seganet';

/** @typedef {import('./arguments').Options} Options */

/**
 * @param {Options} options
 * @returns {{ home: string, remove: () => void }}
 */
function makeHome({ home }) {
  if (!home) return makeFolder('cloud');
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
 * @param {import('../command').Life} life
 */
async function start(options, { onEnd, fail }) {
  const { port, editorPort, loginPort, kafka, everySeconds } = options;
  await checkPorts({ '--port': port, '--editor-port': editorPort, '--login-port': loginPort });
  const { home, remove } = makeHome(options);
  onEnd(remove);
  const storeFile = path.join(home, 'ocf.db');
  const store = new SqliteStore(storeFile);
  onEnd(() => store.close());
  const sid = (await store.read('cloudId')) || randomUUID();
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

if (require.main === module) runDemo({ readArguments, help: HELP, start });
