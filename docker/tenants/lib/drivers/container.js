'use strict';
// The isolation of a tenant in a container. It states every limit and inherits none.

const crypto = require('node:crypto');
const { OUTPUT, withOutputFile } = require('./container-output');
const { environmentOf } = require('./environment');

const MIB = 1 << 20;
/**
 * A DNS server that nothing can reach: the kernel refuses datagrams and connections to this address. A loopback
 * address would be the container's with Docker, but this machine's with Podman.
 */
const NO_DNS = '255.255.255.255';
/** An engine's network without IPv6 still has link-local addresses, which the rules of `net` do not know. */
const NO_IPV6 = { 'net.ipv6.conf.all.disable_ipv6': '1' };
/**
 * No core dumps: a tenant that crashes repeatedly would write its memory to the disk each time. Where the kernel
 * passes dumps on to a program of this machine (core_pattern with a pipe), that program runs outside of the tenant's
 * limits, also with 0; only with 1 the kernel does not start it (coredump.c). Podman gets no such limit: with any of
 * them it sets the number of processes, too, and refuses to start containers if it may not raise that.
 */
const NO_CORE = { Name: 'core', Soft: 1, Hard: 1 };
/** An engine without root cannot raise its own limit of 0. */
const NO_CORE_FILE = { Name: 'core', Soft: 0, Hard: 0 };
/**
 * No real-time threads and no negative niceness. Without these limits, a container inherits those of the engine. Podman
 * gets neither, see above; its own limits are 0 unless an administrator raised them.
 */
const NO_PRIORITY = ['nice', 'rtprio'].map((Name) => ({ Name, Soft: 0, Hard: 0 }));
/** @param {number} count @returns {object} the limit; a container without one has the engine's, of half a million */
const openFiles = (count) => ({ Name: 'nofile', Soft: count, Hard: count });
/** Where a tenant finds its data and its users. */
const DATA = '/data';
const SECRETS = '/run/secrets/seganet';
/** User of the tenant if the keeper is root. */
const USER = 1000;

/**
 * @typedef {object} Around
 * @property {string} network
 * @property {string} address the tenant's
 * @property {string} volume folder on this machine
 * @property {string} secrets folder on this machine
 * @property {string} user number of user and group, such as 1000:1000
 * @property {boolean} hasIpv6 the kernel of this machine has IPv6
 * @property {boolean} keepsUser Podman without root: the keeper's user is the same one inside
 * @property {boolean} isRootless the engine runs without root
 * @property {string} [parent] control group that it is in; '' = the engine's
 * @property {string[]} disks devices that its files are on; what is written to others is not limited
 * @property {{ file: string, image: object } | null} output file that it prints to, and the configuration of its image;
 *   null: it prints to the engine
 * @property {Record<string, string>} labels
 */

/** Label with a hash of all settings of a container. */
const MADE_WITH = 'seganet.made-with';

/**
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @param {Around} around
 * @returns {any} body of the engine's request
 */
function containerOf(spec, around) {
  const {
    network,
    address,
    volume,
    secrets,
    user,
    hasIpv6,
    keepsUser,
    isRootless,
    parent,
    disks,
    output,
    labels
  } = around;
  const { memoryMiB, cpus, pids, files, writeMiBps } = spec.limits;
  const env = environmentOf(spec, { host: address, data: DATA, passwords: `${SECRETS}/passwords` });
  const plain = {
    Image: spec.image,
    ...(spec.command.length > 0 && { Cmd: spec.command }),
    User: user,
    // The name of a tenant is no secret, and stays the same.
    Hostname: spec.name,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: labels,
    // The keeper checks whether it is ready. The engine would read the output of the image's health check.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      // Without it, the tenant is process 1, for which signals have no standard action.
      Init: true,
      NetworkMode: network,
      Memory: memoryMiB * MIB,
      // The same number: no swap.
      MemorySwap: memoryMiB * MIB,
      NanoCpus: Math.round(cpus * 1e9),
      ...(parent && { CgroupParent: parent }),
      PidsLimit: pids,
      ...(spec.driver === 'docker' && {
        Ulimits: [isRootless ? NO_CORE_FILE : NO_CORE, ...NO_PRIORITY, openFiles(files)]
      }),
      ...(disks.length > 0 &&
        writeMiBps > 0 && {
          BlkioDeviceWriteBps: disks.map((disk) => ({ Path: disk, Rate: writeMiBps * MIB }))
        }),
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,nosuid,nodev,size=64m,mode=1777' },
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true'],
      // Otherwise the engine forwards DNS queries to the resolver of this machine, even from an internal network. Data
      // could leave that way.
      Dns: [NO_DNS],
      ...(hasIpv6 && { Sysctls: NO_IPV6 }),
      Privileged: false,
      Binds: [
        `${volume}:${DATA}:rw`,
        `${secrets}:${SECRETS}:ro`,
        ...(output ? [`${output.file}:${OUTPUT}:rw`] : [])
      ],
      ...(keepsUser && { UsernsMode: 'keep-id' }),
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
      // Only the keeper decides whether it runs.
      RestartPolicy: { Name: 'no' },
      AutoRemove: false
    },
    NetworkingConfig: { EndpointsConfig: { [network]: { IPAMConfig: { IPv4Address: address } } } }
  };
  const body = output ? withOutputFile(plain, output.image, files) : plain;
  const hash = crypto.createHash('sha256').update(JSON.stringify(body)).digest('hex');
  return { ...body, Labels: { ...labels, [MADE_WITH]: hash } };
}

module.exports = { containerOf, MADE_WITH, USER };
