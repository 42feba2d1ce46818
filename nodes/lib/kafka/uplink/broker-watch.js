'use strict';
// Finds brokers that are lost although their connections stay open: their machine hangs, or packets no longer reach it.
// The client would wait for each answer until its own limit, which is long, because a member of a group may wait for
// others. It would also ask the first broker of its list about the cluster again and again.
//
// A broker that owes an answer for a second may be lost, or the request just takes that long. The others know: the
// cluster lists only brokers that give signs of life (broker.session.timeout.ms). The connections to a broker that is
// no longer listed end, and it gets no new ones until it is listed again.

const { tracingChannel } = require('node:diagnostics_channel');

/** @typedef {{ host: string, port: number }} Broker */

const CHECK_MS = 500;
const SILENT_MS = 1000;
const ANSWER_MS = 1000;

/** When each request without an answer was sent, by connection and id. @type {WeakMap<object, Map<unknown, number>>} */
const requests = new WeakMap();
tracingChannel('plt:kafka:connections:api').subscribe(
  /** @type {any} */ ({
    start(/** @type {any} */ { connection, operationId }) {
      const open = requests.get(connection) ?? new Map();
      requests.set(connection, open.set(operationId, performance.now()));
    },
    asyncStart: (/** @type {any} */ { connection, operationId }) =>
      requests.get(connection)?.delete(operationId)
  })
);

/** @param {Broker} broker */
const addressOf = ({ host, port }) => `${host}:${port}`;

/** Watches the clients of one cluster, one after the other or several, and remembers which brokers are lost. */
class BrokerWatch {
  /** Brokers that the cluster has listed. Others may be names of several brokers. @type {Map<string, Broker>} */
  #known = new Map();
  /** Addresses of brokers. @type {Set<string>} */
  #lost = new Set();
  /** The client wants a lost broker, which may be back. */
  #isWanted = false;

  /**
   * Watches a client until it closes.
   * @param {any} client a producer or consumer of the module
   * @param {any} module the client's
   */
  attach(client, module) {
    /** @type {Map<any, string>} addresses of the connections */
    const connections = new Map();
    client.on('client:broker:connect', (/** @type {any} */ { broker, connection }) => {
      connections.set(connection, addressOf(broker));
      if (this.#isLost(broker)) connection.socket.destroy();
    });
    client.on('client:broker:disconnect', (/** @type {any} */ { connection }) =>
      connections.delete(connection)
    );
    this.#refuseLost(client.connections, module);
    let isAsking = false;
    const check = async () => {
      if (client.closed) return clearInterval(timer);
      const silent = this.#silent(connections);
      if (isAsking || (silent.size === 0 && !this.#isWanted)) return;
      isAsking = true;
      this.#isWanted = false;
      const listed = await this.#ask(client, module, silent);
      isAsking = false;
      // If none answers, each of them may be the first to come back.
      if (listed.length === 0) this.#lost.clear();
      else this.#learn(listed, silent, connections);
    };
    const timer = setInterval(() => void check(), CHECK_MS);
    timer.unref();
  }

  /** The client takes the next broker of its list. @param {any} pool of the client @param {any} module */
  #refuseLost(pool, { NetworkError }) {
    const get = pool.get.bind(pool);
    pool.get = (/** @type {Broker} */ broker, /** @type {any[]} */ ...rest) => {
      const [callback] = rest;
      if (!broker || !callback || !this.#isLost(broker)) return get(broker, ...rest);
      const text = `The cluster counts ${addressOf(broker)} as lost.`;
      setImmediate(callback, new NetworkError(text, { canRetry: true, hasStaleMetadata: true }));
    };
  }

  /** @param {Broker} broker that the client wants */
  #isLost(broker) {
    const isLost = this.#lost.has(addressOf(broker));
    this.#isWanted ||= isLost;
    return isLost;
  }

  /** @param {Map<any, string>} connections @returns {Set<string>} addresses of brokers that owe an answer */
  #silent(connections) {
    const before = performance.now() - SILENT_MS;
    const owes = (/** @type {any} */ connection) =>
      [...(requests.get(connection)?.values() ?? [])].some((sentAt) => sentAt < before);
    return new Set([...connections].filter(([connection]) => owes(connection)).map(([, address]) => address));
  }

  /**
   * @param {any} client @param {any} module @param {Set<string>} silent
   * @returns {Promise<Broker[]>} the brokers of the cluster, [] = none of the others answers
   */
  async #ask(client, { metadataV7 }, silent) {
    for (const { host, port } of client.currentMetadata?.brokers.values() ?? [])
      this.#known.set(addressOf({ host, port }), { host, port });
    const others = [...this.#known].filter(([address]) => !silent.has(address) && !this.#lost.has(address));
    const answers = others.map(async ([, broker]) => {
      const connection = await promised((done) => client.connections.get(broker, done));
      const answer = await promised((done) => metadataV7.api(connection, [], false, false, done));
      return /** @type {Broker[]} */ (answer.brokers);
    });
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ANSWER_MS, [])));
    try {
      return await Promise.race([Promise.any(answers).catch(() => []), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {Broker[]} listed @param {Set<string>} silent @param {Map<any, string>} connections */
  #learn(listed, silent, connections) {
    const alive = new Map(listed.map((broker) => [addressOf(broker), broker]));
    for (const address of alive.keys()) this.#lost.delete(address);
    for (const address of silent)
      if (!alive.has(address) && this.#known.has(address)) this.#lost.add(address);
    this.#known = alive;
    for (const [connection, address] of connections) if (this.#lost.has(address)) connection.socket.destroy();
  }
}

/** @param {(done: (error: unknown, result: any) => void) => void} call @returns {Promise<any>} */
function promised(call) {
  return new Promise((resolve, reject) => call((error, result) => (error ? reject(error) : resolve(result))));
}

exports.BrokerWatch = BrokerWatch;
