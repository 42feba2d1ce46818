'use strict';
// Posts a notification to a web server as JSON.

/** @typedef {import('./notifier').Message} Message */

/** Longest time for one attempt. */
const TIMEOUT_MS = 10_000;

/** Fails in a way that another attempt cannot mend. */
class Refused extends Error {}

/**
 * @param {{ url: string, secret: string }} target
 * @param {Message} message
 * @param {AbortSignal} signal ends the attempt
 * @throws {Error} with a sentence; Refused: another attempt would fail, too
 */
async function post({ url, secret }, message, signal) {
  const { host } = new URL(url);
  let response;
  try {
    response = await fetch(url, {
      method: 'POST',
      // A redirect could lead the secret elsewhere.
      redirect: 'error',
      headers: { 'content-type': 'application/json', ...(secret && { authorization: `Bearer ${secret}` }) },
      body: JSON.stringify(message),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    });
    // The answer does not matter; without this, its connection would stay busy.
    await response.body?.cancel();
  } catch (error) {
    const { message: text, cause } = /** @type {Error & { cause?: NodeJS.ErrnoException }} */ (error);
    throw new Error(`The webhook at ${host} cannot be reached (${cause?.code ?? cause?.message ?? text}).`, {
      cause: error
    });
  }
  if (response.ok) return;
  const sentence = `The webhook at ${host} answers ${response.status}.`;
  // 408, 425 and 429 ask for another attempt.
  const isFinal = response.status < 500 && ![408, 425, 429].includes(response.status);
  throw isFinal ? new Refused(sentence) : new Error(sentence);
}

module.exports = { Refused, TIMEOUT_MS, post };
