// The latest entries of the audit log of an overlay's services, for a login that may change something itself.

import { h, Table } from './dom.mjs';
import { visible } from './format.mjs';

const PAUSE_MS = 10_000;

export class OverlayLog {
  #t;
  #ask;
  #table;
  #readAt = -Infinity;
  #isReading = false;

  /** ask(path): returns { status, value } */
  constructor({ t, ask }) {
    this.#t = t;
    this.#ask = ask;
    const names = ['at', 'event', 'name', 'address', 'who', 'detail'];
    this.#table = new Table({
      label: t('overlayServices.log'),
      none: t('audit.none'),
      columns: names.map((name) => ({ label: t(`overlayServices.${name}`) }))
    });
    this.element = h('div', { hidden: true }, h('h3', {}, t('overlayServices.log')), this.#table.element);
  }

  /** Reads the entries from time to time. Call it while the section is open. */
  update({ mayWrite }) {
    this.element.hidden = !mayWrite;
    if (!mayWrite) this.#table.update([]);
    else if (!this.#isReading && performance.now() - this.#readAt >= PAUSE_MS) void this.#read();
  }

  async #read() {
    this.#isReading = true;
    const { status, value } = await this.#ask('overlay-services/audit');
    this.#isReading = false;
    this.#readAt = performance.now();
    // The section says why the services do not answer.
    if (status !== 200) return;
    this.#table.update(
      value.entries
        .reverse()
        .map(({ time, event, node, from, by, text, leftOut = 0 }) => [
          new Date(time).toLocaleString(this.#t.language),
          visible(event),
          visible(node) || '–',
          visible(from) || '–',
          visible(by) || '–',
          `${visible(text)}${leftOut > 0 ? ` (+${leftOut})` : ''}` || '–'
        ])
    );
  }
}
