'use strict';
// Encryption of a backup for recipients, with the program `age` where it is installed: the machine that makes backups
// then has no secret with which they can be read. Files with a passphrase need no program: passphrase.js.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { CliError } = require('../base/errors');
const { CipherError } = require('./passphrase');
const { MAX_OUTPUT } = require('./output');
const { write } = require('./write');

const MAGIC = Buffer.from('age-encryption.org/');

/** @param {Buffer} start of a file */
const isAge = (start) => start.subarray(0, MAGIC.length).equals(MAGIC);

/**
 * @param {AsyncIterable<Buffer>} source
 * @param {string[]} recipients age1… or an SSH public key
 */
const seal = (source, recipients) =>
  through(
    source,
    recipients.flatMap((each) => ['--recipient', each])
  );

/** @param {AsyncIterable<Buffer>} source @param {string} identity file with secret keys, '' = none was given */
function open(source, identity) {
  if (!identity) throw new CipherError('it is encrypted with age. Name the file of your key with --identity');
  return through(source, ['--decrypt', '--identity', identity]);
}

/**
 * @param {AsyncIterable<Buffer>} source
 * @param {string[]} args of age
 * @returns {AsyncGenerator<Buffer, void>}
 * @throws {CipherError | CliError}
 */
async function* through(source, args) {
  const child = spawn('age', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-MAX_OUTPUT)));
  // A pipe that age has closed is reported by its exit code.
  child.stdin.on('error', () => {});
  /** @type {Error | null} */
  let cause = null;
  const ended = Promise.race([
    once(child, 'close').then(([code]) => code),
    once(child, 'error').then(([error]) => error)
  ]);
  const feeding = (async () => {
    for await (const chunk of source) {
      if (child.stdin.destroyed) break;
      await write(child.stdin, chunk);
    }
  })()
    .catch((error) => (cause = error))
    .finally(() => child.stdin.end());
  try {
    yield* child.stdout;
    const end = await ended;
    await feeding;
    if (cause) throw cause;
    if (end instanceof Error)
      throw new CliError(`The program age cannot be run: ${end.message}. Install it.`);
    const [reason = ''] = errors.split('\n').filter(Boolean);
    if (end !== 0)
      throw new CipherError(`age refuses it: ${reason.replace(/^age: (error: )?/, '').slice(0, 300)}`);
  } finally {
    child.kill();
  }
}

module.exports = { isAge, open, seal };
