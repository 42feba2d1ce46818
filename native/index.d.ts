// Types of the native engine. The engine is the data plane: sockets, MQTT, classes, batches.
// Numbers are plain JS numbers; times are milliseconds since the epoch; sizes are bytes unless the name says MiB.

/** Record class. 1 is the most urgent. Names: 1 critical, 2 high, 3 normal, 4 bulk; 5 to 8 have none. */
export type RecordClass = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

export interface EngineOptions extends LogOptions, ClassOptions {
  /** Worker threads, 0 = one for each allowed core but the first, at least 1. Range 0..64. */
  workers?: number;
  /** Cores that workers may use, as a list such as "1-3,5"; empty = all allowed cores but the first. */
  cpus?: string;
  /** Budget for records held in memory, MiB. Devices are slowed above it. Default 64, range 1..65536. */
  memoryMiB?: number;
  /** Largest MQTT packet accepted from a device. Default 262144, range 1024..16777216. */
  maxPacketBytes?: number;
  /** Devices with an open connection, at most. Default 10000. */
  maxDevices?: number;
  /** Ring between the workers and Node-RED messages, MiB a worker. Default 4, range 4..1024. */
  messageRingMiB?: number;
  /**
   * A worker with 32 devices or more, of which two or more bring something in this time, wakes up at most once in it,
   * microseconds: more latency, far less CPU.
   * Default 800, 0 = at once, range 0..100000.
   */
  wakeIntervalUs?: number;
  /**
   * 'live': devices of a worker that has lastingly more to do than another go there, connected ones too, up to 1 % of all each 5 s;
   * 'off' (default): a device stays with the worker that its hash gave it. No effect with one worker.
   */
  rebalance?: 'off' | 'live';
  /**
   * Topics and device ids that begin with $ or have a character that MQTT lets a receiver refuse (5.0, 1.5.4): 'refuse' (default) refuses
   * them from devices and push(), because a broker may end the connection at such a record; 'accept' takes them.
   */
  oddTopics?: 'refuse' | 'accept';
}

/** How the classes share the way to the cloud, and what each may have. Arrays by class, [0] unused. */
export interface ClassOptions {
  /** Share of what class 1 leaves, in bytes, where several classes wait, whichever sessions serve them. [1] unused. Default [0, 0, 8, 4, 1 …], range 1..1000. */
  weights?: number[];
  /**
   * A class but 1 that waits and got nothing sent for so long is served once, before all else of its session, class 1 too, ms. So class 1
   * waits for at most one batch of each other class of its session in that time. Default 5000, 0 = off, range 0..3600000.
   */
  agingMs?: number;
  /** What has waited for longer, in memory or in the log, is dropped and counted (`expired`), s. What is in flight is not. 0 = never. */
  ttlS?: number[];
  /** Records a second to the cloud, live and backlog together; up to 50 ms of it, or one batch, at once. 0 = no limit. Range 0..10000000. */
  ratePerS?: number[];
  /** Records of the class in memory, at most; see whenFull. From half of it on they are written to the log, and leave memory then. 0 = no limit of its own. */
  queueRecords?: number[];
}

/** What decides when records are acknowledged, and what of them is written to disk. */
export interface LogOptions {
  /**
   * When a device's PUBACK leaves: 'received' (default) at once, out of memory; 'safe' when every copy of the record is on
   * disk or acknowledged by the cloud, whichever is first; 'stored' when it is on disk, which needs `log`.
   */
  acknowledge?: 'safe' | 'stored' | 'received';
  /** A StoreSource serves this engine. Without it nothing is written and 'safe' waits for the cloud alone. Default false. */
  log?: boolean;
  /** How long records of classes 1 and 2 wait for others that are written with them, where they have to be written, ms. Default 10, range 0..1000. */
  lingerUrgentMs?: number;
  /** The same for the other classes. Default 50. */
  lingerMs?: number;
  /** A batch that the cloud has not acknowledged after this long is written, ms; before that only when the cloud cannot be reached. Default 1000, range 0..60000. */
  patienceMs?: number;
  /**
   * Memory or a class's queueRecords full: 'slow' (default) devices whose latest record was of such a class are not read;
   * 'drop' the least urgent class is dropped, oldest first, or of that class the oldest. What is on disk is spilled, not dropped.
   */
  whenFull?: 'slow' | 'drop';
  /** Names this run in de-duplication keys. Default: milliseconds since 1970 times 1024, and a random part. */
  epoch?: number;
}

