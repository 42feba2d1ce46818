'use strict';
// The control group that an administrator has chosen for all containers of Docker. Neither /info nor a container shows
// it, so it is read where the administrator wrote it: the arguments of dockerd, and its configuration file.

const fs = require('node:fs');
const path = require('node:path');

/** Where dockerd reads its configuration, and where it listens without an option. */
const CONFIG = '/etc/docker/daemon.json';
const SOCKETS = ['/run/docker.sock', '/var/run/docker.sock'];
/** The file is small, and nobody but root writes it. */
const MAX_BYTES = 1 << 20;
const NAME = 'dockerd';

/** @typedef {{ parent: string, config: string, hosts: string[] }} Options of a dockerd */

/** @param {string[]} words of a command line @returns {Options} '' and [] = not given */
function optionsIn(words) {
  /** @type {Options} */
  const options = { parent: '', config: '', hosts: [] };
  for (let i = 0; i < words.length; i++) {
    const [, name, inline] = /^(--cgroup-parent|--config-file|--host|-H)(?:=(.*))?$/s.exec(words[i]) ?? [];
    if (!name) continue;
    const value = inline ?? words[++i] ?? '';
    if (name === '--cgroup-parent') options.parent = value;
    else if (name === '--config-file') options.config = value;
    else options.hosts.push(value);
  }
  return options;
}

/** @param {string} file @returns {Record<string, unknown>} {} if it cannot be read, or is no object */
function settingsIn(file) {
  try {
    if (fs.statSync(file).size > MAX_BYTES) return {};
    return Object(JSON.parse(fs.readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}

/** @param {string} file @returns {string} '' if it cannot be read */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} proc @returns {string[][]} the command line of each dockerd that this process sees */
function commandLines(proc) {
  const pids = fs.existsSync(proc) ? fs.readdirSync(proc).filter((name) => /^\d+$/.test(name)) : [];
  return pids
    .filter((pid) => read(path.join(proc, pid, 'comm')).trim() === NAME)
    .map((pid) => read(path.join(proc, pid, 'cmdline')).split('\0'));
}

/** @param {string[]} hosts of a dockerd @param {string} socket @returns {boolean} true if it listens there */
function serves(hosts, socket) {
  const files = hosts.flatMap((host) => (host.startsWith('unix://') ? [host.slice('unix://'.length)] : []));
  // From systemd (fd://), it gets the socket that it would make without an option.
  const isStandard = hosts.length === 0 || files.includes('') || hosts.some((host) => /^fd:/.test(host));
  return files.includes(socket) || (isStandard && SOCKETS.includes(socket));
}

/**
 * Returns the control group of all containers of the Docker that serves a socket, if an administrator has chosen it.
 * @param {string} socket
 * @param {{ proc?: string, config?: string }} [places]
 * @returns {string} '' = none, or unknown
 */
function chosenParent(socket, { proc = '/proc', config = CONFIG } = {}) {
  const lines = commandLines(proc);
  // A process of another namespace is not seen. Its file may be.
  for (const words of lines.length > 0 ? lines : [[]]) {
    const options = optionsIn(words);
    const settings = settingsIn(options.config || config);
    const hosts = Array.isArray(settings.hosts) ? settings.hosts.map(String) : [];
    if (!serves([...options.hosts, ...hosts], socket)) continue;
    const { 'cgroup-parent': chosen } = settings;
    return options.parent || (typeof chosen === 'string' ? chosen : '');
  }
  return '';
}

exports.chosenParent = chosenParent;
