'use strict';
// Lets a tenant in a container write its output to a file, under its own limits. An engine reads the output of its
// containers from a pipe, outside of their limits: a tenant that prints endlessly cost more than one core.

/** Where a tenant finds the file. */
const OUTPUT = '/run/seganet-output';
/** Must be in the image. */
const SHELL = '/bin/sh';

/**
 * Process 1 of the container. It replaces the engine's pipe before it starts the command, so no program of the tenant
 * can open that, also not as /proc/1/fd/1. The engine's own init process would keep it. As an init process does, the
 * shell passes signals on, which process 1 of a container otherwise ignores, collects processes without a parent, and
 * ends with the tenant's code. A signal while the shell forks may be lost; the keeper kills the tenant after its grace.
 * The command does not get the variables that a shell makes. Podman cannot limit the open files itself, see
 * container.js. Arguments: the file, the most open files, and the command.
 */
const SCRIPT = `child= sent=
pass() { sent=$1; [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null; }
for each in HUP INT QUIT USR1 USR2 TERM; do trap "pass $each" "$each"; done
exec >>"$1" 2>&1 || exit 126
ulimit -n "$2" 2>/dev/null
shift 2
unset PWD OLDPWD SHLVL
"$@" &
child=$!
[ -z "$sent" ] || pass "$sent"
while :; do
  wait "$child"
  code=$?
  [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null || exit "$code"
done`;

/**
 * @param {any} body of the engine's request for a container that has the output file at OUTPUT
 * @param {{ Entrypoint?: string[] | null, Cmd?: string[] | null }} image its configuration
 * @param {number} files that each process may have open
 * @returns {any} the request for one that writes to the file
 */
function withOutputFile(body, { Entrypoint, Cmd }, files) {
  const command = [...(Entrypoint ?? []), ...(body.Cmd ?? Cmd ?? [])];
  return {
    ...body,
    Entrypoint: [SHELL, '-c', SCRIPT, 'sh', OUTPUT, String(files)],
    Cmd: command,
    HostConfig: { ...body.HostConfig, Init: false }
  };
}

module.exports = { OUTPUT, SHELL, withOutputFile };