export interface WorkerInfo {
  index: number;
  /** Thread id as in /proc/PID/task. */
  tid: number;
  /** The core that it is pinned to, -1 when it is not pinned. */
  cpu: number;
  /** Why it is not pinned, empty when it is. */
  reason: string;
  /** What its core can do, 1..1024, the strongest one in use being 1024; it has devices in proportion. */
  capacity: number;
}

/** Which worker has how much to do, and what was done about it. */
export interface PlacementStats {
  /** Slots (of 1,024 that devices are hashed to) that went to another worker. */
  moved: number;
  /** Slots that were to go and stayed, because something of their devices was on its way for too long. */
  undone: number;
  /** By index of the worker: CPU time by time in the last second, 0..1; open connections of devices; slots. */
  workers: { busy: number; connections: number; slots: number }[];
}

export interface Rule {
  /** MQTT topic filter (+ and # as in MQTT 3.1.1, 4.7), matched against the record's topic; absent = any topic. */
  topic?: string;
  /** Device glob (* any run, ? one character), matched against the whole device id; absent = any device. */
  device?: string;
  class: RecordClass;
}

export type BatchMode = 'envelope' | 'records' | 'off';

/** How a source treats its devices. */
export interface SourceSettings {
  /** What they speak. Default 'mqtt'; 'pushed': JavaScript brings their records with push(). */
  protocol?: 'mqtt' | 'coap' | 'pushed';
  /** Records a second of one device, 0 = no limit (default); MQTT packets that bring nothing (SUBSCRIBE, PINGREQ …) count too. Above it an MQTT device is not read for a while, a CoAP one gets 4.29. Range 0..1000000. */
  rate?: number;
  /** Records that a device may send at once, 0 = as many as in a second. Default 0. */
  burst?: number;
  /**
   * Topic of the records that tell when a device connects or leaves, '' (default) = none; {device} stands for its id (its + and # become _).
   * Payload: JSON {"state":"connected"|"disconnected","protocol":…}, when disconnected with "reason" as in DeviceEvent. At most 1024
   * bytes, no wildcards. When the engine ends nobody is told any more.
   */
  presenceTopic?: string;
  /**
   * MQTT 5 user property, or CoAP query, in which a device may name the class of a record: 1 to 8, or a name. '' = none.
   * Default 'priority'. What is no class is ignored.
   */
  classProperty?: string;
  /**
   * The first row whose device (id or glob) matches says what a device may do; none matches: nothing. Without rows everything. At most 1024
   * rows of 64 filters each. {device} in a filter stands for the id; for an id with a +, # or / such a filter allows nothing.
   */
  permissions?: Permission[];
  /** MQTT 5: QoS 1 and 2 packets that a device may have unacknowledged. 1..65535, default 1024. */
  receiveMaximum?: number;
  /** MQTT 5. 0..1024, default 16. */
  topicAliasMaximum?: number;
  /** Longest keep-alive, s; 0 (default) = the device's own. 0..65535. MQTT 5 devices are told, others are held to it. */
  keepAliveMaxS?: number;
  /** How long the session of a device that left is kept at most, s. 0..604800, default 3600. */
  sessionExpiryMaxS?: number;
  /** CoAP: records are posted to /{path}/{device}/{topic}. Default 'r'. 1..128 bytes. */
  path?: string;
  /** CoAP: commands are observed at /{commandPath}/{device}. Default 'cmd'. */
  commandPath?: string;
  /** CoAP: largest block-wise upload. 1024..16777216, default 262144. */
  maxBodyBytes?: number;
}

/**
 * One node of the data path. `id` is a number the caller keeps stable for a Node-RED node while the engine lives;
 * `next` names the stages that get this stage's output natively; `messages` asks for its output as messages too.
 */
