// The audit log: one page of who changed what, for a login that may change something itself.

import { h, setText, Table } from './dom.mjs';
import { visible } from './format.mjs';

const ROWS = 25;
const PAUSE_MS = 5000;

export class Audit {
  #t;
  #ask;
  #onLogin;
  #table;
  #newer;
  #older;
  #told;
  #login;
  #readAt = -Infinity;
  #isReading = false;
  /** `before` of the pages up to this one; null = the newest. */
  #pages = [null];
  #next = null;

  /** See Events. */
  constructor({ t, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#table = new Table({
      label: t('section.audit'),
      none: t('audit.none'),
      columns: [
        { label: t('audit.at') },
        { label: t('audit.user') },
        { label: t('audit.address') },
        { label: t('audit.what') },
        { label: t('audit.detail') }
      ]
    });
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`audit.${key}`));
    this.#newer = button('newer', () => this.#turn(-1));
    this.#older = button('older', () => this.#turn(1));
    this.#login = button('login', () => this.#onLogin());
    this.#told = h('p', { class: 'note', role: 'status' });
    const controls = h('p', { class: 'controls' }, this.#newer, this.#older, this.#login);
    this.element = h('div', {}, this.#told, this.#table.element, controls);
    this.#show([]);
  }

  /** Reads the page from time to time. Call it while the section is open. */
  update({ mayWrite }) {
    this.#login.hidden = mayWrite;
    this.#newer.hidden = this.#older.hidden = !mayWrite;
    if (!mayWrite) {
      this.#readAt = -Infinity;
      this.#show([]);
      return setText(this.#told, this.#t('audit.readOnly'));
    }
    if (!this.#isReading && performance.now() - this.#readAt >= PAUSE_MS) void this.#read();
  }

  async #read() {
    this.#isReading = true;
    this.#readAt = performance.now();
    const before = this.#pages.at(-1);
    const query = `audit?limit=${ROWS}${before === null ? '' : `&before=${before}`}`;
    const { status, value } = await this.#ask(query).catch(() => ({ status: 0, value: null }));
    this.#isReading = false;
    if (status !== 200) return setText(this.#told, visible(value?.error ?? this.#t('events.failed')));
    setText(this.#told, '');
    this.#next = value.next;
    this.#show(value.lines);
  }

  #turn(step) {
    if (step < 0) this.#pages.pop();
    else this.#pages.push(this.#next);
    void this.#read();
  }

  #show(lines) {
    this.#newer.disabled = this.#pages.length <= 1;
    this.#older.disabled = this.#next === null;
    this.#table.update(
      lines.map(({ at, user, address, what, detail }) => [
        new Date(at).toLocaleString(this.#t.language),
        visible(user) || '–',
        visible(address) || '–',
        visible(what),
        visible(detail) || '–'
      ])
    );
  }
}
