'use strict';
// The report's plots: the position of each mark; hostile names and odd data cannot break the picture.

const { cdf, cumulate, lines } = require('../../../bench/report/plot');
const { linearScale, logScale, tailScale, tickText } = require('../../../bench/report/scale');

/** @param {import('../../../bench/report/scale').Scale} scale */
const texts = ({ ticks }) => ticks.map(({ text }) => text);

/** True if the tags are well-formed: each one closed, in order. @param {string} svg */
function balanced(svg) {
  const open = [];
  for (const [, end, name, self] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (end && open.pop() !== name) return false;
    if (!end && !self) open.push(name);
  }
  return open.length === 0;
}

describe('an axis', () => {
  test('has ticks at 1, 2 and 5, no more than fit', () => {
    expect(texts(linearScale([0, 1.3], [0, 100]))).toEqual([
      '0',
      '0.2',
      '0.4',
      '0.6',
      '0.8',
      '1',
      '1.2',
      '1.4'
    ]);
    expect(texts(linearScale([3, 97], [0, 100], { zero: true }))).toEqual([
      '0',
      '20',
      '40',
      '60',
      '80',
      '100'
    ]);
    expect(texts(linearScale([-5, 5], [0, 100]))).toEqual(['-6', '-4', '-2', '0', '2', '4', '6']);
  });

  test('has powers of ten when logarithmic, and more ticks where they are few', () => {
    expect(texts(logScale([0.3, 40000], [0, 100]))).toEqual([
      '0.1',
      '1',
      '10',
      '100',
      '1,000',
      '10k',
      '100k'
    ]);
    expect(texts(logScale([1, 30], [0, 100]))).toEqual(['1', '2', '5', '10', '20', '50']);
  });

  test('places values: ends at the ends, and a decade as a decade', () => {
    const { at } = logScale([1, 100], [10, 210]);
    expect([1, 10, 100].map(at)).toEqual([10, 110, 210]);
    expect([0, -1].map(at)).toEqual([NaN, NaN]);
    expect(linearScale([0, 10], [100, 0]).at(5)).toBe(50);
  });

  test('gives each further nine of a distribution the same room', () => {
    const { at, ticks } = tailScale(3, [0, 340]);
    expect([0, 0.9, 0.99, 0.999, 0.9999, 1].map((part) => Math.round(at(part)))).toEqual([
      0, 100, 200, 300, 300, 340
    ]);
    expect(ticks.map(({ text }) => text)).toEqual(['0 %', '50 %', '90 %', '99 %', '99.9 %', '100 %']);
  });

  test.each([[[]], [[5]], [[NaN, Infinity]], [[0, 0]], [[1e-9, 1e12]]])('accepts %j', (values) => {
    for (const make of [linearScale, logScale]) {
      const { ticks, at } = make(values, [0, 100]);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThan(30);
      expect(ticks.every(({ value }) => Number.isFinite(at(value)))).toBe(true);
    }
  });

  test('writes numbers short and without noise', () => {
    expect([0, 0.1 + 0.2, 999, 1000, 12500, 100000, 3e6].map(tickText)).toEqual([
      ...['0', '0.3', '999', '1,000', '12.5k', '100k', '3M']
    ]);
  });
});

describe('a plot', () => {
  /** @type {[number, number][]} */
  const points = [
    [1, 2],
    [10, 4],
    [100, 3]
  ];

  test('is one self-contained SVG, with its title and every name', () => {
    const svg = lines([{ name: 'seganet', points }], {
      title: 'CPU',
      xLabel: 'devices',
      yLabel: 'cores',
      xLog: true
    });
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/);
    for (const text of ['<title>CPU</title>', '>devices<', '>cores<', '>seganet<'])
      expect(svg).toContain(text);
    expect(svg).not.toMatch(/href|url\(|<script|<style|@import/);
    expect(balanced(svg)).toBe(true);
    expect(lines([{ name: 'seganet', points }], { title: 'CPU' })).toBe(
      lines([{ name: 'seganet', points }], { title: 'CPU' })
    );
  });

  test('escapes names, titles and labels', () => {
    const evil = `</text><script>alert("1")</script>&\u0000'`;
    for (const svg of [
      lines([{ name: evil, points }], { title: evil, xLabel: evil, yLabel: evil }),
      cdf([{ name: evil, points: [[1, 1]] }], { title: evil })
    ]) {
      expect(svg).not.toContain('<script');
      expect(svg).not.toContain('\u0000');
      expect(balanced(svg)).toBe(true);
      expect(svg.match(/&(?!#\d+;)/)).toBeNull();
    }
  });

  test('keeps names apart wherever their lines end', () => {
    const series = Array.from({ length: 24 }, (_, i) => ({ name: `system ${i}`, points }));
    const svg = lines(series, {});
    const heights = [...svg.matchAll(/<g><title>[^<]*<\/title><path d="M\d+ ([\d.]+)h18"/g)].map(([, y]) =>
      Number(y)
    );
    expect(heights.length).toBe(24);
    for (let i = 1; i < heights.length; i += 1)
      expect(heights[i] - heights[i - 1]).toBeGreaterThanOrEqual(16.9);
    const [, , , height] =
      /** @type {RegExpMatchArray} */ (svg.match(/viewBox="([\d.]+ ){3}([\d.]+)"/))[0].match(/[\d.]+/g) ?? [];
    expect(heights[23]).toBeLessThan(Number(height));
  });

  test('breaks a line where there is no value, and never writes NaN', () => {
    const gap = /** @type {[number, number][]} */ ([
      [1, 1],
      [2, NaN],
      [3, 1],
      [4, 2],
      [5, 0]
    ]);
    const svg = lines([{ name: 'a', points: gap }], { yLog: true });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    const [, path] = /** @type {RegExpMatchArray} */ (
      svg.match(/<path d="(M[^"]*)" fill="none" stroke-linejoin/)
    );
    expect(path.match(/M/g)?.length).toBe(2);
  });

  test.each([[[]], [[{ name: 'none', points: [] }]]])('says that there is no data: %j', (series) => {
    for (const svg of [lines(series, { xLog: true, yLog: true }), cdf(series)]) {
      expect(svg).toContain('no data');
      expect(svg).not.toMatch(/NaN|Infinity/);
    }
  });

  test('omits points that would be indistinguishable', () => {
    const many = Array.from({ length: 20000 }, (_, i) => /** @type {[number, number]} */ ([i + 1, 1]));
    expect(cdf([{ name: 'many', points: cumulate(many) }]).length).toBeLessThan(30000);
  });

  test('draws a distribution of counts in any order', () => {
    expect(
      cumulate([
        [30, 1],
        [10, 2],
        [20, 1]
      ])
    ).toEqual([
      [10, 0.5],
      [20, 0.75],
      [30, 1]
    ]);
    expect(cumulate([])).toEqual([]);
  });
});
