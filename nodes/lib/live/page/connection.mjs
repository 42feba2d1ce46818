// Reads a stream of the gateway. EventSource cannot send the login of the admin API, so this reads server-sent events
// with fetch.

/** A stream without a byte for this long is broken, ms. */
const SILENCE_MS = 8000;
const RETRY_MS = [500, 1000, 2000, 5000, 10000];

/**
 * States: connecting · live · lost (tries again) · login (needs a login) · full (too many viewers; tries again).
 */
export class LiveConnection {
  #url;
  #token;
  #handlers;
  #silenceMs;
  #wantsAll;
  #query = '';
  /** @type {AbortController | null} of the current run, null = stopped */
  #run = null;

  /**
   * url: of the stream; token(): the bearer token, '' = none; handlers: state(name), and one for each kind of event,
   * which gets its object; silenceMs: a stream without a byte for this long is broken; wantsAll: false = of events that
   * arrive together, only the newest of each kind counts
   */
  constructor({ url, token, handlers, silenceMs = SILENCE_MS, wantsAll = false }) {
    this.#url = url;
    this.#token = token;
    this.#handlers = handlers;
    this.#silenceMs = silenceMs;
    this.#wantsAll = wantsAll;
  }

  /** Starts with this query, or changes to it. */
  start(query) {
    const text = new URLSearchParams(query).toString();
    if (this.#run && text === this.#query) return;
    this.#query = text;
    this.stop();
    this.#run = new AbortController();
    void this.#follow(this.#run.signal);
  }

  stop() {
    this.#run?.abort();
    this.#run = null;
  }

  async #follow(signal) {
    for (let failures = 0; !signal.aborted;) {
      let state = 'lost';
      try {
        state = await this.#readOnce(signal, () => (failures = 0));
      } catch {
        // Reported as the state.
      }
      if (signal.aborted) return;
      // The gateway ends each stream after some minutes; that is no fault.
      if (state !== 'ended') this.#handlers.state(state);
      // The caller starts again when there is a login.
      if (state === 'login') return this.stop();
      const wait = state === 'full' ? RETRY_MS.at(-1) : RETRY_MS[Math.min(failures, RETRY_MS.length - 1)];
      failures++;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Reads one stream to its end. */
  async #readOnce(signal, onLive) {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener('abort', abort);
    let timer = setTimeout(abort, this.#silenceMs);
    try {
      const token = this.#token();
      const response = await fetch(`${this.#url}?${this.#query}`, {
        headers: token ? { authorization: `Bearer ${token}` } : {},
        signal: attempt.signal,
        cache: 'no-store'
      });
      if (response.status === 401 || response.status === 403) return 'login';
      if (response.status === 503) return 'full';
      if (!response.ok) return 'lost';
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ''; ;) {
        const { done, value } = await reader.read();
        if (done) return 'ended';
        clearTimeout(timer);
        timer = setTimeout(abort, this.#silenceMs);
        const events = (rest + value).split('\n\n');
        rest = events.pop();
        if (signal.aborted) return 'ended';
        if (events.length > 0) onLive();
        this.#take(events);
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      attempt.abort();
    }
  }

  /** Handles events that arrived together. */
  #take(events) {
    const all = events.flatMap((event) => {
      const [, kind, json] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      return kind ? [[kind, json]] : [];
    });
    if (all.length > 0) this.#handlers.state('live');
    for (const [kind, json] of this.#wantsAll ? all : new Map(all)) this.#handlers[kind]?.(JSON.parse(json));
  }
}
