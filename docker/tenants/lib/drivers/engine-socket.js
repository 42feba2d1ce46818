'use strict';

const fs = require('node:fs');
const path = require('node:path');

/** @param {'docker' | 'podman'} name @param {NodeJS.ProcessEnv} env @returns {string} path of the engine's socket */
function socketOf(name, env) {
  const given = (name === 'docker' ? env.SEGANET_TENANTS_DOCKER : env.SEGANET_TENANTS_PODMAN)?.trim();
  if (given) return given;
  const [, host] =
    /^unix:\/\/(\/.+)$/.exec((name === 'docker' ? env.DOCKER_HOST : env.CONTAINER_HOST) ?? '') ?? [];
  if (host) return host;
  const runtime = env.XDG_RUNTIME_DIR;
  const own = runtime ? path.join(runtime, name === 'docker' ? 'docker.sock' : 'podman/podman.sock') : '';
  // A rootless engine first.
  if (own && fs.existsSync(own)) return own;
  return name === 'docker' ? '/var/run/docker.sock' : '/run/podman/podman.sock';
}

exports.socketOf = socketOf;
