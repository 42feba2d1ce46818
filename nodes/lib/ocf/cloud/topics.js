'use strict';
// /oic/ps: topics to which devices post and that others observe. A topic belongs to the user who created it. Each post
// is a record of the gateway; only the latest value of a topic is in memory. A desk with topics takes most posts by
// itself and keeps the latest values; the others come as requests.

const { checkMap, encode, formatOptions } = require('./bodies');
const { OPTION, queryValues, uint } = require('./coap');
const { segmentsProblem } = require('./href');
const { Refusal } = require('./refusal');
const { observeNumbers, observeWish } = require('./relations');
const { asRefusal, checkMethod, refuse } = require('./replies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('./coap').Option} Option */
/**
 * described: options of its notifications; kind: the same as a text.
 * @typedef {{ request: Request, described: Option[], kind: string, remove: () => void }} Subscriber
 */
/**
 * @typedef {object} Topic
 * @property {string} name such as /oic/ps/rooms
 * @property {string[]} types
 * @property {Buffer} latest the latest value that this process knows
 * @property {number} number of that post at the desk, 0 = none
 * @property {Set<Subscriber>} subscribers
 * @property {() => number} next number of the next notification, which all subscribers share
 * @property {number} id at the desk, 0 = all posts come as requests
 * @property {number} following subscribers, and requests that may become one
 */

const LIMITS = {
  segments: 8,
  nameBytes: 200,
  topicsOfUser: 1024,
  topics: 16384,
  subscribers: 1024,
  latestBytes: 32 << 20
};
/** Topics without subscribers whose posts are looked at before one of them makes room. */
const MOST_ASKED = 16;

/** What a topic without posts has. */
const NO_VALUE = encode({});

class Topics {
  #cloud;
  /** By user, by name. @type {Map<string, Map<string, Topic>>} */
  #users = new Map();
  #count = 0;
  #latestBytes = 0;
  /** By id at the desk. @type {Map<number, Topic>} */
  #byId = new Map();
  /** Of all topics. */
  #subscribers = 0;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * @param {Peer} peer
   * @param {Request} request
   * @param {number} format of the answer
   * @returns {Promise<Answer | undefined>} undefined: the answer follows later
   */
  async answer(peer, request, format) {
    const [, , ...segments] = request.path;
    if (segments.length === 0) return this.#list(peer, request);
    checkMethod(request, 'GET', 'PUT', 'POST', 'DELETE');
    if (request.method === 'PUT') return this.#create(peer, request, segments);
    const name = nameOf(segments);
    const topic = this.#users.get(peer.uid)?.get(name);
    if (!topic) throw unknown();
    if (request.method === 'POST') return this.#post(peer, request, topic);
    if (request.method === 'DELETE') return this.#remove(peer.uid, topic);
    return this.#get(peer, request, topic, format);
  }

  /** @param {Peer} peer @param {Request} request @returns {Answer} */
  #list(peer, request) {
    checkMethod(request, 'GET');
    const types = queryValues(request, 'rt');
    const all = [...(this.#users.get(peer.uid)?.values() ?? [])];
    const found = all.filter((topic) => types.length === 0 || topic.types.some((rt) => types.includes(rt)));
    return { code: '2.05', body: { topiclist: found.map(({ name }) => name) } };
  }

  /** @param {Peer} peer @param {Request} request @param {string[]} segments @returns {Promise<Answer>} */
  async #create(peer, request, segments) {
    const { uid } = peer;
    const problem = segmentsProblem(segments);
    if (problem || segments.some((segment) => segment === '')) {
      throw new Refusal('4.00', `The topic ${problem || 'must not have empty segments'}.`);
    }
    const name = nameOf(segments);
    if (segments.length > LIMITS.segments || Buffer.byteLength(name) > LIMITS.nameBytes) {
      throw new Refusal(
        '4.00',
        `A topic has at most ${LIMITS.segments} segments and ${LIMITS.nameBytes} bytes.`
      );
    }
    this.#checkNew(uid, name);
    if (this.#count >= LIMITS.topics) {
      await this.#makeRoom(uid);
      // Others may have had the room, and the same name, meanwhile.
      if (!peer.isGone) this.#cloud.sessions.checkSignedIn(peer);
      this.#checkNew(uid, name);
      if (peer.isGone || this.#count >= LIMITS.topics) throw noRoom();
    }
    const own = this.#users.get(uid) ?? new Map();
    const types = queryValues(request, 'rt').slice(0, 16);
    const latest = NO_VALUE;
    const { desk, options } = this.#cloud;
    const id = desk.topics?.openTopic(uid, segments.join('/'), subjectOf(name), options.recordClass) ?? 0;
    const next = observeNumbers();
    const topic = { name, types, latest, number: 0, subscribers: new Set(), next, id, following: 0 };
    own.set(name, topic);
    if (id !== 0) this.#byId.set(id, topic);
    this.#latestBytes += latest.length;
    this.#users.set(uid, own);
    this.#count++;
    const location = name.slice(1).split('/');
    return {
      code: '2.01',
      options: location.map((segment) => [OPTION.LOCATION_PATH, Buffer.from(segment)])
    };
  }

  /** @param {string} uid @param {string} name @throws {Refusal} */
  #checkNew(uid, name) {
    const own = this.#users.get(uid);
    if (own?.has(name)) throw new Refusal('4.03', 'The topic exists already.');
    if (own && own.size >= LIMITS.topicsOfUser) throw noRoom();
  }

  /**
   * Deletes a topic of the user with the most topics if that is not the one who asks, so that no user can take the
   * share of another one. One without subscribers and posts goes first, then one without subscribers, the oldest of
   * each.
   * @param {string} uid
   * @throws {Refusal} 5.03 if no user has more topics
   */
  async #makeRoom(uid) {
    const share = this.#users.get(uid)?.size ?? 0;
    let most = '';
    for (const [each, { size }] of this.#users)
      if (size > share + 1 && size > (this.#users.get(most)?.size ?? 0)) most = each;
    const topics = [...(this.#users.get(most)?.values() ?? [])];
    if (topics.length === 0) throw noRoom();
    const quiet = topics.filter(({ following }) => following === 0);
    const asked = quiet.slice(0, MOST_ASKED);
    const latest = await Promise.all(asked.map((topic) => this.#latest(topic)));
    const choice = [...asked.filter((_, i) => latest[i].equals(NO_VALUE)), ...quiet, ...topics];
    const isThere = (/** @type {Topic} */ topic) => this.#users.get(most)?.get(topic.name) === topic;
    const gone = choice.find(isThere);
    if (gone && this.#count >= LIMITS.topics) this.#remove(most, gone);
  }

  /** Deletes the topics of users who are not in the store any more. */
  async recheck() {
    const uids = [...this.#users.keys()];
    if (uids.length === 0) return;
    const known = new Set(await this.#cloud.store.read('knownUsers', { uids }));
    for (const uid of uids)
      if (!known.has(uid))
        for (const topic of [...(this.#users.get(uid)?.values() ?? [])]) this.#remove(uid, topic);
  }

  /**
   * Makes the post a record, and answers when it is safe. Other requests of the connection do not wait for that.
   * @param {Peer} peer
   * @param {Request} request
   * @param {Topic} topic
   * @returns {undefined}
   */
  #post(peer, request, topic) {
    if (request.payload.length === 0) throw new Refusal('4.12', 'The post has no payload.');
    checkMap(request);
    const { desk, options } = this.#cloud;
    const { id, name } = topic;
    desk.record(peer.connection, subjectOf(name), request.payload, options.recordClass, id).then(
      (outcome) => {
        if (outcome === 'safe') {
          // Otherwise the desk does it.
          if (id === 0) this.#publish(topic, request.payload);
          this.#cloud.answer(request, '2.04', [], Buffer.alloc(0));
        } else if (!peer.isGone) refuse(desk, request, notSaved(outcome));
      },
      (error) => {
        this.#cloud.problem(error);
        if (!peer.isGone) refuse(desk, request, asRefusal(error));
      }
    );
    desk.settled?.(request.connection, request.token);
  }

  /**
   * A post to a topic that is followed at the desk is safe.
   * @param {number} id
   * @param {number} number
   * @param {Buffer} payload
   */
  posted(id, number, payload) {
    const topic = this.#byId.get(id);
    if (!topic) return;
    topic.number = number;
    this.#publish(topic, payload);
  }

  /** @param {Topic} topic @param {Buffer} payload */
  #publish(topic, payload) {
    const grown = this.#latestBytes + payload.length - topic.latest.length;
    // Without room, subscribers still get the value; who asks later gets the one of before.
    if (grown <= LIMITS.latestBytes) {
      this.#latestBytes = grown;
      topic.latest = payload;
    }
    const number = observe(topic.next());
    for (const { described, requests } of alike(topic.subscribers)) {
      this.#cloud.answerAll(requests, '2.05', [number, ...described], payload);
    }
  }

  /**
   * @param {Peer} peer
   * @param {Request} request
   * @param {Topic} topic
   * @param {number} format
   * @returns {Promise<Answer | undefined>}
   */
  async #get(peer, request, topic, format) {
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(request.token);
    if (wish !== 'start') return { code: '2.05', encoded: await this.#latest(topic) };
    checkRoom(peer, topic);
    // Before the question for the latest value, so that no post is lost between both.
    this.#follow(topic, 1);
    try {
      const latest = await this.#latest(topic);
      if (peer.isGone) return undefined;
      this.#cloud.sessions.checkSignedIn(peer);
      if (this.#users.get(peer.uid)?.get(topic.name) !== topic) throw unknown();
      checkRoom(peer, topic);
      const number = this.#subscribe(peer, request, topic, format);
      return { code: '2.05', encoded: latest, options: [observe(number)] };
    } finally {
      this.#follow(topic, -1);
    }
  }

  /** @param {Peer} peer @param {Request} request @param {Topic} topic @param {number} format @returns {number} */
  #subscribe(peer, request, topic, format) {
    const described = formatOptions(request, format);
    /** @type {Subscriber} */
    const subscriber = { request, described, kind: kindOf(described), remove: () => {} };
    subscriber.remove = peer.relations.add(request.token, () => {
      if (!topic.subscribers.delete(subscriber)) return;
      this.#subscribers--;
      this.#follow(topic, -1);
    });
    topic.subscribers.add(subscriber);
    this.#subscribers++;
    this.#follow(topic, 1);
    return topic.next();
  }

  /** @param {Topic} topic @param {1 | -1} change */
  #follow(topic, change) {
    const before = topic.following;
    topic.following += change;
    if ((before === 0) !== (topic.following === 0) && topic.id !== 0) {
      this.#cloud.desk.topics?.followTopic(topic.id, topic.following > 0);
    }
  }

  /** Returns the latest value, of the desk or of a notification. @param {Topic} topic @returns {Promise<Buffer>} */
  async #latest(topic) {
    const found = topic.id === 0 ? null : await this.#cloud.desk.topics?.latestPost(topic.id);
    return found && found.number >= topic.number ? found.payload : topic.latest;
  }

  /** @param {string} uid @param {Topic} topic @returns {Answer} */
  #remove(uid, topic) {
    const own = this.#users.get(uid);
    own?.delete(topic.name);
    if (own?.size === 0) this.#users.delete(uid);
    this.#count--;
    this.#latestBytes -= topic.latest.length;
    if (this.#byId.delete(topic.id)) this.#cloud.desk.topics?.closeTopic(topic.id);
    // RFC 7641 section 3.2: an error ends the observation.
    for (const { request, remove } of topic.subscribers) {
      remove();
      this.#cloud.answer(request, '4.04', [], Buffer.from('The topic was deleted.'));
    }
    this.#subscribers -= topic.subscribers.size;
    topic.subscribers.clear();
    return { code: '2.02' };
  }

  get size() {
    return this.#count;
  }

  get subscribers() {
    return this.#subscribers;
  }
}

/** @param {Option[]} options */
const kindOf = (options) => options.map(([number, value]) => `${number}:${value.toString('hex')}`).join();

/**
 * Returns the requests whose notifications are the same.
 * @param {Iterable<Subscriber>} subscribers
 */
function alike(subscribers) {
  /** @type {Map<string, { described: Option[], requests: Request[] }>} */
  const groups = new Map();
  for (const { request, described, kind } of subscribers) {
    const group = groups.get(kind);
    if (group) group.requests.push(request);
    else groups.set(kind, { described, requests: [request] });
  }
  return groups.values();
}

/** @param {Peer} peer @param {Topic} topic @throws {Refusal} 5.03 if there is no room for one more subscriber */
function checkRoom(peer, topic) {
  peer.relations.check();
  if (topic.subscribers.size >= LIMITS.subscribers) {
    throw new Refusal('5.03', 'The topic has too many subscribers.', 60);
  }
}

function noRoom() {
  return new Refusal('5.03', 'There is no room for more topics.', 60);
}

function unknown() {
  return new Refusal('4.04', 'There is no such topic.');
}

/** @param {string} outcome of a record, other than safe @returns {Refusal} */
function notSaved(outcome) {
  if (outcome === 'notAllowed') return new Refusal('4.03', 'The device may not send records.');
  if (outcome === 'tooLong') return new Refusal('4.13', 'The post or its topic is too long.');
  if (outcome === 'oddTopic') return new Refusal('4.00', 'The topic has characters that brokers refuse.');
  return new Refusal('5.03', 'The gateway cannot take the post at present.', outcome === 'full' ? 1 : 30);
}

/** @param {number} number @returns {import('./coap').Option} */
function observe(number) {
  return [OPTION.OBSERVE, uint(number)];
}

/** @param {string} name @returns {string} topic of the records, such as ps/rooms */
function subjectOf(name) {
  return name.slice('/oic/'.length);
}

/** @param {string[]} segments */
function nameOf(segments) {
  return `/oic/ps/${segments.join('/')}`;
}

module.exports = { Topics, LIMITS };
