// Line charts of the last five minutes or of the last hour: points of this page, one a second, and those of the
// gateway, one a minute, for the time in which the page was not open. A cursor reads all charts at one time.

import { h, svg, setText, setAttribute } from './dom.mjs';
import { bytes, count, percent } from './format.mjs';

/** Units of the picture. It is stretched to the place that it gets. */
const WIDTH = 300;
const HEIGHT = 100;
const MINUTE_MS = 60000;
/** A line has a gap where there is no point for longer than this. */
const GAP_MS = 2.2 * MINUTE_MS;
/** stepMs: the axis begins that long before now, or a multiple of it, so that a young gateway has more than a dot. */
const RANGES = {
  minutes: { ms: 5 * MINUTE_MS, stepMs: MINUTE_MS },
  hour: { ms: 60 * MINUTE_MS, stepMs: 10 * MINUTE_MS }
};
/** Most points of the last five minutes. */
const MOST_POINTS = 300;
/** Most labels of the time axis. */
const MOST_TICKS = 3;
/** The top of an axis is such a multiple of a power of ten, so that its half is a plain number, too. */
const TOPS = [1, 2, 4, 6, 10];
/** Points that a key moves the cursor by. */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
const ENDS = { Home: -Infinity, End: Infinity };

/** least: the lowest top of the axis */
const CHARTS = [
  { name: 'received', show: count, least: 1 },
  { name: 'delivered', show: count, least: 1 },
  { name: 'waiting', show: count, least: 1 },
  { name: 'onDisk', show: count, least: 1 },
  { name: 'devices', show: count, least: 1 },
  { name: 'dropped', show: count, least: 1 },
  { name: 'memoryBytes', show: bytes, least: 1024, base: 1024 },
  { name: 'busy', show: percent, least: 0.02 }
];

export class Charts {
  #t;
  #charts;
  #range;
  #minuteOf;
  #secondOf;
  /** One point a second since the page opened, the oldest first: { at, received, … }, at: ms since 1970. */
  #seconds = [];
  /** The same, one a minute, from the gateway. */
  #minutes = [];
  #engine = null;
  #droppedBefore = null;
  /** Time of the cursor, ms since 1970; null = none. */
  #cursor = null;
  /** Points and times as they are drawn. */
  #shown = { points: [], from: 0, ms: 1 };

