'use strict';
// Server-sent events of a directory (WoT Discovery, 7.3.2.4).

const { EVENT_HEADERS, EventStream } = require('../base/event-stream');
const { DirectoryError } = require('./directory-error');

const TYPES = ['thing_created', 'thing_updated', 'thing_deleted'];
const MAX_STREAMS = 32;
/** Bytes that may wait for a slow client. It gets the rest when it connects again. */
const MAX_BEHIND = 4 << 20;
/** Missed events that are read at a time: each has up to 64 KiB. */
const PAGE = 50;
/** Longest time in which a client that missed events takes none. */
const STALL_MS = 60000;
const HEARTBEAT_MS = 15000;

/** @typedef {import('./directory-store').Event} Event */
/**
 * @typedef {object} Stream
 * @property {InstanceType<typeof EventStream>} events
 * @property {string} type '' = all
 * @property {boolean} hasDiff
 * @property {number} last id of the last event that was read for it; -1 = none
 * @property {boolean} isLive it gets events as they happen; otherwise missed ones are being read for it
 * @property {boolean} hasMore events happened that must be read for it
 */

class EventStreams {
  /** @type {Set<Stream>} */
  #streams = new Set();
  #eventsAfter;
  #stallMs;
  #timer;

  /**
   * @param {(after: number, limit: number) => Promise<Event[]>} eventsAfter the next ones
   * @param {{ stallMs?: number }} [limits]
   */
  constructor(eventsAfter, { stallMs = STALL_MS } = {}) {
    this.#eventsAfter = eventsAfter;
    this.#stallMs = stallMs;
    this.#timer = setInterval(() => {
      for (const stream of this.#streams) if (this.#mayWrite(stream)) stream.events.beat();
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
    response.writeHead(200, EVENT_HEADERS);
    if (request.method === 'HEAD') return void response.end();
    const events = new EventStream(response, { onClose: () => this.#streams.delete(stream) });
    /** @type {Stream} */
    const stream = {
      events,
      type,
      hasDiff,
      last: given === '' ? -1 : Number(given),
      isLive: given === '',
      hasMore: false
    };
    this.#streams.add(stream);
    events.beat();
    if (stream.isLive) return;
    try {
      await this.#catchUp(stream);
    } catch {
      // The client connects again, with the id of the last event that it got.
      events.destroy();
    }
  }

  /**
   * Sends the missed events as fast as the client takes them. Those that happen meanwhile are read as well, so none
   * waits in memory.
   * @param {Stream} stream
   */
  async #catchUp(stream) {
    for (;;) {
      stream.hasMore = false;
      const events = await this.#eventsAfter(stream.last, PAGE);
      for (const event of events) this.#send(stream, event);
      if (!this.#streams.has(stream)) return;
      if (events.length < PAGE && !stream.hasMore) break;
      if (!stream.events.isReady) await stream.events.drained(this.#stallMs);
    }
    stream.isLive = true;
  }

  /** @param {Event[]} events */
  send(events) {
    for (const stream of this.#streams)
      if (stream.isLive) for (const event of events) this.#send(stream, event);
      else stream.hasMore = true;
  }

  /** @param {Stream} stream @param {Event} event */
  #send(stream, { id, type, thing, data }) {
    if (id <= stream.last) return;
    stream.last = id;
    if (stream.type !== '' && stream.type !== type) return;
    const shown = stream.hasDiff && type !== 'thing_deleted' ? data : { id: thing };
    if (this.#mayWrite(stream)) stream.events.send({ id, event: type, data: JSON.stringify(shown) });
  }

  /** Closes the connection of a client that is too slow. @param {Stream} stream @returns {boolean} false: it did */
  #mayWrite(stream) {
    if (stream.events.waitingBytes <= MAX_BEHIND) return true;
    this.#streams.delete(stream);
    stream.events.destroy();
    return false;
  }

  get size() {
    return this.#streams.size;
  }

  close() {
    clearInterval(this.#timer);
    for (const { events } of this.#streams) events.end();
    this.#streams.clear();
  }
}

exports.EventStreams = EventStreams;
