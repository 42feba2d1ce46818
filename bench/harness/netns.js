'use strict';
// Two network namespaces and a cable between: the command itself runs in the gateway's, so that devices, gateway and admin
// API are on that one's loopback; the cloud and its sink are in the other. Neither has a name: the kernel removes both, and
// the cable, when the last process in them has ended, however it ended. Nothing appears in the machine's own namespace.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const { Child } = require('./child');
const { haveTool } = require('./tools');
const { fail } = require('./arguments');

const mark = 'SEGANET_BENCH_INSIDE';
const tools = ['unshare', 'nsenter', 'setpriv', 'mount', 'ip', 'tc', 'mosquitto'];

/** Why this machine or user cannot; '' = it can. @returns {string} */
function obstacle() {
  if (process.platform !== 'linux') return 'Network namespaces exist on Linux only.';
  if (process.getuid?.() !== 0) {
    return 'This makes network namespaces and shapes a link between them, which needs root. Run it with sudo; nothing outside of these namespaces is changed.';
  }
  const missing = tools.filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `Not installed: ${missing.join(', ')}. Debian: apt install util-linux mount iproute2 mosquitto.`
    : '';
}

/** @returns {boolean} this process was started by runInside() */
const isInside = () => Boolean(process.env[mark]);

/** Runs this same command again in a namespace of its own, and ends as it ends. Refuses politely. */
function runInside() {
  const why = obstacle();
  if (why) fail(why);
  // sysfs shows the interfaces of the namespace in which it was mounted. tc loads eBPF programs through the one below it.
  const mounts = 'mount -t sysfs sysfs /sys && { mount -t bpf bpf /sys/fs/bpf 2>/dev/null || true; }';
  const prepare = `${mounts} && ip link set lo up && exec "$@"`;
  const self = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'TERM', 'unshare', '--net', '--mount', '/bin/sh', '-c', prepare, 'sh', ...self],
    { stdio: 'inherit', env: { ...process.env, [mark]: '1' } }
  );
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

/**
 * @param {string} command @param {string[]} args
 * @returns {string} its output
 */
const run = (command, args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** A process that keeps the cloud's namespace: nothing but loopback is in it. */
async function holdCloud() {
  const hold = 'ip link set lo up && echo ready && exec sleep infinity';
  const holder = new Child('unshare', ['--net', '/bin/sh', '-c', hold], { name: "the cloud's namespace" });
  await holder.until((output) => output.includes('ready'));
  return holder;
}

/** Put before a command that is to run where `holder` is. @param {Child} holder */
const within = (holder) => ['nsenter', `--net=/proc/${holder.pid}/ns/net`];

/** The kernel's names of this process's namespace and of the holder's. @param {Child} holder */
const namesOf = (holder) =>
  [process.pid, holder.pid].map((pid) => fs.readlinkSync(`/proc/${pid}/ns/net`)).join(', ');

class LinkedNetworks {
  /** @param {Child} holder a process that keeps the cloud's namespace */
  constructor(holder) {
    this.holder = holder;
    /** The gateway's end of the cable. */
    this.interface = 'up0';
    this.here = '198.18.0.1'; // 198.18.0.0/15 is for benchmarks [RFC 2544]
    this.there = '198.18.0.2';
    /** Put before a command that is to run at the cloud. */
    this.inCloud = within(holder);
  }

  /** REQUIRES: isInside(). @param {string} congestion control of the gateway's connections; '' = the system's */
  static async open(congestion = '') {
    const network = new LinkedNetworks(await holdCloud());
    network.#connect(congestion);
    return network;
  }

  /** @param {string} congestion */
  #connect(congestion) {
    const { interface: near, here, there } = this;
    const [nsenter, ...enter] = this.inCloud;
    /** @param {string} command @param {string[]} args */
    const atCloud = (command, ...args) => run(nsenter, [...enter, command, ...args]);
    // Its neighbour discovery goes out with priority 7.
    const quiet = '/proc/sys/net/ipv6/conf/default/disable_ipv6';
    const silence = `[ ! -e ${quiet} ] || echo 1 > ${quiet}`;
    run('/bin/sh', ['-c', silence]);
    atCloud('/bin/sh', '-c', silence);
    run('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', 'down0', 'netns', `${this.holder.pid}`]);
    run('ip', ['addr', 'add', `${here}/30`, 'dev', near]);
    run('ip', ['link', 'set', near, 'up']);
    atCloud('ip', 'addr', 'add', `${there}/30`, 'dev', 'down0');
    atCloud('ip', 'link', 'set', 'down0', 'up');
    // A namespace may choose only what the machine's own allows to everybody; a route may name any.
    const control = congestion ? ['congctl', congestion] : [];
    run('ip', ['route', 'replace', '198.18.0.0/30', 'dev', near, 'src', here, ...control]);
    // What one run learned of the path must not help the next.
    fs.writeFileSync('/proc/sys/net/ipv4/tcp_no_metrics_save', '1');
  }

  /** What is in force. @returns {string} */
  get congestion() {
    const [, named] = run('ip', ['route', 'show', '198.18.0.0/30']).match(/congctl (\S+)/) ?? [];
    return named ?? fs.readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
  }

  get names() {
    return namesOf(this.holder);
  }

  async close() {
    await this.holder.stop();
  }
}

/**
 * Runs `body`, and `close` afterwards: after an error, which is told, and on SIGINT or SIGTERM too.
 * @param {() => Promise<void>} close ends whatever `body` has started
 * @param {() => Promise<void>} body
 */
async function closing(close, body) {
  let isInterrupted = false;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => {
      if (isInterrupted) return;
      isInterrupted = true;
      process.exitCode = signal === 'SIGINT' ? 130 : 143;
      close()
        .catch((error) => console.error(error))
        .finally(() => process.exit());
    });
  }
  try {
    await body();
  } catch (error) {
    // What was interrupted fails, of course.
    if (isInterrupted) return;
    console.error(error);
    process.exitCode = 1;
  } finally {
    if (!isInterrupted) await close();
  }
}

/**
 * Runs `body` on two networks, and removes both afterwards, as closing() does.
 * REQUIRES: isInside().
 * @param {string} congestion as in LinkedNetworks.open()
 * @param {() => Promise<void>} closeRest ends what `body` has started
 * @param {(network: LinkedNetworks) => Promise<void>} body
 */
async function withNetworks(congestion, closeRest, body) {
  const network = await LinkedNetworks.open(congestion);
  const close = async () => {
    await closeRest();
    await network.close();
  };
  await closing(close, () => body(network));
}

module.exports = {
  LinkedNetworks,
  closing,
  holdCloud,
  isInside,
  namesOf,
  obstacle,
  run,
  runInside,
  within,
  withNetworks
};
