'use strict';
// The rows of the operator's page: what the keeper, the tenants file, the front and the engine know of each tenant.

/**
 * waking: it starts · leaving: it is being paused or stopped · waiting: its records wait for a place or the keeper ·
 * retrying: it failed, and is tried again · failed: it stays down until a person wakes it · unknown: the keeper is away
 * @typedef {'awake' | 'paused' | 'asleep' | 'waking' | 'leaving' | 'waiting' | 'retrying' | 'failed' | 'unknown'}
 *   OperatorState
 *
 * @typedef {{ at: number, ok: boolean, reason: string }} Outcome
 * @typedef {Outcome & { checked?: Outcome | null }} Backup checked: null = it was not, or the keeper does not say
 *
 * @typedef {object} KeeperRow as the keeper's list has it; a keeper of another release may have less
 * @property {string} name
 * @property {string} [driver]
 * @property {string} [state]
 * @property {number} [since]
 * @property {string} [reason]
 * @property {number} [memoryBytes]
 * @property {{ at: number, by: string, how: string, readyMs: number } | null} [lastWake]
 * @property {number} [leases]
 * @property {number} [failures]
 * @property {number} [dataBytes]
 * @property {{ memoryMiB: number, volumeMiB: number }} [limits]
 * @property {boolean} [isolated]
 * @property {Backup | null} [backup]
 * @property {string} [template]
 * @property {boolean} [byApi]
 *
 * @typedef {object} Known of the gateway, by name of the tenant
 * @property {Map<string, import('../uplink/tenant').TenantView>} front
 * @property {Map<string, { waitingBytes: number, refused: number }>} parts
 * @property {Map<string, Record<number, number>>} stored records in the log, by class
 * @property {(name: string) => number | null} perS records that it gets each second, null = unknown
 * @property {string[]} names of the tenants file
 *
 * @typedef {object} OperatorRow
 * @property {string} name
 * @property {OperatorState} state
 * @property {number} since ms since 1970, 0 = unknown
 * @property {string} reason
 * @property {string} driver '' = unknown
 * @property {boolean | null} isolated null = unknown
 * @property {number | null} memoryBytes null = it does not run, or unknown
 * @property {number | null} memoryLimit bytes
 * @property {number | null} dataBytes null = unknown
 * @property {number | null} dataLimit bytes
 * @property {{ at: number, by: string, how: string, readyMs: number, connectedMs: number } | null} lastWake
 *   connectedMs: from the first waiting batch to the session, -1 = unknown
 * @property {number | null} leases
 * @property {number} failures in a row, or of the front
 * @property {number} wakes by records, since the node started
 * @property {number | null} waitingBytes in memory and in the log; null = it gets no records
 * @property {Record<number, number> | null} waiting records in the log, by class; null = unknown
 * @property {number | null} perS
 * @property {number | null} refused records above its limits
 * @property {Backup | null} backup
 * @property {string} template that it was made of, '' = none, or unknown
 * @property {boolean} isRemovable it was made here
 * @property {string} busy what an operator asked for and is not done yet, '' = nothing
 */

const MIB = 1048576;
/** In the order of the page: what needs a person comes first. @type {OperatorState[]} */
// prettier-ignore
const STATES = ['failed', 'retrying', 'unknown', 'waiting', 'waking', 'leaving', 'awake', 'paused', 'asleep'];
/** The states that each choice of the page shows. @type {Record<string, OperatorState[]>} */
const SHOWN = {
  all: STATES,
  awake: ['waking', 'awake', 'leaving'],
  asleep: ['paused', 'asleep'],
  trouble: ['failed', 'retrying', 'unknown', 'waiting']
};
/** The keeper's states in the words of the page. @type {Record<string, OperatorState>} */
const OF_KEEPER = {
  failed: 'failed',
  running: 'awake',
  paused: 'paused',
  starting: 'waking',
  pausing: 'leaving',
  stopping: 'leaving'
};

/**
 * @param {KeeperRow[] | null} list of the keeper, null = it is away
 * @param {Known} known
 * @param {Map<string, string>} busy what is under way, by name
 * @returns {OperatorRow[]} failed ones first, then by name
 */
