// What is forecast of the network of each uplink: one line for it.

import { bytes, count, duration, percent, visible } from './format.mjs';
import { h, setText } from './dom.mjs';

/** Figures of an uplink that are shown, in this order, and how. Those of its paths are in the metrics. */
const FIGURES = {
  capacity: (value) => (value === null ? '–' : `${bytes(Math.max(0, value))}/s`),
  roundTrip: (value) => duration(value === null ? null : Math.max(0, value)),
  connected: (value) => percent(value === null ? null : Math.min(1, Math.max(0, value)))
};

export class Network {
  #t;
  element = h('div', {});

  constructor(t) {
    this.#t = t;
  }

  /** Shows the member `network` of a snapshot, which is absent without forecasts. */
  update(all = []) {
    const lines = all.map((uplink) => this.#line(uplink)).filter((line) => line !== '');
    this.element.hidden = lines.length === 0;
    const { children } = this.element;
    while (children.length > lines.length) this.element.lastChild.remove();
    while (children.length < lines.length) this.element.append(h('p', {}));
    for (const [i, line] of lines.entries()) setText(children[i], line);
  }

  #line({ name, series, falls }) {
    const t = this.#t;
    const known = Object.keys(FIGURES).flatMap((topic) => series.find((each) => each.topic === topic) ?? []);
    if (known.length === 0) return '';
    const line = t('network.line', {
      uplink: visible(name),
      figures: known.map((each) => this.#figure(each)).join(', ')
    });
    return [line, ...this.#falls(falls)].join(' ');
  }

  #figure({ topic, observed, expected, doubt, seasons }) {
    const t = this.#t;
    const inWords = FIGURES[topic];
    const now = t(`network.${topic}`, { value: inWords(observed) });
    if (doubt === '') return t('network.expected', { now, value: inWords(expected) });
    return t(`network.doubt.${doubt}`, { now, seasons: Math.min(seasons, 3) });
  }

  #falls({ decided, right, wrong, last }) {
    const t = this.#t;
    if (!last) return [];
    const inWords = FIGURES[last.quantity];
    const values = {
      at: new Date(last.at).toLocaleTimeString(t.language),
      expected: inWords(last.expected),
      before: inWords(last.before),
      after: inWords(last.after),
      verdict: t(`network.verdict.${last.verdict}`)
    };
    return [
      t('network.falls', { decided: count(decided), right: count(right), wrong: count(wrong) }),
      t('network.last', values)
    ];
  }
}
