'use strict';
// Server-sent events of a directory (WoT Discovery, 7.3.2.4).

const { DirectoryError } = require('./directory-error');

const TYPES = ['thing_created', 'thing_updated', 'thing_deleted'];
const MAX_STREAMS = 32;
/** Bytes that may wait for a slow client. */
const MAX_BEHIND = 4 << 20;
const HEARTBEAT_MS = 15000;

/** @typedef {import('./directory-store').Event} Event */
/** @typedef {{ response: any, type: string, hasDiff: boolean, last: number, held: Event[] | null }} Stream */

class EventStreams {
  /** @type {Set<Stream>} */
  #streams = new Set();
  #eventsAfter;
  #timer;

  /** @param {(after: number) => Promise<Event[]>} eventsAfter */
  constructor(eventsAfter) {
    this.#eventsAfter = eventsAfter;
    this.#timer = setInterval(() => {
      for (const stream of this.#streams) this.#write(stream, ':\n\n');
    }, HEARTBEAT_MS).unref();
  }

  /**
   * Answers a request with the events from now on, after those that the client has missed.
   * @param {any} request
   * @param {any} response
   * @param {string} type '' = all
   */
  async open(request, response, type) {
    if (type !== '' && !TYPES.includes(type))
      throw new DirectoryError(
        404,
        `There are no events ${type.slice(0, 50)}. The types are ${TYPES.join(', ')}.`
      );
    const given = request.headers['last-event-id'] ?? '';
    if (given !== '' && !/^\d{1,15}$/.test(given))
      throw new DirectoryError(400, 'Last-Event-ID must be the id of an event of this directory.');
    if (this.#streams.size >= MAX_STREAMS)
      throw new DirectoryError(503, `${MAX_STREAMS} clients get events already.`);
    const hasDiff = request.query.diff === 'true';
    /** @type {Stream} */
    const stream = { response, type, hasDiff, last: given === '' ? -1 : Number(given), held: [] };
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no'
    });
    if (request.method === 'HEAD') return void response.end();
    response.flushHeaders();
    this.#streams.add(stream);
    response.on('close', () => this.#streams.delete(stream));
    response.on('error', () => this.#streams.delete(stream));
    this.#write(stream, ':\n\n');
    // Events that happen while the missed ones are read wait for them.
    try {
      if (stream.last >= 0)
        for (const event of await this.#eventsAfter(stream.last)) this.#send(stream, event);
    } catch {
      // The client connects again, with the same id.
      return void response.destroy();
    }
    const held = stream.held ?? [];
    stream.held = null;
    for (const event of held) this.#send(stream, event);
  }

  /** @param {Event[]} events */
  send(events) {
    for (const stream of this.#streams)
      for (const event of events) {
        if (stream.held) stream.held.push(event);
        else this.#send(stream, event);
      }
  }

  /** @param {Stream} stream @param {Event} event */
  #send(stream, { id, type, thing, data }) {
    if (id <= stream.last || (stream.type !== '' && stream.type !== type)) return;
    stream.last = id;
    const shown = stream.hasDiff && type !== 'thing_deleted' ? data : { id: thing };
    this.#write(stream, `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(shown)}\n\n`);
  }

  /** @param {Stream} stream @param {string} text */
  #write(stream, text) {
    if (stream.response.writableLength > MAX_BEHIND) {
      this.#streams.delete(stream);
      return void stream.response.destroy();
    }
    stream.response.write(text);
  }

  get size() {
    return this.#streams.size;
  }

  close() {
    clearInterval(this.#timer);
    for (const { response } of this.#streams) response.end();
    this.#streams.clear();
  }
}

exports.EventStreams = EventStreams;