function rowsOf(list, known, busy) {
  const ofKeeper = new Map((list ?? []).map((row) => [row.name, row]));
  const names = new Set([...ofKeeper.keys(), ...known.names, ...known.front.keys()]);
  const rows = [...names].map((name) => rowOf(name, ofKeeper.get(name), known, busy.get(name) ?? ''));
  const rank = (/** @type {OperatorRow} */ { state }) => STATES.indexOf(state);
  return rows.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

/**
 * @param {string} name
 * @param {KeeperRow | undefined} keeper
 * @param {Known} known
 * @param {string} busy
 * @returns {OperatorRow}
 */
function rowOf(name, keeper, known, busy) {
  const front = known.front.get(name);
  const part = known.parts.get(name);
  const state = stateOf(keeper, front);
  const isRunning = keeper?.state === 'running' || keeper?.state === 'paused';
  const bytesOf = (/** @type {number | undefined} */ mib) => (mib ? mib * MIB : null);
  return {
    name,
    state,
    since: keeper?.since ?? front?.since ?? 0,
    reason: keeper?.reason || front?.reason || '',
    driver: keeper?.driver ?? '',
    isolated: keeper?.isolated ?? null,
    memoryBytes: (isRunning && keeper?.memoryBytes) || null,
    memoryLimit: bytesOf(keeper?.limits?.memoryMiB),
    dataBytes: keeper?.dataBytes || null,
    dataLimit: bytesOf(keeper?.limits?.volumeMiB),
    lastWake: lastWakeOf(keeper, front),
    leases: keeper?.leases ?? null,
    failures: keeper?.failures || front?.failures || 0,
    wakes: front?.wakes ?? 0,
    waitingBytes: part?.waitingBytes ?? null,
    waiting: known.stored.get(name) ?? (part ? {} : null),
    perS: part ? known.perS(name) : null,
    refused: part?.refused ?? null,
    backup: keeper?.backup ?? null,
    template: keeper?.template ?? '',
    isRemovable: keeper?.byApi ?? false,
    busy
  };
}

/**
 * @param {KeeperRow | undefined} keeper
 * @param {import('../uplink/tenant').TenantView | undefined} front
 * @returns {OperatorState}
 */
function stateOf(keeper, front) {
  // While the keeper is away, the front serves its tenants on.
  if (!keeper) return front?.state === 'awake' ? 'awake' : 'unknown';
  const state = OF_KEEPER[keeper.state ?? ''];
  if (state === 'failed') return 'failed';
  if (front?.state === 'failed') return 'retrying';
  if (state) return state;
  if (front?.state === 'waiting') return 'waiting';
  return (keeper.failures ?? 0) > 0 ? 'retrying' : 'asleep';
}

/**
 * @param {KeeperRow | undefined} keeper
 * @param {import('../uplink/tenant').TenantView | undefined} front
 * @returns {OperatorRow['lastWake']}
 */
function lastWakeOf(keeper, front) {
  const own = front?.lastWake;
  const connectedMs = own?.connectedMs ?? -1;
  if (!keeper?.lastWake) return own ? { ...own, by: 'records', connectedMs } : null;
  // An operator may have woken it since the front did.
  const isSame = own && Math.abs(own.at - keeper.lastWake.at) < 5000;
  return { ...keeper.lastWake, connectedMs: isSame ? connectedMs : -1 };
}

/** @param {OperatorRow[]} rows @returns {Record<OperatorState, number>} */
function countsOf(rows) {
  const counts = /** @type {Record<OperatorState, number>} */ (
    Object.fromEntries(STATES.map((state) => [state, 0]))
  );
  for (const { state } of rows) counts[state]++;
  return counts;
}

/**
 * @param {OperatorRow[]} rows
 * @param {import('../../live/live-query').TenantQuery} query
 * @returns {{ found: number, page: number, pages: number, rows: OperatorRow[] }}
 */
function pageOf(rows, { show, q, page, size }) {
  const states = SHOWN[show];
  const found = rows.filter(
    ({ name, driver, state }) =>
      states.includes(state) && (q === '' || name.includes(q) || driver.includes(q))
  );
  const pages = Math.max(1, Math.ceil(found.length / size));
  const shown = Math.min(page, pages);
  return { found: found.length, page: shown, pages, rows: found.slice((shown - 1) * size, shown * size) };
}

module.exports = { rowsOf, countsOf, pageOf };
