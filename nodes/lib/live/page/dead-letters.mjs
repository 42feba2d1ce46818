// The dead letters: one page of them, read when their number has changed, and buttons that send them again.

import { h, setText, Table } from './dom.mjs';
import { bytes, count, visible } from './format.mjs';

const ROWS = 25;
/** Shortest time between two readings, ms. The number of dead letters may change every second. */
const PAUSE_MS = 2000;

/** The reasons why a dead letter was not sent again, in the order in which the page shows them. */
const LEFT = ['strangers', 'noRoom', 'damaged', 'gone'];

export class DeadLetters {
  #t;
  #ask;
  #onLogin;
  #table;
  #all;
  #back;
  #next;
  #told;
  #engine = null;
  #known = -1;
  #readAt = -Infinity;
  #isReading = false;
  /** `after` of the pages up to this one. */
  #pages = [0];
  #following = null;

  /**
   * ask(engine, query, body): a request to the gateway, with a body to send again; returns { status, value }.
   * onLogin(): called when the login may not send; returns false if there is no way to log in here.
   */
  constructor({ t, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#table = new Table({
      label: t('section.deadLetters'),
      none: t('deadLetters.none'),
      columns: [
        { label: t('deadLetters.at') },
        { label: t('deadLetters.device') },
        { label: t('deadLetters.topic') },
        { label: t('deadLetters.class'), numeric: true },
        { label: t('deadLetters.records'), numeric: true },
        { label: t('deadLetters.size'), numeric: true },
        { label: t('deadLetters.uplink') },
        { label: t('deadLetters.reason') },
        { label: t('deadLetters.action') }
      ]
    });
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`deadLetters.${key}`));
    this.#all = button('sendAll', () => this.#send({ all: true }));
    this.#back = button('back', () => this.#turn(-1));
    this.#next = button('next', () => this.#turn(1));
    this.#told = h('p', { class: 'note', role: 'status' });
    this.element = h(
      'div',
      {},
      h('p', { class: 'note' }, t('deadLetters.note')),
      this.#table.element,
      h('p', { class: 'controls' }, this.#back, this.#next, this.#all),
      this.#told
    );
    this.#show([]);
  }

  /** Reads the page if the engine or the number of dead letters is another one. Call it while the section is open. */
  update({ engine, log }) {
    const number = log?.dead ?? 0;
    if (engine !== this.#engine) {
      this.#engine = engine;
      this.#pages = [0];
      this.#known = -1;
      this.#readAt = -Infinity;
      setText(this.#told, '');
    }
    const isDue = performance.now() - this.#readAt >= PAUSE_MS;
    if (number === this.#known || this.#isReading || !isDue) return;
    if (log) void this.#read(number);
    else this.#show([]);
  }

  async #read(number) {
    this.#isReading = true;
    this.#readAt = performance.now();
    const engine = this.#engine;
    try {
      const { status, value } = await this.#ask(engine, `?after=${this.#pages.at(-1)}&limit=${ROWS}`);
      if (engine !== this.#engine) return;
      if (status !== 200) return setText(this.#told, visible(value?.error ?? this.#t('deadLetters.failed')));
      this.#known = number;
      this.#following = value.next;
      // The last page may have become empty.
      if (value.letters.length === 0 && this.#pages.length > 1) {
        this.#pages.pop();
        this.#known = -1;
      }
      this.#show(value.letters);
    } catch {
      // The connection reports that the gateway does not answer.
    } finally {
      this.#isReading = false;
    }
  }

  #turn(step) {
    if (step < 0) this.#pages.pop();
    else this.#pages.push(this.#following);
    void this.#read(this.#known);
  }

  #show(letters) {
    const t = this.#t;
    this.#back.disabled = this.#pages.length <= 1;
    this.#next.disabled = this.#following === null;
    this.#all.disabled = letters.length === 0;
    this.#table.update(
      letters.map((letter) => [
        new Date(letter.at).toLocaleString(t.language),
        visible(letter.device) || '–',
        visible(letter.topic) || '–',
        String(letter.class),
        count(letter.records),
        bytes(letter.bytes),
        visible(letter.uplink ?? t('deadLetters.noUplink', { id: letter.node })),
        visible(`${letter.reason} (${letter.code})`),
        {
          action: t('deadLetters.send'),
          disabled: letter.uplink === null,
          key: letter.row,
          onPress: this.#one
        }
      ])
    );
  }

  #one = (row) => void this.#send({ rows: [Number(row)] });

  async #send(body) {
    const t = this.#t;
    setText(this.#told, t('deadLetters.sending'));
    const { status, value } = await this.#ask(this.#engine, '', body).catch(() => ({
      status: 0,
      value: null
    }));
    if (status === 401 || status === 403) {
      const isAsked = this.#onLogin();
      return setText(this.#told, t(isAsked ? 'deadLetters.login' : 'deadLetters.readOnly'));
    }
    if (status !== 200) return setText(this.#told, visible(value?.error ?? t('deadLetters.failed')));
    const left = LEFT.filter((name) => value[name] > 0).map((name) =>
      t(`deadLetters.${name}`, { number: value[name] })
    );
    const sent = t('deadLetters.sent', { number: value.sent, records: value.records });
    setText(this.#told, [sent, ...left, visible(value.failure)].filter(Boolean).join(' '));
    this.#known = -1;
    this.#readAt = -Infinity;
  }
}
