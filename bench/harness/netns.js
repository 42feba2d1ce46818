'use strict';
// Two network namespaces with a link (veth) between them. The command itself runs in the gateway's namespace, so
// devices, gateway and admin API use its loopback; the cloud and its sink run in the other. The namespaces have no
// names: the kernel removes them and the link when their last process ends, for whatever reason. The machine's own
// namespace stays unchanged.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const { Child } = require('./child');
const { haveTool } = require('./tools');
const { fail } = require('./arguments');

const mark = 'SEGANET_BENCH_INSIDE';
const tools = ['unshare', 'nsenter', 'setpriv', 'mount', 'ip', 'tc', 'mosquitto'];

/** Returns why this machine or user cannot create namespaces, '' if it can. @returns {string} */
function obstacle() {
  if (process.platform !== 'linux') return 'Network namespaces exist on Linux only.';
  if (process.getuid?.() !== 0) {
    return 'This creates network namespaces and shapes a link between them, which needs root. Run it with sudo; it changes nothing outside these namespaces.';
  }
  const missing = tools.filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `Not installed: ${missing.join(', ')}. Debian: apt install util-linux mount iproute2 mosquitto.`
    : '';
}

/** @returns {boolean} true if runInside() started this process */
const isInside = () => Boolean(process.env[mark]);

/** Runs this command again in a new namespace and exits with its exit code. Prints the obstacle if there is one. */
function runInside() {
  const why = obstacle();
  if (why) fail(why);
  // sysfs shows the interfaces of the namespace in which it was mounted. tc loads eBPF programs through /sys/fs/bpf.
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
 * Runs a command.
 * @param {string} command @param {string[]} args
 * @returns {string} its output
 */
const run = (command, args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Starts a process that holds the cloud's namespace, which has only loopback. */
async function holdCloud() {
  const hold = 'ip link set lo up && echo ready && exec sleep infinity';
  const holder = new Child('unshare', ['--net', '/bin/sh', '-c', hold], { name: "the cloud's namespace" });
  await holder.until((output) => output.includes('ready'));
  return holder;
}

/** Returns the prefix of a command that runs in the holder's namespace. @param {Child} holder */
const within = (holder) => ['nsenter', `--net=/proc/${holder.pid}/ns/net`];

/** Returns the kernel's names of this process's namespace and of the holder's. @param {Child} holder */
const namesOf = (holder) =>
  [process.pid, holder.pid].map((pid) => fs.readlinkSync(`/proc/${pid}/ns/net`)).join(', ');

class LinkedNetworks {
  /** @param {Child} holder a process that holds the cloud's namespace */
  constructor(holder) {
    this.holder = holder;
    /** The gateway's end of the link. */
    this.interface = 'up0';
    this.here = '198.18.0.1'; // 198.18.0.0/15 is reserved for benchmarks [RFC 2544]
    this.there = '198.18.0.2';
    /** The prefix of a command that runs in the cloud's namespace. */
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
    // IPv6 neighbor discovery would be sent with priority 7.
    const quiet = '/proc/sys/net/ipv6/conf/default/disable_ipv6';
    const silence = `[ ! -e ${quiet} ] || echo 1 > ${quiet}`;
    run('/bin/sh', ['-c', silence]);
    atCloud('/bin/sh', '-c', silence);
    run('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', 'down0', 'netns', `${this.holder.pid}`]);
    run('ip', ['addr', 'add', `${here}/30`, 'dev', near]);
    run('ip', ['link', 'set', near, 'up']);
    atCloud('ip', 'addr', 'add', `${there}/30`, 'dev', 'down0');
    atCloud('ip', 'link', 'set', 'down0', 'up');
    // A namespace may choose only the controls that the machine allows for all users; a route may name any.
    const control = congestion ? ['congctl', congestion] : [];
    run('ip', ['route', 'replace', '198.18.0.0/30', 'dev', near, 'src', here, ...control]);
    // Metrics of one run must not help the next.
    fs.writeFileSync('/proc/sys/net/ipv4/tcp_no_metrics_save', '1');
  }

  /** The congestion control in effect. @returns {string} */
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
 * Runs `body` and then `close`: also after an error, which it prints, and on SIGINT or SIGTERM.
 * @param {() => Promise<void>} close ends everything that `body` has started
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
    // An interrupted body always fails.
    if (isInterrupted) return;
    console.error(error);
    process.exitCode = 1;
  } finally {
    if (!isInterrupted) await close();
  }
}

/**
 * Runs `body` with two networks and then removes both, like closing().
 * REQUIRES: isInside().
 * @param {string} congestion as in LinkedNetworks.open()
 * @param {() => Promise<void>} closeRest ends everything that `body` has started
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
