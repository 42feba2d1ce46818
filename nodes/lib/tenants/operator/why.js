'use strict';
// Why records of a tenant wait, as far as the gateway knows.

/**
 * @typedef {object} Seen
 * @property {string} name
 * @property {boolean} isDivided a tenants node divides records
 * @property {boolean} isKnown it is in the tenants file
 * @property {import('../uplink/tenant').TenantView | undefined} front
 * @property {{ waitingBytes: number, refused: number } | undefined} part
 * @property {number} stored records in the log
 *
 * @typedef {'unknown' | 'nothing' | 'place' | 'keeper' | 'waking' | 'connecting' | 'retry' | 'leaving' | 'sending'
 *   | 'asleep'} Code
 */

/** @param {string} text @returns {string} without the full stop */
const clause = (text) => text.replace(/\.$/, '');

/** @param {Seen} seen @returns {string} what waits */
function amount({ part, stored }) {
  const kib = Math.ceil((part?.waitingBytes ?? 0) / 1024);
  return [stored > 0 && `${stored} records in the log`, `${kib} KiB in all`].filter(Boolean).join(', ');
}

/** @param {Seen} seen @returns {{ code: Code, text: string }} text: sentences */
function whyOf(seen) {
  const { name, isDivided, isKnown, front, part, stored } = seen;
  if (!isDivided)
    return { code: 'nothing', text: 'The flow has no tenants node that runs, so no records go to tenants.' };
  if (!isKnown)
    return {
      code: 'unknown',
      text: `The tenants file of this gateway has no tenant ${name}. Add it: seganet-tenants add ${name}`
    };
  const limited = part && part.refused > 0 ? ` ${part.refused} records above its limits were refused.` : '';
  if (!part)
    return {
      code: 'nothing',
      text: `The flow has not been planned with ${name} yet, so no record goes to it.`
    };
  if (part.waitingBytes === 0 && stored === 0)
    return { code: 'nothing', text: `No record of ${name} waits.${limited}` };
  const what = `Records of ${name} wait (${amount(seen)})`;
  const { state = 'asleep', reason = '' } = front ?? {};
  const of = {
    waiting: reason
      ? { code: /** @type {Code} */ ('keeper'), text: `${what}: ${clause(reason)}.` }
      : {
          code: /** @type {Code} */ ('place'),
          text: `${what} for a place: as many tenants are awake at once as the tenants node allows.`
        },
    waking: {
      code: /** @type {Code} */ ('waking'),
      text: `${what}: the gateway has asked the keeper to start it.`
    },
    connecting: {
      code: /** @type {Code} */ ('connecting'),
      text: `${what}: it runs, and the gateway connects to it${reason ? ` (${clause(reason)})` : ''}.`
    },
    failed: {
      code: /** @type {Code} */ ('retry'),
      text: `${what}: ${clause(reason || 'it could not be reached')}. The gateway tries again, at once after a wake.`
    },
    leaving: {
      code: /** @type {Code} */ ('leaving'),
      text: `${what}: the gateway lets it go and wakes it again for them.`
    },
    awake: {
      code: /** @type {Code} */ ('sending'),
      text: `${what}: its session is open, and they are being sent. If their number stays, look at its output: seganet-tenants logs ${name}`
    },
    asleep: {
      code: /** @type {Code} */ ('asleep'),
      text: `${what}: the gateway has not asked for it yet; it does within seconds.`
    }
  }[state];
  return { ...of, text: of.text + limited };
}

module.exports = { whyOf };
