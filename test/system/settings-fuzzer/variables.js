'use strict';
// Odd values of environment variables, each set in a separate gateway.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { VARIABLES } = require('../../../flows/launcher/variables');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { faultsOf } = require('./judge');
const { brief, oddVariable, pick } = require('./values');

const START_MS = 30000;
const EXIT_CONFIG = 78;

/** @typedef {import('./values').Random} Random */
/** @typedef {{ env: Record<string, string>, sentence: string, code: number | null, findings: string[] }} Outcome */

/** @param {Random} random @returns {Record<string, string>} one variable, or a few at a time */
function drawVariables(random) {
  const count = random.integer(4) === 0 ? 2 + random.integer(3) : 1;
  const names = Array.from({ length: count }, () => pick(random, VARIABLES).name);
  return Object.fromEntries(names.map((name) => [name, oddVariable(random)]));
}

/**
 * Starts a gateway and waits until it has ended or listens.
 * @param {Record<string, string>} env
 * @param {string} folder for its home
 * @returns {Promise<Outcome>} sentence: its output when it ended, '' when it runs
 */
async function tryVariables(env, folder) {
  const home = fs.mkdtempSync(path.join(folder, 'home-'));
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  const child = new Child(process.execPath, [path.join(root, 'flows', 'launcher', 'start.js')], {
    name: 'gateway',
    // Folders that a relative name creates.
    cwd: home,
    env: {
      ...Object.fromEntries(clean),
      SEGANET_HOME: home,
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: 'off',
      SEGANET_WORKERS: '1',
      SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
      ...env
    }
  });
  try {
    const ready = child
      .until(
        (output) => /^devices: (?:MQTT listener on port (\d+)|(?!\S+ is open to|MQTT))/m.exec(output),
        START_MS
      )
      .catch(() => null);
    const [, port] = (await ready) ?? [];
    const entered = Object.values(env).join('\n');
    const findings = faultsOf(child.output, entered);
    if (child.exit) return { env, ...judgeEnd(env, child, findings) };
    if (!port) {
      const isSaid = /^(error|warning):/m.test(child.output);
      if (!isSaid) findings.push(`no listener within ${START_MS} ms, and no reason in the output`);
    } else if (isPlain(env)) findings.push(...(await publish(Number(port), env)));
    const { code } = await child.stop('SIGTERM', 40000);
    findings.push(...faultsOf(child.output, entered));
    if (code !== 0) findings.push(`the stop ended with ${code}: ${child.output.slice(-300)}`);
    const [, logged = ''] = /^((?:error|warning):.*)$/m.exec(child.output) ?? [];
    return { env, sentence: logged, code: null, findings: [...new Set(findings)] };
  } finally {
    child.kill('SIGKILL');
    fs.rmSync(home, { recursive: true, force: true });
  }
}

/** @param {Record<string, string>} env @param {Child} child @param {string[]} findings */
function judgeEnd(env, { exit, output }, findings) {
  const code = exit?.code ?? null;
  const lines = output.trim().split('\n');
  if (code !== EXIT_CONFIG) findings.push(`it ended with ${JSON.stringify(exit)}: ${output.slice(-500)}`);
  else if (!Object.keys(env).some((name) => output.includes(name))) {
    findings.push(`no sentence names a variable: ${output.slice(-500)}`);
  }
  if (lines.length > Object.keys(env).length + 3) findings.push(`it printed ${lines.length} lines`);
  const long = lines.find((line) => line.length > 1000);
  if (long) findings.push(`a line of ${long.length} characters`);
  return { sentence: output.trim(), code, findings };
}

/** True where a device needs neither TLS nor a login. @param {Record<string, string>} env */
function isPlain(env) {
  const names = [
    'SEGANET_DEVICE_TRANSPORT',
    'SEGANET_DEVICE_LOGIN',
    'SEGANET_DEVICE_PERMISSIONS',
    'SEGANET_DEVICE_HOST'
  ];
  return !names.some((name) => env[name]?.trim());
}

/**
 * A record must be acknowledged, as its class and the log allow it.
 * @param {number} port
 * @param {Record<string, string>} env
 */
async function publish(port, env) {
  // The cloud is away: without a log devices wait, and the start has reported it.
  if (env.SEGANET_LOG_DIR?.trim()) return [];
  try {
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
      clientId: 'canary',
      reconnectPeriod: 0
    });
    const late = new Promise((resolve) => setTimeout(resolve, 20000, 'late').unref());
    const end = await Promise.race([device.publishAsync('d/canary/t', '1', { qos: 1 }), late]);
    await device.endAsync(true);
    return end === 'late' ? ['a record was not acknowledged within 20 s'] : [];
  } catch (error) {
    return [`a device could not publish: ${/** @type {Error} */ (error).message}`];
  }
}

/** @param {Outcome} outcome */
function lineOf({ env, sentence, code, findings }) {
  const set = Object.entries(env).map(([name, value]) => `${name}=${brief(value)}`);
  const end = code === null ? 'runs' : `exit ${code}`;
  return `${findings.length > 0 ? 'FINDING ' : ''}${set.join(' ')} → ${end} ${sentence.split('\n')[0].slice(0, 160)}`;
}

module.exports = { drawVariables, tryVariables, lineOf };
