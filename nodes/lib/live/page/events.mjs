// What happened: one page of the events, read again when the stream reports a change, and a button that acknowledges
// one.

import { h, setText, Table } from './dom.mjs';
import { count, visible } from './format.mjs';

const ROWS = 25;
/** Shortest time between two readings, ms. A count may change every second. */
const PAUSE_MS = 2000;
const MARKS = { error: 'bad', warning: 'warn', info: 'off' };

/** Returns what an event means. The gateway makes the same sentence in English (nodes/lib/events/kinds.js). */
function sentenceOf(t, { key, subject, params, sentence }) {
  const values = { ...params, subject };
  if (key === 'drops') values.reason = t.optional(`drop.${params.reason}`) ?? params.reason;
  else if (typeof params.reason === 'string') values.reason = t.inWords(params.reason);
  const known = t.optional(`events.sentence.${key}`);
  return visible(known === undefined ? sentence : t(`events.sentence.${key}`, values));
}

export class Events {
  #t;
  #ask;
  #onLogin;
  #table;
  #summary;
  #isOpenOnly;
  #newer;
  #older;
  #told;
  /** What the stream reported at the last reading. */
  #known = '';
  #readAt = -Infinity;
  #isReading = false;
  /** `before` of the pages up to this one; null = the newest. */
  #pages = [null];
  #next = null;

  /**
   * ask(path, body): a request to the gateway; returns { status, value }. onLogin(): called when the login may not
   * acknowledge; returns false if there is no way to log in here.
   */
  constructor({ t, id, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#table = new Table({
      label: t('section.events'),
      none: t('events.none'),
      columns: [
        { label: t('events.severity') },
        { label: t('events.what') },
        { label: t('events.since') },
        { label: t('events.until') },
        { label: t('events.count'), numeric: true },
        { label: t('events.acknowledged') }
      ]
    });
    this.#summary = h('p', { class: 'note' });
    const reset = () => {
      this.#pages = [null];
      void this.#read();
    };
    this.#isOpenOnly = h('input', { type: 'checkbox', id: id('events-open'), onchange: reset });
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`events.${key}`));
    this.#newer = button('newer', () => this.#turn(-1));
    this.#older = button('older', () => this.#turn(1));
    this.#told = h('p', { class: 'note', role: 'status' });
    const filter = h('label', { for: id('events-open') }, t('events.openOnly'));
    this.element = h(
      'div',
      {},
      this.#summary,
      h('p', { class: 'controls' }, this.#isOpenOnly, filter, this.#newer, this.#older),
      this.#table.element,
      this.#told
    );
    this.#show([]);
  }

  /** Reads the page if something has changed. Call it while the section is open. */
  update({ events }) {
    const { open = 0, unacknowledged = 0 } = events;
    const text = open > 0 ? 'events.open' : 'events.allEnded';
    setText(this.#summary, this.#t(text, { open: count(open), unacknowledged: count(unacknowledged) }));
    const state = JSON.stringify(events);
    const isDue = performance.now() - this.#readAt >= PAUSE_MS;
    if (state === this.#known || this.#isReading || !isDue) return;
    void this.#read(state);
  }

  async #read(state = this.#known) {
    this.#isReading = true;
    this.#readAt = performance.now();
    const before = this.#pages.at(-1);
    const open = this.#isOpenOnly.checked ? '&open=yes' : '';
    const { status, value } = await this.#try(
      `events?limit=${ROWS}${open}${before === null ? '' : `&before=${before}`}`
    );
    this.#isReading = false;
    if (status !== 200) return setText(this.#told, visible(value?.error ?? this.#t('events.failed')));
    this.#known = state;
    this.#next = value.next;
    this.#show(value.events);
  }

  #try(path, body) {
    return this.#ask(path, body).catch(() => ({ status: 0, value: null }));
  }

  #turn(step) {
    if (step < 0) this.#pages.pop();
    else this.#pages.push(this.#next);
    void this.#read();
  }

  #show(events) {
    const t = this.#t;
    const time = (at) => new Date(at).toLocaleString(t.language);
    this.#newer.disabled = this.#pages.length <= 1;
    this.#older.disabled = this.#next === null;
    this.#table.update(
      events.map((event) => [
        { text: t(`events.severities.${event.severity}`), state: MARKS[event.severity] },
        sentenceOf(t, event),
        time(event.since),
        event.until === null ? { text: t('events.lasts'), state: 'warn' } : time(event.until),
        count(event.count),
        {
          action: event.acknowledged
            ? t('events.done', { by: visible(event.acknowledged.by) })
            : t('events.acknowledge'),
          label: `${t('events.acknowledge')}: ${sentenceOf(t, event)}`,
          disabled: event.acknowledged !== null,
          key: event.id,
          onPress: this.#acknowledge
        }
      ])
    );
  }

  #acknowledge = async (id) => {
    const t = this.#t;
    const { status, value } = await this.#try(`events/${id}/acknowledge`, {});
    if (status === 401 || status === 403)
      return setText(this.#told, t(this.#onLogin() ? 'events.login' : 'events.readOnly'));
    setText(this.#told, status === 200 ? '' : visible(value?.error ?? t('events.failed')));
    void this.#read();
  };
}
