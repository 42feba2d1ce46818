// The line at the top: whether records reach the cloud, else the reason and what waits.

import { h, setText } from './dom.mjs';
import { count, visible } from './format.mjs';
import { markOf, reasonText } from './sections.mjs';

/**
 * Returns { state, text } of a snapshot; t: returns a text. state: ok, warn (it works, and records wait or devices are
 * slowed) or bad (as /seganet/readyz).
 */
export function healthOf(t, { health, summary, drain, uplinks }) {
  const waiting = t('health.waiting', { waiting: count(summary.waiting), safe: count(summary.safe) });
  if (!health.ok) {
    // The reason of /seganet/readyz has no names, because that needs no login.
    const [uplink] = uplinks.filter(({ state, reason }) => reason && ['bad', 'warn'].includes(markOf(state)));
    const reason = uplink
      ? `${visible(uplink.name)}: ${reasonText(t, uplink)}`
      : visible(t.inWords(health.reason));
    return { state: 'bad', text: summary.waiting > 0 ? `${reason} ${waiting}` : reason };
  }
  if (['shrinking', 'growing'].includes(drain.trend))
    return { state: 'warn', text: `${t('health.behind')} ${waiting}` };
  if (summary.slowedFrom > 0) return { state: 'warn', text: waiting };
  return { state: 'ok', text: t(summary.delivered > 0 ? 'health.ok' : 'health.ready') };
}

/** The line as an element. */
export function healthLine(t) {
  const element = h('p', { class: 'health', hidden: true });
  return {
    element,
    /** snapshot: null = nothing is known */
    update(snapshot) {
      element.hidden = !snapshot?.health;
      if (element.hidden) return;
      const { state, text } = healthOf(t, snapshot);
      element.dataset.state = state;
      setText(element, text);
    }
  };
}
