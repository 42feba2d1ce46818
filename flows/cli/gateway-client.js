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
 * @param {string} [body] of a POST; undefined = it is a GET
 * @returns {Promise<http.IncomingMessage>} with status 200 or 204
 * @throws {CliError}
 */
function ask(home, url, timeoutMs = ANSWER_MS, body) {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = http.request({ socketPath: socketIn(home), path: url, method }, (response) => {
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
    request.end(body);
  });
}

/** The gateway runs, but its thread is blocked. */
class Unanswered extends CliError {
  /** @param {string} message */
  constructor(message) {
    super(message, EXIT.DEGRADED);
  }
}

/** @param {http.IncomingMessage} response @returns {Promise<string>} */
async function readText(response) {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return text;
}

/** @param {http.IncomingMessage} response @returns {Promise<any>} */
const readJson = async (response) => JSON.parse((await readText(response)) || 'null');

/** @param {string} home @param {string} url @returns {Promise<any>} */
const askJson = async (home, url) => readJson(await ask(home, url));

/**
 * Asks a node of the flow.
 * @param {string} home
 * @param {string} url such as /nodes/shadow/get?device=a
 * @param {string} [body]
 * @returns {Promise<string>} JSON
 */
const askNode = async (home, url, body = '') => readText(await ask(home, url, ANSWER_MS, body));

module.exports = { COPY_MS, Unanswered, ask, askJson, askNode, isRunning };