export type StageSpec = { id: number; next: number[]; messages: boolean } & (
  | ({
      kind: 'source'; // devices; their listener itself is opened with listen()
      /**
       * Registered devices: the class that a device's records have before any priority stage, 3 without one. The first row that
       * matches decides; `device` is an id or a glob, as in Rule, of 1 to 256 bytes. At most 10000 rows, 1024 of them with * or ?.
       */
      devices?: { device: string; class: RecordClass }[];
    } & SourceSettings)
  | { kind: 'ingest' } // records pushed from JavaScript
  | { kind: 'priority'; rules: Rule[]; defaultClass: 0 | RecordClass } // 0 keeps the class that the record has
  | {
      kind: 'batch';
      mode: BatchMode;
      format: 'ndjson';
      /**
       * 'limits' (default): n, m and t of the paper. 'adaptive': a batch leaves when its uplink has room and nothing to send, or at
       * m of its link or t; n plays no part, and maxBytes is the most that m gets.
       */
      flush?: 'limits' | 'adaptive';
      /**
       * Adaptive: the time between two batches of a class on a worker unless m is reached, ms, from 3,000 records a second of that
       * class on; in proportion less where fewer come. The first after a pause leaves at the end of its wake-up. Default 5, 0..1000.
       */
      gapMs?: number;
      /** Paper's n: no batching below this many connected devices; back off below 90 % of it. 0 = always batch. */
      minDevices: number;
      /** Paper's m: a batch is sealed before it would exceed this many bytes as sent. 1..1048576. */
      maxBytes: number;
      /** Paper's t: a batch is sealed when its oldest record is this old, ms. 1..86400000. */
      maxDelayMs: number;
      /** Classes up to this one never wait and are never mixed with others. Default 1. */
      immediateClass: number;
    }
  | {
      kind: 'uplink';
      /** Number of the broker's queue, see UplinkSource. */
      uplink: number;
      /** Under which the log keeps its batches, also for the next run; at most 64 bytes. */
      name?: string;
    }
  | { kind: 'tap'; everyN: number; perSecond: number } // 0 = no limit of that kind; only sampled records go on
);

export interface PlanSpec {
  stages: StageSpec[];
}

export interface ListenOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** 'tcp' (default); 'udp' (CoAP): a socket on every worker; 'streams': no port, only openDeviceStream() brings connections. */
  transport?: 'tcp' | 'udp' | 'streams';
  /** Connections whose login is not complete after this long are closed, ms. Default 10000. */
  connectTimeoutMs?: number;
  /** MQTT: 'open' (default) everybody is a device; 'ask': each login goes to takeLogins() and waits for answerLogin(). */
  login?: 'open' | 'ask';
  /** Connections of this listener that are no device yet; one more, or one over maxDevices, ends the oldest of them. Default 8192, range 1..65536. */
  maxHalfOpen?: number;
}

/** Somebody who wants to be a device. */
export interface Login {
  /** Towards answerLogin(). */
  id: number;
  stage: number;
  clientId: string;
  user: string | null;
  password: Buffer | null;
  /** Of the far end, such as 192.0.2.7:40312; what openDeviceStream() was told for a stream. */
  address: string;
}

/** A connection whose TLS or WebSocket ends in JavaScript. */
export interface StreamPeer {
  /** For people, at most 256 bytes. */
  address: string;
  /** The device that the far end has proved to be (certificate, pre-shared key); it is not asked for a login then. */
  device?: string;
}

/** What became of a command. */
export declare const CommandEnd: Readonly<{
  /** The device acknowledged it; QoS 0: it was sent. */
  TAKEN: 0;
  /** It has no connection. */
  OFFLINE: 1;
  /** It is connected, and has no subscription (observes nothing) that matches. */
  NOT_LISTENING: 2;
  /** No acknowledgement in time; it may come to the device yet. */
  TIMEOUT: 3;
  /**
   * The connection ended first, and its session with it: nobody knows whether the device has it. A command of a session that is kept is
   * sent again on the next connection, and ends as TAKEN then, or as TIMEOUT.
   */
  GONE: 4;
  /** The device said no. */
  REFUSED: 5;
  /** More than the device takes in one packet. */
  TOO_LARGE: 6;
  /** Too many commands of this device are on their way: try again. */
  BUSY: 7;
}>;

export interface DeviceEvent {
  kind: 'connected' | 'disconnected' | 'listening';
  device: string;
  /** Of its source. */
  stage: number;
  worker: number;
  /** disconnected: closed, protocol, keepAlive, takenOver, stopped, expired. */
  reason: string;
  address: string;
}

/** An agent: what a worker knows of a device. */
export interface AgentInfo {
  device: string;
  stage: number;
  worker: number;
  connected: boolean;
  /** It has a subscription, or observes its commands. */
  listening: boolean;
  /** Of its latest record, 0 = none yet. */
  class: 0 | RecordClass;
  records: number;
  bytes: number;
  /** Of the last seconds. */
  ratePerS: number;
  /** Milliseconds since its last sign of life. */
  silentMs: number;
  address: string;
}

/** What push() answers. */
export declare const PushResult: Readonly<{
  /** The record is in the engine. */
  OK: 0;
  /** Memory has no room for its class, or the worker's ring is full: wait and push again. */
  FULL: 1;
  /** Device id empty or over 256 bytes, topic over 65,535 bytes or payload over maxPacketBytes. */
  TOO_LONG: 2;
  CLOSED: 3;
  /** No stage with this id in the current plan. */
  NO_STAGE: 4;
  /** The stage leads to no uplink and sends no messages: nothing takes the record. */
  NO_ROUTE: 5;
  /** The device id or topic begins with $ or has a control character: EngineOptions.oddTopics. */
  ODD_TOPIC: 6;
}>;

