'use strict';
// SVG plots for the report: readable on a white and on a dark page, without fonts and scripts, the same file for the
// same data.
//
//   lines([{ name: 'seganet', points: [[1000, 3.2], [2000, 3.4]] }], { title, xLabel, yLabel, xLog, yLog })
//   cdf([{ name: 'seganet', points: cumulate(sink.latencyUs.normal.buckets) }], { title, xLabel })
//
// The name of each line is at its right end, outside the plot, so that no name covers a line.

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
const dashes = ['', '7 3', '2 3']; // after all colors are in use

const [left, top, bottom] = [88, 44, 58];
const plotWidth = 540;
const letterWidth = 6.7; // approximate pixels of 12 px sans-serif
const rowHeight = 17;
const longestName = 34;

/** Escapes text for XML, which does not allow control characters even escaped. @param {string} text */
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
    // The first line is drawn last, on top, because it is the subject of the plot.
    ...[...shapes].reverse().map(({ path, pixels, i }) => line(path, form.dots ? pixels : [], i)),
    ...labels(series, shapes, plotHeight)
  ];
  if (shapes.every(({ pixels }) => pixels.length === 0)) {
    drawn.push(
      `<text x="${left + plotWidth / 2}" y="${top + plotHeight / 2}" text-anchor="middle">no data</text>`
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
  let free = -Infinity; // right end of the last text
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

/**
 * Returns the path. Values off the axes interrupt it; points that are too close to distinguish are left out.
 * @param {number[][]} pixels @param {boolean} steps
 */
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
 * Returns the names, each at the height of its line's end, moved apart where two would touch.
 * @param {Series[]} series @param {{pixels: number[][], i: number}[]} shapes @param {number} plotHeight
 */
function labels(series, shapes, plotHeight) {
  const from = left + plotWidth + 10;
  const wanted = shapes
    .map(({ pixels, i }) => {
      const end = pixels[pixels.length - 1] ?? [left, top + plotHeight];
      return { i, y: end[1], x: end[0] };
    })
    // Of lines that end at the same height, the one farthest to the right is the highest.
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
 * Converts the buckets of generator and sink for cdf().
 * @param {[number, number][]} counts value, count @returns {[number, number][]} value, fraction of all up to it
 */
function cumulate(counts) {
  const sorted = [...counts].sort((a, b) => a[0] - b[0]);
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  return sorted.map(([value, count]) => [value, (below += count) / all]);
}

/**
 * Draws cumulative distributions. Points are [value, fraction], with fractions from 0 to 1.
 * @param {Series[]} series
 * @param {Options & {tail?: boolean}} [options] tail false: a linear axis of fractions; xLog is true by default
 */
function cdf(series, options = {}) {
  const { xLog = true, tail = true, yLabel = 'fraction' } = options;
  // The axis shows as many nines as the data has.
  const most = values(series, 1).reduce((best, part) => (part < 1 ? Math.max(best, part) : best), 0);
  const nines = Math.min(5, Math.max(2, Math.ceil(-Math.log10(1 - most) - 0.01)));
  return draw(
    series,
    { ...options, yLabel },
    {
      x: (pixels) => (xLog ? logScale(values(series, 0), pixels) : linearScale(values(series, 0), pixels)),
      y: (pixels) => (tail ? tailScale(nines, pixels) : percentScale(pixels)),
      // A few quantiles are not drawn as steps.
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