  constructor(t, id) {
    this.#t = t;
    const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
    this.#minuteOf = new Intl.DateTimeFormat(t.language, clock);
    this.#secondOf = new Intl.DateTimeFormat(t.language, { ...clock, second: '2-digit' });
    this.#range = h(
      'select',
      { id, onchange: () => this.draw() },
      h('option', { value: 'minutes' }, t('charts.minutes')),
      h('option', { value: 'hour' }, t('charts.hour'))
    );
    this.#charts = CHARTS.map((each) => this.#chart(each));
    this.element = h(
      'div',
      {},
      h('p', { class: 'controls' }, h('label', { for: id }, t('charts.range')), this.#range),
      h('div', { class: 'charts' }, ...this.#charts.map(({ figure }) => figure))
    );
  }

  #chart(about) {
    const [grid, area, line] = ['grid', 'area', 'line'].map((name) => svg('path', { class: name }));
    const frame = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' };
    const picture = svg('svg', frame, grid, area, line);
    const cursor = h('span', { class: 'cursor', hidden: true }, h('span', { class: 'dot' }));
    const scale = [h('span'), h('span'), h('span')];
    const times = h('div', { class: 'times', 'aria-hidden': 'true' });
    const field = h('div', { class: 'field' }, picture, cursor);
    const chart = { ...about, grid, area, line, cursor, scale, times, field };
    const onpointermove = (event) => this.#point(field, event);
    chart.plot = h(
      'div',
      {
        class: 'plot',
        role: 'slider',
        tabindex: '0',
        'aria-valuemin': '0',
        onpointermove,
        onpointerdown: onpointermove,
        onpointerleave: () => this.#read(null),
        onblur: () => this.#read(null),
        onkeydown: (event) => this.#press(chart, event)
      },
      h('div', { class: 'scale', 'aria-hidden': 'true' }, ...scale),
      field,
      times
    );
    chart.at = h('span', { class: 'at' });
    chart.value = h('strong');
    const title = h('span', {}, this.#t(`charts.${about.name}`));
    chart.figure = h(
      'figure',
      { class: 'chart', 'data-chart': about.name },
      h('figcaption', {}, title, chart.at, chart.value),
      chart.plot
    );
    return chart;
  }

  /** Adds a snapshot of the last second. */
  add({ engine, at, summary, classes, workers }) {
    if (engine !== this.#engine) this.#forget(engine);
    const before = this.#droppedBefore ?? summary.dropped;
    this.#droppedBefore = summary.dropped;
    this.#seconds.push({
      at,
      received: summary.receivedPerS,
      delivered: summary.deliveredPerS,
      dropped: Math.max(0, summary.dropped - before),
      devices: summary.devices,
      waiting: summary.waiting,
      onDisk: classes.reduce((total, { onDisk }) => total + onDisk, 0),
      memoryBytes: summary.memoryBytes,
      busy: Math.max(0, ...workers.map(({ busy }) => busy ?? 0))
    });
    // The gateway's clock may be set back.
    while (this.#seconds[0].at < at - RANGES.minutes.ms || this.#seconds.length > MOST_POINTS)
      this.#seconds.shift();
    this.draw();
  }

  history({ engine, stepS, endsAt, series }) {
    if (engine !== this.#engine) this.#forget(engine);
    const names = Object.keys(series);
    const length = series[names[0]]?.length ?? 0;
    this.#minutes = Array.from({ length }, (_, index) => ({
      at: endsAt - (length - 1 - index) * stepS * 1000,
      ...Object.fromEntries(names.map((name) => [name, series[name][index]]))
    }));
    this.draw();
  }

  #forget(engine) {
    this.#engine = engine;
    this.#minutes = [];
    this.#seconds = [];
    this.#droppedBefore = null;
    this.#cursor = null;
  }

  /** Returns what there is since a time, the oldest first, and the last point before it. */
  #pointsSince(from, isHour) {
    const seconds = isHour ? this.#seconds.slice(-1) : this.#seconds;
    const isNew = ({ at }) =>
      at > from - MINUTE_MS && !seconds.some((each) => Math.abs(each.at - at) < MINUTE_MS / 2);
    return [...this.#minutes.filter(isNew), ...seconds].sort((a, b) => a.at - b.at);
  }

  draw() {
    const newest = this.#seconds.at(-1);
    // A closed section is not drawn.
    if (!newest || this.element.closest('details:not([open])')) return;
    const { ms: most, stepMs } = RANGES[this.#range.value];
    const points = this.#pointsSince(newest.at - most, this.#range.value === 'hour');
    const ms = Math.min(most, stepMs * Math.max(1, Math.ceil((newest.at - points[0].at) / stepMs)));
    const tickMs = stepMs * Math.ceil(ms / stepMs / MOST_TICKS);
    const from = newest.at - ms;
    this.#shown = { points, from, ms };
    // The ticks stand at whole minutes of the clock of this place.
    const zone = new Date(newest.at).getTimezoneOffset() * MINUTE_MS;
    const first = Math.ceil((from - zone) / tickMs) * tickMs + zone;
    const ticks = [];
    for (let at = first; at <= newest.at; at += tickMs) ticks.push(at);
    for (const chart of this.#charts) this.#draw(chart, ticks);
    this.#read(this.#cursor);
  }

  #draw({ name, show, least, base = 10, grid, area, line, scale, times, plot }, ticks) {
    const { points, from, ms } = this.#shown;
    const values = points.map((each) => each[name] ?? 0);
    const [lowest, most] = [Math.min(...values), Math.max(...values)];
    const top = topOf(Math.max(most, least), base);
    const x = (at) => (((at - from) / ms) * WIDTH).toFixed(1);
    const y = (value) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
    const lines = ticks.map((at) => `M${x(at)} 0V${HEIGHT}`).join('');
    setAttribute(grid, 'd', `M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}${lines}`);
    const runs = runsOf(points).map((run) => run.map((each) => `${x(each.at)} ${y(each[name] ?? 0)}`));
    setAttribute(line, 'd', runs.map((run) => `M${run.join('L')}`).join(''));
    const under = (run) => {
      const [begin, end] = [run[0].split(' ')[0], run.at(-1).split(' ')[0]];
      return `M${begin} ${HEIGHT}L${run.join('L')}L${end} ${HEIGHT}Z`;
    };
    setAttribute(area, 'd', runs.map(under).join(''));
    for (const [index, part] of [1, 0.5, 0].entries()) setText(scale[index], show(top * part));
    this.#drawTimes(times, ticks);
    const now = values.at(-1);
    setAttribute(plot, 'aria-valuemax', String(top));
    const told = { range: this.#t(`charts.${this.#range.value}`), now: show(now), least: show(lowest) };
    const label = { ...told, name: this.#t(`charts.${name}`), most: show(most) };
    setAttribute(plot, 'aria-label', this.#t('charts.told', label));
  }

  #drawTimes(element, ticks) {
    const { from, ms } = this.#shown;
    while (element.children.length > ticks.length) element.lastChild.remove();
    for (const [index, at] of ticks.entries()) {
      const place = element.children[index] ?? element.appendChild(h('span'));
      setText(place, this.#minuteOf.format(at));
      // A label at the edge would be cut.
      place.style.left = `${Math.min(94, Math.max(6, ((at - from) / ms) * 100))}%`;
    }
  }

  /** Moves the cursor to where the pointer is. */
  #point(field, { clientX }) {
    const { left, width } = field.getBoundingClientRect();
    const { from, ms } = this.#shown;
    this.#read(from + ms * Math.min(1, Math.max(0, (clientX - left) / width)));
  }

  #press(chart, event) {
    const { points } = this.#shown;
    const step = STEPS[event.key] ?? ENDS[event.key];
    if (event.key === 'Escape') this.#read(null);
    if (step === undefined || points.length === 0) return;
    event.preventDefault();
    const index = this.#cursor === null ? points.length - 1 : nearest(points, this.#cursor);
    this.#read(points[Math.min(points.length - 1, Math.max(0, index + step))].at, chart);
  }

  /** Shows the values at a time, null = the newest ones. pressed: the chart whose key was pressed */
  #read(at, pressed = null) {
    this.#cursor = at;
    const { points, from, ms } = this.#shown;
    if (points.length === 0) return;
    const point = at === null ? points.at(-1) : points[nearest(points, at)];
    const time = this.#secondOf.format(point.at);
    for (const chart of this.#charts) {
      const { name, show, plot, cursor, value } = chart;
      const shown = point[name] ?? 0;
      setText(value, show(shown));
      setText(chart.at, at === null ? '' : time);
      cursor.hidden = at === null || point.at < from;
      cursor.style.left = `${((point.at - from) / ms) * 100}%`;
      cursor.firstChild.style.top = `${100 - (100 * shown) / Number(plot.getAttribute('aria-valuemax'))}%`;
      // While it has the focus, a screen reader would read each second's value.
      if (document.activeElement === plot && chart !== pressed) continue;
      setAttribute(plot, 'aria-valuenow', String(shown));
      setAttribute(plot, 'aria-valuetext', `${time}: ${show(shown)}`);
    }
  }
}

/** Returns the top of an axis for a value above 0; base: 1024 for bytes. */
function topOf(value, base) {
  const unit = base === 10 ? 1 : base ** Math.floor(Math.log(value) / Math.log(base));
  const power = unit * 10 ** Math.floor(Math.log10(value / unit));
  return power * (TOPS.find((each) => each * power >= value) ?? 10);
}

/** Returns the points in runs without gaps. */
function runsOf(points) {
  const runs = [];
  for (const point of points) {
    if (runs.length > 0 && point.at - runs.at(-1).at(-1).at <= GAP_MS) runs.at(-1).push(point);
    else runs.push([point]);
  }
  return runs;
}

/** Returns the index of the point that is nearest to a time. */
function nearest(points, at) {
  let best = 0;
  for (const [index, point] of points.entries())
    if (Math.abs(point.at - at) <= Math.abs(points[best].at - at)) best = index;
  return best;
}
