// Line charts of the last hour (one-minute points from the gateway) or of the last five minutes (one-second points that
// this page collected).

import { h, svg, setText, setAttribute } from './dom.mjs';
import { bytes, count, percent } from './format.mjs';

const WIDTH = 240;
const HEIGHT = 60;
const HOUR_POINTS = 61;
const SECOND_POINTS = 300;

const CHARTS = [
  { name: 'received', show: count },
  { name: 'delivered', show: count },
  { name: 'dropped', show: count },
  { name: 'devices', show: count },
  { name: 'inMemory', show: count },
  { name: 'onDisk', show: count },
  { name: 'memoryBytes', show: bytes },
  { name: 'busy', show: percent }
];

export class Charts {
  #t;
  #charts;
  #range;
  /** One-second values since the page opened. */
  #seconds = new Map(CHARTS.map(({ name }) => [name, []]));
  #minutes = {};
  #now = {};
  #engine = null;
  #droppedBefore = null;

  constructor(t, id) {
    this.#t = t;
    this.#range = h(
      'select',
      { id, onchange: () => this.draw() },
      h('option', { value: 'minutes' }, t('charts.minutes')),
      h('option', { value: 'hour' }, t('charts.hour'))
    );
    this.#charts = CHARTS.map(({ name, show }) => this.#chart(name, show));
    this.element = h(
      'div',
      {},
      h('p', { class: 'controls' }, h('label', { for: id }, t('charts.range')), this.#range),
      h('div', { class: 'charts' }, ...this.#charts.map(({ figure }) => figure))
    );
  }

  #chart(name, show) {
    const line = svg('polyline', { 'vector-effect': 'non-scaling-stroke' });
    const picture = svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
      line
    );
    const value = h('strong');
    const top = h('span', { class: 'top' });
    const from = h('span');
    const axis = h(
      'span',
      { class: 'axis', 'aria-hidden': 'true' },
      from,
      h('span', {}, this.#t('charts.now'))
    );
    const caption = h('figcaption', {}, h('span', {}, this.#t(`charts.${name}`)), ' ', value);
    const figure = h('figure', {}, caption, picture, top, axis);
    return { name, show, line, picture, value, top, from, figure };
  }

  /** Adds a snapshot of the last second. */
  add(snapshot) {
    if (snapshot.engine !== this.#engine) this.#forget(snapshot.engine);
    const { summary, classes, workers } = snapshot;
    const sum = (key) => classes.reduce((total, each) => total + each[key], 0);
    const before = this.#droppedBefore ?? summary.dropped;
    this.#droppedBefore = summary.dropped;
    this.#now = {
      received: summary.receivedPerS,
      delivered: summary.deliveredPerS,
      dropped: Math.max(0, summary.dropped - before),
      devices: summary.devices,
      inMemory: sum('inMemory'),
      onDisk: sum('onDisk'),
      memoryBytes: summary.memoryBytes,
      busy: Math.max(0, ...workers.map(({ busy }) => busy ?? 0))
    };
    for (const [name, values] of this.#seconds) {
      values.push(this.#now[name]);
      if (values.length > SECOND_POINTS) values.shift();
    }
    this.draw();
  }

  history({ engine, series }) {
    if (engine !== this.#engine) this.#forget(engine);
    this.#minutes = series;
    this.draw();
  }

  #forget(engine) {
    this.#engine = engine;
    this.#minutes = {};
    this.#now = {};
    this.#droppedBefore = null;
    for (const values of this.#seconds.values()) values.length = 0;
  }

  draw() {
    // A closed section is not drawn.
    if (this.element.closest('details:not([open])')) return;
    const isHour = this.#range.value === 'hour';
    for (const chart of this.#charts) {
      const now = this.#now[chart.name];
      const points = isHour
        ? [...(this.#minutes[chart.name] ?? []), ...(now === undefined ? [] : [now])]
        : this.#seconds.get(chart.name);
      this.#draw(chart, points, isHour ? HOUR_POINTS : SECOND_POINTS);
    }
  }

  #draw({ name, show, line, picture, value, top, from }, points, places) {
    const most = Math.max(...points, 0);
    const x = (index) => (((places - points.length + index) * WIDTH) / (places - 1)).toFixed(1);
    const y = (each) => (HEIGHT - 2 - (each / (most || 1)) * (HEIGHT - 4)).toFixed(1);
    setAttribute(line, 'points', points.map((each, index) => `${x(index)},${y(each)}`).join(' '));
    setText(value, show(points.at(-1)));
    setText(top, points.length > 0 ? this.#t('charts.top', { value: show(most) }) : '');
    setText(from, this.#t(this.#range.value === 'hour' ? 'charts.hourAgo' : 'charts.minutesAgo'));
    const range = this.#t(this.#range.value === 'hour' ? 'charts.hour' : 'charts.minutes');
    const least = Math.min(...points);
    const told = {
      name: this.#t(`charts.${name}`),
      range,
      now: show(points.at(-1)),
      least: show(least),
      most: show(most)
    };
    setAttribute(picture, 'aria-label', this.#t('charts.told', told));
  }
}
