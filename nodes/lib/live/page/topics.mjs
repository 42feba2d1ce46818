// The tree of topics, one level at a time, and the values below the chosen one as they arrive.

import { h, setAttribute, setText } from './dom.mjs';
import { count, visible } from './format.mjs';
import { lineOf } from './value-card.mjs';

/** Rows of the tail; older ones are left out. */
const MOST_ROWS = 50;

export class Topics {
  #t;
  #ask;
  #onChoose;
  #timeOf;
  #tree;
  #chosen;
  #tail;
  #none;
  #pause;
  #isPaused = false;

  /**
   * ask(prefix): returns { status, value } of one level; onChoose(filter): called with the filter of the topics whose
   * values are wanted, '' = all
   */
  constructor(t, { ask, onChoose }) {
    this.#t = t;
    this.#ask = ask;
    this.#onChoose = onChoose;
    const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
    this.#timeOf = new Intl.DateTimeFormat(t.language, clock);
    this.#tree = h('ul', { class: 'tree', 'aria-label': t('values.topics') });
    this.#chosen = h('h3');
    this.#pause = h(
      'button',
      { type: 'button', 'aria-pressed': 'false', onclick: () => this.#setPaused(!this.#isPaused) },
      t('values.pause')
    );
    this.#tail = h('ol', { class: 'tail' });
    this.#none = h('p', { class: 'none' }, t('values.quiet'));
    const scroll = { class: 'scroll tall', tabindex: '0', role: 'region' };
    this.element = h(
      'div',
      { class: 'topics' },
      h('div', { ...scroll, 'aria-label': t('values.topics') }, this.#tree),
      h(
        'div',
        {},
        h('div', { class: 'controls' }, this.#chosen, this.#pause),
        h('div', { ...scroll, 'aria-label': t('values.tail') }, this.#none, this.#tail)
      )
    );
  }

  /** Reads the first level again, and forgets the others. */
  async open() {
    this.#choose('');
    await this.#fill(this.#tree, '');
  }

  /** Values that have changed. */
  add(values) {
    if (this.#isPaused) return;
    const rows = values.slice(-MOST_ROWS).map((value) => this.#row(value));
    if (rows.length === 0) return;
    this.#none.hidden = true;
    this.#tail.prepend(...rows.reverse());
    while (this.#tail.children.length > MOST_ROWS) this.#tail.lastChild.remove();
  }

  #row(value) {
    return h(
      'li',
      {},
      h('span', { class: 'at' }, this.#timeOf.format(value.ts)),
      h('span', { class: 'topic' }, visible(value.topic)),
      h('span', { class: 'device' }, visible(value.device)),
      h('strong', {}, lineOf(this.#t, value))
    );
  }

  #setPaused(isPaused) {
    this.#isPaused = isPaused;
    setAttribute(this.#pause, 'aria-pressed', String(isPaused));
  }

  #choose(topic, button = null) {
    for (const each of this.#tree.querySelectorAll('[aria-current]')) each.removeAttribute('aria-current');
    if (button) setAttribute(button, 'aria-current', 'true');
    setText(this.#chosen, topic === '' ? this.#t('values.all') : visible(topic));
    this.#tail.replaceChildren();
    this.#none.hidden = false;
    // The levels in front of the first slashes of //a have no name, and slashes for their topics.
    this.#onChoose(topic === '' ? '' : /^\/+$/.test(topic) ? `${topic}#` : `${topic}/#`);
  }

  async #fill(list, prefix) {
    const { status, value } = await this.#ask(prefix);
    const topics = (status === 200 && value?.topics) || [];
    const note = (name) => h('li', { class: 'none' }, this.#t(`values.${name}`));
    const rows = topics.map((each) => this.#branch(each));
    if (topics.length === 0) rows.push(note('none'));
    if (value?.more) rows.push(note('more'));
    list.replaceChildren(...rows);
  }

  #branch({ level, topic, hasChildren, values }) {
    const name = level === '' ? this.#t('values.blank') : visible(level);
    const below = h('ul', { hidden: true });
    const press = () => {
      this.#choose(topic, button);
      if (!hasChildren) return;
      below.hidden = !below.hidden;
      setAttribute(button, 'aria-expanded', String(!below.hidden));
      if (!below.hidden) void this.#fill(below, topic);
    };
    const number = h('span', { class: 'number' }, count(values));
    const expanded = hasChildren ? 'false' : null;
    const attributes = { type: 'button', 'aria-expanded': expanded, onclick: press };
    const button = h('button', attributes, h('span', { class: 'name' }, name), ' ', number);
    return h('li', {}, button, below);
  }
}
