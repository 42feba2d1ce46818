'use strict';
// A gateway in a child process, with a flow that is written before it starts.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { spawn } = require('node:child_process');

const START = path.join(__dirname, '..', 'launcher', 'start.js');
const HOST = '127.0.0.1';
const MOST_OUTPUT = 16384;
const READY_MS = 60000;
const STOP_MS = 30000;
const POLL_MS = 10;
/** Lines of the gateway that its user should see. */
const NOTABLE = /\b(warning|error)\b/i;

class Gateway {
  #child;
  #output = '';
  #rest = '';
  /** @type {(line: string) => void} */
  #onLine = () => {};

  /**
   * @param {object} parts
   * @param {string} parts.home
   * @param {object[]} parts.flow
   * @param {string} parts.id of the gateway
   * @param {number} parts.editorPort
   * @param {NodeJS.ProcessEnv} [parts.env] more variables
   * @param {string[]} [parts.within] prefix of the command, for a network namespace
   */
  constructor({ id, home, flow, editorPort, env = {}, within = [] }) {
    fs.writeFileSync(path.join(home, 'gateway.json'), `${JSON.stringify(flow, null, 2)}\n`, { mode: 0o600 });
    // No variable of another gateway on this machine may reach this one.
    const others = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('SEGANET_') || /^SEGANET_(CACHE|NATIVE)$/.test(name)
    );
    const [command, ...args] = [...within, process.execPath, '--max-semi-space-size=1', START];
    this.#child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...Object.fromEntries(others),
        ...env,
        SEGANET_HOME: home,
        SEGANET_GATEWAY_ID: id,
        SEGANET_EDITOR_PORT: String(editorPort),
        // The flow has no MQTT uplink. Without the variable, the gateway starts the demo of npm start.
        SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
        // It ends with this process, even after kill -9.
        SEGANET_LAUNCHER_PID: String(process.pid)
      }
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => this.#take(text));
    }
    /** @type {Promise<string>} resolves to how it ended */
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    this.hasEnded = false;
    this.ended.then(() => (this.hasEnded = true));
  }

  /** @returns {number} of its process */
  get pid() {
    return this.#child.pid ?? 0;
  }

  /** The last output. */
  get output() {
    return this.#output;
  }

  /** @param {(line: string) => void} onLine gets each warning and error from now on */
  follow(onLine) {
    this.#onLine = onLine;
  }

  /** @param {string} text */
  #take(text) {
    this.#output = (this.#output + text).slice(-MOST_OUTPUT);
    const lines = (this.#rest + text).slice(-MOST_OUTPUT).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (NOTABLE.test(line)) this.#onLine(line);
  }

  /**
   * Waits until a port accepts connections.
   * @param {number} port
   * @throws {Error} with the gateway's last output, if it ends or takes too long
   */
  async listens(port) {
    const deadline = performance.now() + READY_MS;
    while (!(await accepts(port))) {
      if (this.hasEnded) throw new Error(`The gateway ended (${await this.ended}):\n${this.#output.trim()}`);
      if (performance.now() > deadline) {
        throw new Error(
          `The gateway did not open port ${port} in ${READY_MS / 1000} s:\n${this.#output.trim()}`
        );
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Ends it in order. */
  async stop() {
    this.#onLine = () => {};
    if (this.hasEnded) return;
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, HOST);
    socket.once('connect', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, HOST, () => server.close(() => resolve(true)));
  });
}

module.exports = { Gateway, isFree, HOST };
