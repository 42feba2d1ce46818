// Numbers, times and untrusted texts as a person reads them.

/** Keeps a number and its unit on one line. */
const GAP = '\u00a0';

let decimalSign = '.';

/** Selects the decimal sign of a language, such as de. */
export function useNumbersOf(language) {
  const parts = new Intl.NumberFormat(language).formatToParts(0.5);
  decimalSign = parts.find(({ type }) => type === 'decimal')?.value ?? '.';
}

/** Returns a number with at most one digit after the decimal sign. */
const rounded = (value) => String(Math.round(value * 10) / 10).replace('.', decimalSign);
/** Returns a number with exactly one digit after the decimal sign. */
const oneDigit = (value) => value.toFixed(1).replace('.', decimalSign);

/** Characters that have no form of their own, or change the direction or the order of the text around them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Returns a text of a device or a broker with its invisible characters as \u{…}, so that no id can look like another
 * one. The caller must show it as text.
 */
export function visible(text) {
  return String(text ?? '').replace(UNSEEN, (each) => `\\u{${each.codePointAt(0).toString(16)}}`);
}

/** A count or a rate: 640, 12.3 k, 1.2 M; one digit after the decimal sign below 10. null = unknown. */
export function count(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value > 0 && value < 9.95) return rounded(value);
  if (value < 9999.5) return String(Math.round(value));
  if (value < 999950) return `${oneDigit(value / 1e3)}${GAP}k`;
  return value < 999950000 ? `${oneDigit(value / 1e6)}${GAP}M` : `${oneDigit(value / 1e9)}${GAP}G`;
}

/** A number with up to four digits that count: 21.43, 0.0012, 12346. null = unknown. */
export function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const short = Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4));
  return String(short).replace('.', decimalSign);
}

/** Bytes: 812 B, 1.5 KiB. */
export function bytes(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  let rest = value;
  let unit = 0;
  while (rest >= 1024 && unit < 4) {
    rest /= 1024;
    unit++;
  }
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : oneDigit(rest)}${GAP}${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/** A time in ms: 0.8 ms, 430 ms, 12 s, 3 min, 2 h, 4 d. A negative one is unknown. */
export function duration(ms) {
  if (ms === null || ms === undefined || !(ms >= 0)) return '–';
  if (ms < 10) return `${rounded(ms)}${GAP}ms`;
  if (ms < 1000) return `${Math.round(ms)}${GAP}ms`;
  if (ms < 120000) return `${Math.round(ms / 1000)}${GAP}s`;
  if (ms < 7200000) return `${Math.round(ms / 60000)}${GAP}min`;
  return ms < 172800000 ? `${Math.round(ms / 3600000)}${GAP}h` : `${Math.round(ms / 86400000)}${GAP}d`;
}

/** A ratio, 0..1, as percent. */
export function percent(value) {
  return value === null || value === undefined ? '–' : `${Math.round(value * 100)}${GAP}%`;
}
