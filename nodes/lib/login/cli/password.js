'use strict';
// Reads a password from the terminal, a pipe or a file.

const fs = require('node:fs');
const { CliError } = require('../../base/cli/cli-error');
const { MAX_PASSWORD_BYTES, passwordProblem } = require('../password-file');
const { EXIT } = require('./usage');

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\x03', '\x04', '\b', '\x7f'];

/**
 * @param {number} passwordFd descriptor of a file, -1 = none
 * @param {boolean} isNew true: the user enters it twice
 * @returns {Promise<Buffer>}
 */
async function readPassword(passwordFd, isNew) {
  const password = await find(passwordFd, isNew);
  const problem = passwordProblem(password);
  if (problem) throw new CliError(`The password ${problem}.`, EXIT.USAGE);
  return password;
}

/** @param {number} passwordFd @param {boolean} isNew */
async function find(passwordFd, isNew) {
  if (passwordFd >= 0) return firstLine(fs.readFileSync(passwordFd));
  if (!process.stdin.isTTY) return firstLine(await readAll(process.stdin));
  const password = await ask('Password: ');
  if (isNew && (await ask('Again: ')) !== password) {
    throw new CliError('The passwords do not match. Nothing was changed.', EXIT.USAGE);
  }
  return Buffer.from(password);
}

/** @param {Buffer} bytes */
function firstLine(bytes) {
  const end = bytes.indexOf('\n');
  const line = end < 0 ? bytes : bytes.subarray(0, end);
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}

/**
 * @param {NodeJS.ReadStream} stream
 * @returns {Promise<Buffer>} limited to the bytes that can matter
 */
async function readAll(stream) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_PASSWORD_BYTES + 2) break;
  }
  return Buffer.concat(chunks);
}

/**
 * Reads a line from the terminal without echo.
 * @param {string} question
 * @returns {Promise<string>}
 */
function ask(question) {
  const { stdin, stderr } = process;
  // Before the question, because input must not be echoed as soon as the question is visible.
  stdin.setRawMode(true);
  stderr.write(question);
  stdin.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    let typed = '';
    const end = () => {
      stdin.off('data', onData);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write('\n');
    };
    const onData = (/** @type {string} */ text) => {
      for (const [index, character] of [...text].entries()) {
        if (character === CTRL_C) {
          end();
          return reject(new CliError('Canceled. Nothing was changed.', EXIT.USAGE));
        }
        if (character === '\r' || character === '\n' || character === CTRL_D) {
          end();
          // Input after the line end, in the same chunk, is for the next question.
          const rest = [...text].slice(index + 1).join('');
          if (rest) stdin.unshift(Buffer.from(rest));
          return resolve(typed);
        }
        if (character === BACKSPACE || character === DELETE) typed = [...typed].slice(0, -1).join('');
        else typed += character;
      }
    };
    stdin.on('data', onData);
    stdin.resume();
  });
}

exports.readPassword = readPassword;
