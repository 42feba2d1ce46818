'use strict';
// The output of a command: lines on stdout with back-pressure, and progress on stderr if it is a terminal.

const CHUNK_BYTES = 1 << 16;
const PROGRESS_MS = 200;
const GIB = 2 ** 30;

class Output {
  /** @param {NodeJS.WriteStream} [stdout] @param {NodeJS.WriteStream} [stderr] */
  constructor(stdout = process.stdout, stderr = process.stderr) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.waiting = '';
    this.progressShown = 0;
    // The reader may close the pipe early, as in `seganet-log dump | head`. That is not an error.
    this.isClosed = false;
    stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code !== 'EPIPE') throw error;
      this.isClosed = true;
    });
  }

  /** @param {string} line @returns {Promise<void> | undefined} resolves when there is room again */
  line(line) {
    this.waiting += `${line}\n`;
    if (this.waiting.length >= CHUNK_BYTES) return this.flush();
    return undefined;
  }

  /** @returns {Promise<void>} when it is written */
  flush() {
    const text = this.waiting;
    this.waiting = '';
    if (text === '' || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.stdout.write(text, () => resolve());
    });
  }

  /** @param {string} line */
  async note(line) {
    this.#clear();
    await this.flush();
    this.stderr.write(`${line}\n`);
  }

  /**
   * Shows a line that the next one replaces, on a terminal only.
   * @param {() => string} text
   */
  progress(text) {
    const now = Date.now();
    if (!this.stderr.isTTY || now - this.progressShown < PROGRESS_MS) return;
    this.stderr.write(`\r\x1b[K${text()}`);
    this.progressShown = now;
  }

  #clear() {
    if (this.progressShown === 0) return;
    this.stderr.write('\r\x1b[K');
    this.progressShown = 0;
  }

  async end() {
    this.#clear();
    await this.flush();
  }
}

/** @param {number} bytes */
function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / 1024).toFixed(1)} KiB`;
  if (bytes < GIB) return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
  return `${(bytes / GIB).toFixed(1)} GiB`;
}

/** @param {number} count @param {string} word @param {string} [words] */
function plural(count, word, words = `${word}s`) {
  return `${count} ${count === 1 ? word : words}`;
}

/** @param {number} ms @returns {string} empty if the number is not a time */
function time(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

/**
 * @param {string[]} head
 * @param {string[][]} rows
 * @returns {string[]} lines with aligned columns
 */
function table(head, rows) {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd()
  );
}

exports.Output = Output;
exports.size = size;
exports.plural = plural;
exports.time = time;
exports.table = table;
