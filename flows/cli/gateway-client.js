'use strict';
// Asks the running gateway through its control socket.

const fs = require('node:fs');
const http = require('node:http');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { answers, socketIn } = require('../service/control-socket');
const { EXIT } = require('./usage');

/** Node-RED's thread answers within this time unless it is blocked, ms. */
const ANSWER_MS = 10_000;
/** A copy of a large log on a slow card. */
const COPY_MS = 30 * 60_000;

/**
 * @param {string} home
 * @returns {Promise<boolean>}
 * @throws {CliError} if this user may not ask
 */
async function isRunning(home) {
  const file = socketIn(home);
  if (!fs.existsSync(file)) return false;
  try {
    fs.accessSync(file, fs.constants.W_OK);
  } catch {
    throw new CliError(
      `This user may not ask the gateway in ${home}. Run the command as the gateway's user or as root.`,
      EXIT.CANNOT
    );
  }
  return answers(file);
}

/**
 * @param {string} home
 * @param {string} url
 * @param {number} [timeoutMs]
 * @returns {Promise<http.IncomingMessage>} with status 200 or 204
 * @throws {CliError}
 */
function ask(home, url, timeoutMs = ANSWER_MS) {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath: socketIn(home), path: url }, (response) => {
      clearTimeout(timer);
      if (response.statusCode === 200 || response.statusCode === 204) return resolve(response);
      readJson(response).then(
        ({ error = `status ${response.statusCode}` }) =>
          reject(new CliError(`The gateway answers: ${error}`, EXIT.CANNOT)),
        reject
      );
    });
    const timer = setTimeout(() => {
      request.destroy();
      reject(
        new Unanswered(
          `The gateway does not answer within ${timeoutMs / 1000} s: its Node-RED thread is busy.`
        )
      );
    }, timeoutMs);
    request.once('error', (error) => {
      clearTimeout(timer);
      reject(new CliError(`The gateway does not answer: ${error.message}.`, EXIT.CANNOT));
    });
  });
}

/** The gateway runs, but its thread is blocked. */
class Unanswered extends CliError {
  /** @param {string} message */
  constructor(message) {
    super(message, EXIT.DEGRADED);
  }
}

/** @param {http.IncomingMessage} response @returns {Promise<any>} */
async function readJson(response) {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return JSON.parse(text || 'null');
}

/** @param {string} home @param {string} url @returns {Promise<any>} */
const askJson = async (home, url) => readJson(await ask(home, url));

module.exports = { COPY_MS, Unanswered, ask, askJson, isRunning };
