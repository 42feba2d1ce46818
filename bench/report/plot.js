'use strict';
// SVG plots for the report: on white and on a dark page, no fonts, no scripts, the same text for the same data.
//
//   lines([{ name: 'seganet', points: [[1000, 3.2], [2000, 3.4]] }], { title, xLabel, yLabel, xLog, yLog })
//   cdf([{ name: 'seganet', points: cumulate(sink.latencyUs.normal.buckets) }], { title, xLabel })
//
// Each line is named at its right end, outside of the plot, so that no name covers a line.

const { linearScale, logScale, tailScale } = require('./scale');

/**
 * @typedef {{name: string, points: [number, number][]}} Series
 * @typedef {object} Options
 * @property {string} [title] @property {string} [xLabel] @property {string} [yLabel]
 * @property {boolean} [xLog] @property {boolean} [yLog]
 */

// Each at least 3 : 1 against white and against GitHub's dark page (WCAG 2.2, 1.4.11).
const colours = ['#3b7ddd', '#d9622b', '#2f9e58', '#a95bd6', '#c08a00', '#e0457b', '#1398a5', '#7d8590'];
const ink = '#757d87'; // text; 4.2 : 1 against both
const dashes = ['', '7 3', '2 3']; // when the colours are used up

const [left, top, bottom] = [88, 44, 58];
const plotWidth = 540;
const letterWidth = 6.7; // pixels, about, of 12 px sans-serif
const rowHeight = 17;
const longestName = 34;

/** XML has no place for control characters, not even escaped. @param {string} text */
const escape = (text) =>
  [...text]
    .map((letter) => (letter < ' ' ? ' ' : letter))
    .join('')
    .replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);

/** @param {number} value */
const px = (value) => String(Math.round(value * 10) / 10);

/** @param {string} name */
const short = (name) => (name.length > longestName ? `${name.slice(0, longestName - 1)}…` : name);

/**
 * @typedef {{x: (pixels: [number, number]) => import('./scale').Scale,
 *            y: (pixels: [number, number]) => import('./scale').Scale, steps: boolean, dots: boolean}} Form
 * @param {Series[]} series @param {Options} options @param {Form} form
 */
function draw(series, { title = '', xLabel = '', yLabel = '' }, form) {
  const plotHeight = Math.max(300, series.length * rowHeight + 10);
  const names = Math.max(...series.map(({ name }) => short(name).length), 6);
  const width = Math.ceil(left + plotWidth + 50 + names * letterWidth);
  const height = top + plotHeight + bottom;
  const x = form.x([left, left + plotWidth]);
  const y = form.y([top + plotHeight, top]);
  const shapes = series.map(({ points }, i) => {
    const pixels = points.map(([a, b]) => [x.at(a), y.at(b)]);
    return {
      path: pathOf(pixels, form.steps),
      pixels: pixels.filter((pair) => pair.every(Number.isFinite)),
      i
    };
  });
  const drawn = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12" fill="${ink}">`,
    `<title>${escape(title || 'plot')}</title>`,
    `<text x="${left}" y="24" font-size="15" font-weight="600">${escape(title)}</text>`,
    ...grid(x, y, plotHeight),
    `<text x="${left + plotWidth / 2}" y="${height - 14}" text-anchor="middle">${escape(xLabel)}</text>`,
    `<text transform="translate(16 ${top + plotHeight / 2}) rotate(-90)" text-anchor="middle">${escape(yLabel)}</text>`,
    // The first one last, on top: it is what the plot is about.
    ...[...shapes].reverse().map(({ path, pixels, i }) => line(path, form.dots ? pixels : [], i)),
    ...labels(series, shapes, plotHeight)
  ];
  if (shapes.every(({ pixels }) => pixels.length === 0)) {
    drawn.push(
      `<text x="${left + plotWidth / 2}" y="${top + plotHeight / 2}" text-anchor="middle">nothing was measured</text>`
    );
  }
  return `${drawn.join('\n')}\n</svg>\n`;
}

/** @param {import('./scale').Scale} x @param {import('./scale').Scale} y @param {number} plotHeight */
function grid(x, y, plotHeight) {
  const [right, base] = [left + plotWidth, top + plotHeight];
  const parts = [];
  for (const { value, text } of y.ticks) {
    const at = px(y.at(value));
    parts.push(`<path d="M${left} ${at}H${right}" stroke="${ink}" stroke-opacity="0.25"/>`);
    parts.push(`<text x="${left - 8}" y="${at}" dy="0.35em" text-anchor="end">${text}</text>`);
  }
  let free = -Infinity; // where the last text ended
  for (const { value, text } of x.ticks) {
    const at = x.at(value);
    parts.push(`<path d="M${px(at)} ${top}V${base + 4}" stroke="${ink}" stroke-opacity="0.25"/>`);
    const half = (text.length * letterWidth) / 2;
    if (at - half < free + 6) continue;
    free = at + half;
    parts.push(`<text x="${px(at)}" y="${base + 20}" text-anchor="middle">${text}</text>`);
  }
  return [...parts, `<path d="M${left} ${top}V${base}H${right}" fill="none" stroke="${ink}"/>`];
}