/** push() flags, or-ed. */
export declare const Flag: Readonly<{ QOS1: 1; RETAIN: 2; ENVELOPE: 4 }>;

/** A counter table: one row a name. Names and meanings: docs/operations.md. */
export type Counters = Record<string, number>;

export interface StageCounters {
  id: number;
  /** Records in, out; for batch stages also sealed batches. */
  recordsIn: number;
  recordsOut: number;
  batches: number;
  /** Copies for JavaScript that were not made because the message ring was full. */
  copiesDropped: number;
}

export interface LatencySummary {
  class: RecordClass;
  count: number;
  /** From the reading of the packet to the cloud's PUBACK, ms. */
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface EngineStats {
  /** Devices with an open connection. */
  devices: number;
  /** Bytes held for records, and the budget. */
  heldBytes: number;
  budgetBytes: number;
  /** Records in memory and not yet acknowledged by the cloud, by class (index 0 unused). */
  heldRecords: number[];
  /** Of these, those that have been batched and are not on disk. */
  unsavedRecords: number[];
  /** Records on disk and not yet acknowledged by the cloud, in memory too or not. */
  storedRecords: number[];
  /** Of these, those that are not in memory. */
  backlogRecords: number[];
  /** True while devices are not read because the budget is used up. */
  slowed: boolean;
  /** Most urgent class whose devices are not read, 0 = none. */
  slowedFrom: 0 | RecordClass;
  counters: Counters;
  /** Dropped records by reason (row name) and class (index). */
  drops: Record<string, number[]>;
  /** Connections closed for breaking MQTT, by reason (core/protocol/close_reason.h); only those that happened. */
  protocolErrors: Record<string, number>;
  latency: LatencySummary[];
  stages: StageCounters[];
  placement: PlacementStats;
}

export declare class Engine {
  /**
   * @param onDoorbell called on this thread when messages, completions, logins, events or results of commands wait; coalesced. It must not throw, may come
   *   once more after close(), and keeps what it refers to alive: an engine has to be closed.
   */
  constructor(options: EngineOptions, onDoorbell: () => void);
  /** Names this engine to other threads of the process: `new UplinkSource(token, …)`. */
  readonly token: number;
  readonly epoch: number;
  workers(): WorkerInfo[];
  /** The worker that owns a device id. */
  workerOf(deviceId: string): number;
  /** Swaps the plan. Open batches of stages that change are sealed and follow their old wires. Throws TypeError on a bad plan. */
  applyPlan(plan: PlanSpec): void;
  /** Opens the device listener of a source stage. Throws Error with `code` (EADDRINUSE, EACCES …). Returns the port. */
  listen(stage: number, options: ListenOptions): number;
  /** Closes the listener and its devices' connections. Records already accepted go on. */
  unlisten(stage: number): void;
  /**
   * Logins that wait for an answer, oldest first, each once; none whose connection is gone.
   * @param limit 1..10000; after so many there may be more, which do not ring again
   */
  takeLogins(limit: number): Login[];
  /**
   * @param device the id that it is let in as, 1 to 256 bytes; null refuses it (bad user name or password)
   * @returns false when nobody waits any more
   */
  answerLogin(id: number, device: string | null): boolean;
  /**
   * Sends a command to a device that is connected. The ticket comes back in takeCommandResults().
   * @param ticket 1..2^32-1, none that is out @param topic as the device gets it @param timeoutMs for its answer, 1..3600000
   */
  command(
    ticket: number,
    deviceId: string,
    topic: string,
    payload: Uint8Array,
    qos: 0 | 1,
    timeoutMs: number
  ): 0 | 1 | 2 | 3; // PushResult; 1 FULL: more than 65,536 are on their way or have a result that waits, or more bytes than a quarter of the memory
  /** What became of commands: [ticket, CommandEnd, …]. */
  takeCommandResults(): number[];
  /**
   * What happened to devices, in order for each. One event of a kind waits for a device, the latest; 65,536 wait in all, more are
   * counted as `eventsLost`: agents() tells the state.
   * @param limit 1..65536; after so many there may be more, which do not ring again
   */
  takeEvents(limit: number): DeviceEvent[];
  /** Devices by id, those behind `after` ('' = from the first), at most `limit` (1..10000): known ones, connected or not. */
  agents(after: string, limit: number): AgentInfo[];
  /**
   * Puts one record into a stage. class 0 = 3 (normal); tsMs 0 = now. With Flag.ENVELOPE the payload is a batch of
   * NDJSON lines and deviceId is empty. A ticket other than 0 comes back in takeCompletions(): for an uplink stage when the
   * cloud has acknowledged, for a source or ingest stage when the record is safe (EngineOptions.acknowledge). seq -1 = the device's next number; a
   * record that comes back from a message wire keeps the one that it has.
   */
  push(
    stage: number,
    deviceId: string,
    topic: string,
    payload: Uint8Array,
    recordClass: number,
    flags: number,
    tsMs: number,
    seq: number,
    ticket: number
  ): 0 | 1 | 2 | 3 | 4;
  /** What a priority stage would answer; used where a wire carries messages. */
  classify(stage: number, deviceId: string, topic: string, recordClass: number): RecordClass;
  /**
   * Copies waiting messages as frames (nodes/lib/base/frame.js) into `into`; returns bytes written, 0 = none left, or
   * -(needed) when the next frame is larger than `into`.
   */
  takeMessages(into: Uint8Array): number;
  /** Tickets that end, as [ticket, result, …]: 1 its record is safe, or acknowledged by the cloud; 0 it was dropped; 2 nothing holds it and it was never safe. */
  takeCompletions(): number[];
  /** Seals the open batches of a batch stage now; 0 = of all. */
  flush(stage: number): void;
  /** Everything that is not on disk is due, from now on: for the orderly end. Flush first. */
  saveAll(): void;
  /** First step of the end: no new devices, no more reading. */
  stopReading(): void;
  stats(): EngineStats;
  /** Stops the threads. Idempotent. What was still held is counted as dropped (`closed`). */
  close(): void;
}

/**
 * A connection to source stage `stage`, which must listen, of a device whose TLS or WebSocket ends here; any thread. Returns the near
 * end of a socket pair: what is written there is read as from a device's socket, in either direction with its back-pressure. The
 * descriptor is the caller's (`new net.Socket({fd})`). Throws Error with `code` (EMFILE, ENOTCONN: the stage does not listen).
 * @param token Engine.token
 */
export declare function openDeviceStream(token: number, stage: number, peer: StreamPeer): number;

/** A session's end of the engine; may live in another thread (worker_threads) than its Engine. */
export declare class UplinkSource {
  /**
   * @param token Engine.token  @param uplink number used in the plan's uplink stages
   * @param onDoorbell called on this thread when a batch became ready; coalesced.
   * @param classes that it serves, default all. Several sources may serve one uplink, but each class only one of them.
   *   The methods below are about these classes, and the batches taken here, alone.
   */
  constructor(token: number, uplink: number, onDoorbell: () => void, classes?: RecordClass[]);
  /** The session with the cloud is up or down: decides when batches are written. Down at first. */
  connected(up: boolean): void;
  /**
   * Class of the live batch that take() would take, 0 = none: one that got nothing for agingMs, else class 1, else by weights among all
   * sources of the uplink. A class that is ahead of one that waits at another connected source is held: it is not offered, and the
   * doorbell rings when that ends. Takes nobody's turn. onlyCritical: as if nothing but class 1 waited.
   */
  best(onlyCritical?: boolean): 0 | RecordClass;
  /** The same of the batches that were read back from the log. */
  bestBacklog(): 0 | RecordClass;
  /** Milliseconds until a class that waits for its rate alone, or is held, is to be looked at, -1 = none. Nothing may ring then. */
  retryMs(): number;
  /** The session is up, has room, and best() is 0: open adaptive batches are sealed as soon as they may be. */
  hungry(): void;
  /** m of the session's link for adaptive batches. 1024..65536. */
  setBatchBytes(bytes: number): void;
  /** Copies a batch that was taken and is not released, as take() does; -1 = there is none of this id. */
  look(id: number, into: Uint8Array, meta: Float64Array): number;
  /**
   * Takes the best live batch, or the best of the backlog: its bytes go to `into`, its head to `meta` (length ≥ 16).
   * Returns the payload's length, -1 = nothing ready, or -(needed + 2) when `into` is too small (nothing is taken).
   *
   * meta: 0 id, towards release() · 1 class · 2 record count · 3 stage id of the uplink node · 4 kind (0 one record, 1 envelope, 2 records)
   *       5 flags (Flag) · 6 first ts · 7 last ts · 8 seal reason (SealReason) · 9 boolean: sent before (redelivery)
   *       10 topic length · 11 device length; both strings precede the payload for kind 0: [device][topic][payload].
   *       The returned length counts them. kind 2 is a sequence of
   *       u8 flags, u8 device length - 1, u16 topic length, u32 payload length (little endian), device, topic, payload.
   *       12 epoch · 13 sequence: with the class they name the batch for ever · 14 boolean: backlog · 15 age of its oldest record, ms
   */
  take(into: Uint8Array, meta: Float64Array, backlog?: boolean, onlyCritical?: boolean): number;
  /**
   * The cloud acknowledged the batch, but for the records in `refused` (0-based; a line of an envelope is a record), which it
   * will never take: they become dead letters with code and reason, or are dropped (`refused`) where there is no log.
   * False: no such batch is out.
   */
  release(id: number, refused?: number[], code?: number, reason?: string): boolean;
  /** Age of the oldest live batch, taken or not, ms; -1 = none. */
  oldestMs(): number;
  /** Gives up the queue's end: batches taken and not released go back to the head of their lanes in order. */
  close(): void;
}

/** TLS of an UplinkWire. PEM, as text or bytes. A thread reads it anew when a byte of it is another than the last time. */
export interface UplinkTls {
  /** Whom to trust; may hold many certificates. */
  ca: string | Uint8Array;
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
  passphrase?: string;
  minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** SNI. */
  servername?: string;
  alpn?: string[];
}

export interface UplinkWireHandlers {
  /** It may be written to. With TLS: the chain of the certificate is good; whether it is the broker's is the caller's to check. */
  onOpen(): void;
  onBytes(bytes: Buffer): void;
  /** [identifier, reason code, …] of PUBACKs; when it is given they do not come to onBytes. */
  onPubacks?(pairs: Uint16Array): void;
  /** The kernel has taken all that was written. */
  onDrain(): void;
  /** Nothing comes any more. '' = the far end has ended it in order; else codes as those of Node's TLS and system errors. */
  onEnd(code: string, message: string): void;
  /** The express path has ended, land() is due. Why: stage, records, topic, size, backlog, refusal, slow. */
  onRough(why: string): void;
}

/** What the express path needs to know. */
export interface ExpressSpec {
  /** 0..3: the lowest is served first in each turn of the thread. */
  order: number;
  /** Packets in flight at most, 1..1024, and those of them for class 1 alone. */
  window: number;
  reserved: number;
  isV5: boolean;
  retainAvailable: boolean;
  /** A larger packet ends the path, bytes. */
  maxPacket: number;
  /** Nothing but class 1 is begun while the kernel has not taken so many bytes; that waits for the window alone. */
  maxUnsent: number;
  /** QoS 1. Topics by class (index 0 is unused), in parts: bytes, or what the record brings. */
  stages: {
    id: number;
    topic: (Uint8Array | 'device' | 'topic')[][];
    recordTopic: (Uint8Array | 'device' | 'topic')[][];
    keyRaw: Uint8Array;
    keyJson: Uint8Array;
  }[];
}

/**
 * The connection of a session to its broker, on a socket of openSocket(). While the express path is boarded the engine takes batches,
 * writes PUBLISH packets and releases what the broker acknowledges without JavaScript.
 */
export declare class UplinkWire {
  /** This process has an OpenSSL that the engine can use: Node exports it. */
  static readonly hasTls: boolean;
  /** Throws Error with `code` for keys and certificates that OpenSSL cannot use. */
  static checkTls(tls: UplinkTls): void;
  /**
   * @param fd connected; the wire's from now on, and closed by close() or the end of the thread. When it throws, fd is the caller's still.
   * @param tls null = plain
   */
  constructor(fd: number, tls: UplinkTls | null, handlers: UplinkWireHandlers);
  /** After onOpen. @returns whether the kernel has taken all; onDrain tells when it has. */
  write(bytes: Uint8Array): boolean;
  /** Whether onBytes is to be called. What was read already still comes, and an end is not heard meanwhile. */
  pause(paused: boolean): void;
  /** Ends our direction when all is sent. */
  finish(): void;
  /** Nothing is called any more. Idempotent. What the express path has in flight is known to land() and numbers() still. */
  close(): void;
  /** certificate: DER of the far end, with TLS. null = closed. */
  describe(): { fd: number; certificate?: Buffer; protocol?: string } | null;
  /** After onOpen. REQUIRES: nothing that was taken from the source is in flight, and best() and take() of it are left alone until land(). */
  board(source: UplinkSource, spec: ExpressSpec): void;
  /** Ends the path. [identifier, batch id, bytes of the packet, ms since it was sent, …] of what is in flight, in the order of sending. */
  land(): number[];
  /**
   * Of this boarding: [published, redelivered, acknowledged (packets), records, largest packet acknowledged, smoothed and least round trip in ms
   * (0 = not known), ms since the last acknowledgement (-1 = none), packets in flight, age of the oldest in ms (-1 = none), whether a later
   * one was acknowledged, whether there is no room, packets that were acknowledged and that no client had subscribed to].
   */
  numbers(into: Float64Array): void;
}

/** An uplink thread's turn is over: naps where the load wants it. records: that went in it. isWaiting: something waits for the next turn. */
export declare function restUplink(records: number, isWaiting: boolean): void;

/** What devices whose id matches may do (SourceSettings.permissions). */
export type Permission = { device: string; publish: string[]; subscribe: string[] };

/** The same permissions for a source that pushes its records: it asks before it pushes. */
export declare class Permissions {
  /** Throws TypeError that names the row. */
  constructor(rows: Permission[]);
  mayPublish(device: string, topic: string): boolean;
}

/** The store thread's end of an engine that was made with `log`; one at a time. */
export declare class StoreSource {
  /** @param onDoorbell called on this thread when due(), frees() or wanted() have something new; coalesced. */
  constructor(token: number, onDoorbell: () => void);
  /** The log is open: rows up to maxRow are of earlier runs and hold so many records by class ([0] unused). Before anything else. */
  opened(maxRow: number, records: number[]): void;
  /**
   * Milliseconds until take() has something, -1 = nothing before the doorbell rings. Answers the doorbell, which does not ring
   * again before that: call it in each turn before frees() and wanted().
   */
  due(): number;
  /**
   * Seals the next due chunk. Returns its length, -1 = none is due, or -(needed + 2) when `into` is too small (call again).
   * Bytes: [node name][reason][chunk body (docs/log-format.md)]. meta (length ≥ 10): 0 ticket · 1 class · 2 records · 3 batches ·
   * 4 first ts · 5 last ts · 6 kind (0 chunk, 1 dead letter) · 7 node name length · 8 reason length · 9 code
   */
  take(into: Uint8Array, meta: Float64Array): number;
  /** The chunk is on disk, durably; `row` is its id there. */
  committed(ticket: number, row: number): void;
  /** It is not, and the log holds nothing of it: it is given out again. */
  failed(ticket: number): void;
  /** The log is full and lets it go: counted as `logFull`, its devices are acknowledged; but what is in flight stays, unsaved. */
  dropped(ticket: number): void;
  /** Rows that may be deleted, as many as `into` holds; returns how many. They are handed over until freed(). */
  frees(into: Float64Array): number;
  /** All that were handed over are deleted. */
  freed(): void;
  /** A row was deleted to make room: what was not done of it is counted as `logFull`, and leaves memory unless it is in flight. */
  removed(row: number, recordClass: RecordClass, records: number): void;
  /** The log was set aside as damaged and begins anew: what is in memory is given out again, the rest is counted as `corrupt`. */
  lost(): void;
  /** The uplink node whose backlog is to be read, null = none. meta (length ≥ 3): 0 class · the first row in (1 after, 2 up to]. */
  wanted(meta: Float64Array): string | null;
  /** The row that was wanted. 'corrupt': it is not what was written; its records are counted so, and it is to be put aside. */
  loaded(row: number, records: number, body: Uint8Array): 'ok' | 'corrupt';
  /** There is no such row. */
  missing(): void;
  /** What was taken and not told about counts as not written. */
  close(): void;
}

/** What is not given is the system's. */
export interface UplinkSocketOptions {
  /** SO_PRIORITY, 0..6: the kernel's queues go by it (pfifo_fast: 6 first). More needs a privilege that a gateway should not have. */
  priority?: number;
  /** The mark of each packet for routers, 0..63. Set before the priority, which it would change. */
  dscp?: number;
  /** true: what is written leaves at once. */
  noDelay?: boolean;
  /** TCP_USER_TIMEOUT: the connection dies when sent data is not acknowledged for so long. 0..2147483647, 0 = the system's. */
  userTimeoutMs?: number;
  /** A silent connection is probed after this many seconds, then each keepIntervalS, keepCount times. 1..32767, 1..32767, 1..127. */
  keepIdleS?: number;
  keepIntervalS?: number;
  keepCount?: number;
  /** Bytes that may wait unsent in the kernel before it takes no more. 0..2147483647, 0 = the system's. */
  notSentLowat?: number;
  /** Bytes, SO_SNDBUF; the system doubles it, and limits it (net.core.wmem_max). 0..2147483647, 0 = the system's. */
  sendBuffer?: number;
  /**
   * TCP_CONGESTION, of all subflows: 1..15 bytes of a-z, 0-9, _ and -, such as cubic. In `unknown` when the system does not have it, or does not
   * grant it: for TCP without CAP_NET_ADMIN it has to be in net.ipv4.tcp_allowed_congestion_control.
   */
  congestion?: string;
  /** The interface that it leaves by, whatever the routes prefer (SO_BINDTODEVICE: Linux; needs CAP_NET_RAW before 5.7). 1..15 bytes. */
  device?: string;
  /** The address that it leaves from, of the family of the destination. */
  localAddress?: string;
  /** true: MPTCP [RFC 8684] where this kernel has it: see `noMptcp` of openSocket(), and mptcpInfo(). */
  mptcp?: boolean;
}

/**
 * Makes a TCP socket, sets the options, and begins to connect: `new net.Socket({fd, readable: true, writable: true})` when
 * waitConnect() says so. The descriptor is the caller's until then: closeSocket(), or the end of this thread, which closes what is
 * open still. `unknown`: options that this system or this kind
 * of socket does not know; the others are set. `noMptcp`: the code for which it is TCP though MPTCP was wanted (ENOPROTOOPT = switched off,
 * EPROTONOSUPPORT, EINVAL = not in this kernel), else ''. Throws Error with `code` (ENETUNREACH, ECONNREFUSED …); nothing is open then.
 * @param address IPv4 or IPv6 @param port 1..65535
 */
export declare function openSocket(
  address: string,
  port: number,
  options: UplinkSocketOptions
): { fd: number; unknown: string[]; noMptcp: string };
/**
 * Resolves when the socket is connected; rejects with `code` ECONNREFUSED, ETIMEDOUT …, ECANCELED after closeSocket(), EEXIST when
 * somebody waits already. The descriptor stays open, unless the thread ends meanwhile. REQUIRES: no net.Socket owns it.
 * @param timeoutMs 1..2147483647
 */
export declare function waitConnect(fd: number, timeoutMs: number): Promise<void>;
/** For a socket that no net.Socket owns: that one closes it itself. Throws Error with `code` when it is no socket. */
export declare function closeSocket(fd: number): void;

/** -1 = not known here. */
export interface UplinkSocketInfo {
  priority: number;
  dscp: number;
  /** Smoothed round trip. */
  rttUs: number;
  /** In the kernel, not sent yet. */
  unsentBytes: number;
  /** Sent, not acknowledged yet. */
  unackedBytes: number;
  bytesAcked: number;
  /** Segments that were sent again. */
  retransmits: number;
  localAddress: string;
}
/** Throws Error with `code` when it is no socket. localAddress: '' = not known. */
export declare function socketInfo(fd: number): UplinkSocketInfo;

/** -1 = not known here. */
export interface Subflow {
  /** '' = not known. */
  local: string;
  remote: string;
  /** As in <netinet/tcp.h>: 1 = established. One that was deleted may stay listed, with 7. */
  state: number;
  /** Smoothed round trip. */
  rttUs: number;
  /** Segments that were sent again. */
  retransmits: number;
  bytesSent: number;
  bytesAcked: number;
  /** Segments on their way. */
  unacked: number;
}
export interface MptcpInfo {
  /**
   * 'tcp': MPTCP was not asked for, or this system has none · 'fallback': it was, and the far end, or something on the way, does not speak it ·
   * 'unknown': this kernel (before 5.16) does not tell. All but 'mptcp' have one subflow: the connection.
   */
  transport: 'mptcp' | 'fallback' | 'tcp' | 'unknown';
  /** Of the connection, as `ip mptcp monitor` has it; 0 without MPTCP. */
  token: number;
  subflows: Subflow[];
}
/** Of a socket that is connected. Throws Error with `code` when it is no socket. */
export declare function mptcpInfo(fd: number): MptcpInfo;
/**
 * Gives each subflow that there is now the connection's SO_PRIORITY. The kernel copies the options of an MPTCP socket to a new subflow, the
 * priority before IP_TOS, and that changes the priority of the packets. Throws Error with `code` when `fd` is no socket.
 */
export declare function renewPriority(fd: number): void;

export declare const SealReason: readonly ['single', 'bytes', 'delay', 'flush', 'plan', 'hungry'];
/** Names of the classes; index = class. */
export declare const classNames: readonly ['', 'critical', 'high', 'normal', 'bulk', '5', '6', '7', '8'];