/** Broken where the axes have no place; points that nobody could see apart are left out. @param {number[][]} pixels @param {boolean} steps */
function pathOf(pixels, steps) {
  let path = '';
  /** @type {number[] | undefined} */
  let last;
  for (const [i, [a, b]] of pixels.entries()) {
    if (!Number.isFinite(a) || !Number.isFinite(b)) {
      last = undefined;
      continue;
    }
    const near = last && Math.abs(a - last[0]) + Math.abs(b - last[1]) < 1;
    if (near && i < pixels.length - 1) continue;
    if (!last) path += `M${px(a)} ${px(b)}`;
    else path += steps ? `H${px(a)}V${px(b)}` : `L${px(a)} ${px(b)}`;
    last = [a, b];
  }
  return path;
}

/** @param {number} i */
const stroke = (i) => {
  const dash = dashes[Math.floor(i / colours.length) % dashes.length];
  return `stroke="${colours[i % colours.length]}" stroke-width="2"${dash ? ` stroke-dasharray="${dash}"` : ''}`;
};

/** @param {string} path @param {number[][]} dots @param {number} i */
function line(path, dots, i) {
  const colour = colours[i % colours.length];
  const points = dots.length > 40 ? [] : dots;
  return [
    `<path d="${path}" fill="none" stroke-linejoin="round" ${stroke(i)}/>`,
    ...points.map(([a, b]) => `<circle cx="${px(a)}" cy="${px(b)}" r="3" fill="${colour}"/>`)
  ].join('\n');
}

/**
 * At the height where its line ends, moved apart where two would touch.
 * @param {Series[]} series @param {{pixels: number[][], i: number}[]} shapes @param {number} plotHeight
 */
function labels(series, shapes, plotHeight) {
  const from = left + plotWidth + 10;
  const wanted = shapes
    .map(({ pixels, i }) => {
      const end = pixels[pixels.length - 1] ?? [left, top + plotHeight];
      return { i, y: end[1], x: end[0] };
    })
    // Where several end at the same height, the one farthest to the right is the highest.
    .sort((a, b) => Math.round(a.y - b.y) || b.x - a.x);
  for (const [k, label] of wanted.entries()) {
    label.y = Math.max(label.y, k > 0 ? wanted[k - 1].y + rowHeight : top + 6);
  }
  let limit = top + plotHeight - 4;
  for (const label of [...wanted].reverse()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - rowHeight;
  }
  return wanted.map(({ i, y }) => {
    const { name } = series[i];
    return `<g><title>${escape(name)}</title><path d="M${from} ${px(y)}h18" ${stroke(i)}/><text x="${from + 24}" y="${px(y)}" dy="0.35em" fill="${colours[i % colours.length]}">${escape(short(name))}</text></g>`;
  });
}

/** @param {Series[]} series @param {0 | 1} axis */
const values = (series, axis) => series.flatMap(({ points }) => points.map((point) => point[axis]));

/** @param {Series[]} series @param {Options} [options] */
function lines(series, options = {}) {
  const { xLog = false, yLog = false } = options;
  return draw(series, options, {
    x: (pixels) => (xLog ? logScale(values(series, 0), pixels) : linearScale(values(series, 0), pixels)),
    y: (pixels) =>
      yLog ? logScale(values(series, 1), pixels) : linearScale(values(series, 1), pixels, { zero: true }),
    steps: false,
    dots: true
  });
}

/**
 * The buckets of generator and sink, as cdf() takes them.
 * @param {[number, number][]} counts value, how many @returns {[number, number][]} value, part of all that is at most so large
 */
function cumulate(counts) {
  const sorted = [...counts].sort((a, b) => a[0] - b[0]);
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  return sorted.map(([value, count]) => [value, (below += count) / all]);
}

/**
 * Which part of all is at most so large. Points are [value, part], the parts from 0 to 1.
 * @param {Series[]} series
 * @param {Options & {tail?: boolean}} [options] tail false: all percents are equally wide; xLog true unless said
 */
function cdf(series, options = {}) {
  const { xLog = true, tail = true, yLabel = 'part of all' } = options;
  // As many nines as there are measured ones.
  const most = values(series, 1).reduce((best, part) => (part < 1 ? Math.max(best, part) : best), 0);
  const nines = Math.min(5, Math.max(2, Math.ceil(-Math.log10(1 - most) - 0.01)));
  return draw(
    series,
    { ...options, yLabel },
    {
      x: (pixels) => (xLog ? logScale(values(series, 0), pixels) : linearScale(values(series, 0), pixels)),
      y: (pixels) => (tail ? tailScale(nines, pixels) : percentScale(pixels)),
      // A few quantiles are no steps.
      steps: series.every(({ points }) => points.length > 20),
      dots: series.some(({ points }) => points.length <= 20)
    }
  );
}

/** @param {[number, number]} pixels */
function percentScale(pixels) {
  const scale = linearScale([0, 1], pixels);
  return {
    ...scale,
    ticks: scale.ticks.map(({ value }) => ({ value, text: `${Math.round(value * 100)} %` }))
  };
}

module.exports = { cdf, cumulate, lines };
