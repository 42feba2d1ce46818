// Types of the native engine, the data plane: sockets, MQTT, classes, batches.
// Numbers are plain JS numbers; times are milliseconds since the epoch; sizes are bytes unless the name says MiB.

/** Record class. 1 is the most urgent. Names: 1 critical, 2 high, 3 normal, 4 bulk; 5 to 8 have none. */
export type RecordClass = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

export interface EngineOptions extends LogOptions, ClassOptions {
  /** Worker threads; 0 = one for each allowed core except the first, at least 1. Range 0..64. */
  workers?: number;
  /** Cores that workers may use, as a list such as "1-3,5"; empty = all allowed cores except the first. */
  cpus?: string;
  /** Budget for records in memory, MiB. Above it, the engine slows devices. Default 64, range 1..65536. */
  memoryMiB?: number;
  /** Largest MQTT packet that the engine accepts from a device. Default 262144, range 1024..16777216. */
  maxPacketBytes?: number;
  /** Maximum number of devices with an open connection. Default 10000. */
  maxDevices?: number;
  /** Ring between each worker and Node-RED's messages, MiB per worker. Default 4, range 4..1024. */
  messageRingMiB?: number;
  /**
   * A worker with 32 or more devices that recently received four or more events per interval wakes up at most once in
   * this interval, microseconds: more latency, far less CPU time. Default 800, 0 = off, range 0..100000.
   */
  wakeIntervalUs?: number;
  /**
   * 'live': a worker that stays busier than another hands devices over to it, including connected ones, up to 1 % of
   * all devices each 5 s; 'off' (default): a device stays with the worker that its hash selects. No effect with one
   * worker.
   */
  rebalance?: 'off' | 'live';
  /**
   * Topics and device ids that begin with $ or contain a character that MQTT lets a receiver refuse (5.0, 1.5.4):
   * 'refuse' (default) refuses them from devices and push(), because a broker may close the connection on such a
   * record; 'accept' allows them.
   */
  oddTopics?: 'refuse' | 'accept';
  /**
   * Memory for the last value of each device and topic, MiB: values(). When it is full, the values that were renewed
   * least recently are evicted (`valuesEvicted`). Default 0 = none are kept, range 0..1024.
   */
  valuesMiB?: number;
  /** Topics of one device with a last value; one more evicts its least recent one. Default 256, range 1..1024. */
  valueTopics?: number;
  /** Filters of topics without last values, at most 64. */
  valuesNotKept?: string[];
}

/** How the classes share the capacity towards the cloud, and the limits of each class. Arrays by class, [0] unused. */
export interface ClassOptions {
  /**
   * Share, in bytes, of the capacity that class 1 leaves when several classes wait, across all sessions. [1] unused.
   * Default [0, 0, 8, 4, 1 …], range 1..1000.
   */
  weights?: number[];
  /**
   * A class other than 1 that has waited this long without sending anything sends one batch ahead of every other class
   * of its session, including class 1, ms. In that time, class 1 therefore waits for at most one batch of each other
   * class of its session. Default 5000, 0 = off, range 0..3600000.
   */
  agingMs?: number;
  /**
   * Records that waited longer, in memory or in the log, are dropped and counted (`expired`), s. Records in flight are
   * not dropped. 0 = never.
   */
  ttlS?: number[];
  /**
   * Records per second to the cloud, live and backlog together, in bursts of at most 50 ms of the rate or one batch. 0
   * = no limit. Range 0..10000000.
   */
  ratePerS?: number[];
  /**
   * Maximum number of records of the class in memory; see whenFull. Above half of it, records are written to the log
   * and then leave memory. 0 = no limit for the class.
   */
  queueRecords?: number[];
}

/** When records are acknowledged, and which of them are written to disk. */
export interface LogOptions {
  /**
   * When a device gets its PUBACK: 'received' (default) at once, from memory; 'safe' when every copy of the record is
   * on disk or acknowledged by the cloud, whichever comes first; 'stored' when it is on disk, which requires `log`;
   * 'replicated' when each copy is acknowledged by the cloud, see setDiskCounts().
   */
  acknowledge?: 'safe' | 'stored' | 'received' | 'replicated';
  /**
   * True if a StoreSource serves this engine. Otherwise nothing is written, and 'safe' waits only for the cloud.
   * Default false.
   */
  log?: boolean;
  /**
   * How long records of classes 1 and 2 that must be written wait for others, so that they are written together, ms.
   * Default 10, range 0..1000.
   */
  lingerUrgentMs?: number;
  /** The same for the other classes. Default 50. */
  lingerMs?: number;
  /**
   * A batch that the cloud has not acknowledged after this long is written, ms; earlier only while the cloud is
   * unreachable. Default 1000, range 0..60000.
   */
  patienceMs?: number;
  /**
   * When memory or a class's queueRecords is full: 'slow' (default) stops reading from devices whose latest record was
   * of such a class; 'drop' drops the oldest records of the least urgent class, or of the class that is full. Records
   * on disk leave memory and are not dropped.
   */
  whenFull?: 'slow' | 'drop';
  /** Identifies this run in deduplication keys. Default: milliseconds since 1970 times 1024, plus a random part. */
  epoch?: number;
}

export interface WorkerInfo {
  index: number;
  /** Thread id as in /proc/PID/task. */
  tid: number;
  /** The core that the thread is pinned to; -1 = not pinned. */
  cpu: number;
  /** Why the thread is not pinned; empty if it is. */
  reason: string;
  /** Capacity of its core, 1..1024; the strongest core in use has 1024. The worker gets devices in proportion. */
  capacity: number;
}

/** The load of each worker, and the moves that balanced it. */
export interface PlacementStats {
  /** Slots (of the 1,024 that devices are hashed to) that moved to another worker. */
  moved: number;
  /** Slots whose move was undone because something of their devices was in flight for too long. */
  undone: number;
  /**
   * By worker index: CPU time divided by elapsed time over the last second, 0..1; open device connections; slots; ms
   * since the thread last made progress, which it does several times a second (-1 = it is starting).
   */
  workers: { busy: number; connections: number; slots: number; silentMs: number }[];
}

export interface Rule {
  /** MQTT topic filter (+ and # as in MQTT 3.1.1, 4.7), matched against the record's topic; absent = any topic. */
  topic?: string;
  /** Device glob (* any run, ? one character), matched against the whole device id; absent = any device. */
  device?: string;
  /** Condition on the payload, as in docs/reference/rules.md, at most 1024 bytes; absent or '' = any payload. */
  when?: string;
  class: RecordClass;
}

export type BatchMode = 'envelope' | 'records' | 'off';

/** How a source handles its devices. */
export interface SourceSettings {
  /** Names the source in saved sessions of its devices, the same at each start; at most 64 bytes. '' = not saved. */
  name?: string;
  /** Protocol of the devices. Default 'mqtt'; 'pushed': JavaScript adds their records with push(). */
  protocol?: 'mqtt' | 'coap' | 'pushed';
  /**
   * Records per second of one device; 0 = no limit (default). MQTT packets without a record (SUBSCRIBE, PINGREQ …)
   * count too. Above the limit, the engine stops reading from an MQTT device for a while, and answers a CoAP device
   * with 4.29. Range 0..1000000.
   */
  rate?: number;
  /**
   * True: a record that leaves as a message is acknowledged when endDeferrals() reports its delivery; default false:
   * when takeMessages() can return it. While 10,000 records of an engine wait, such sources do not accept more.
   */
  delivered?: boolean;
  /** Records that a device may send at once, 0 = as many as in a second. Default 0. */
  burst?: number;
  /**
   * Topic of the records that report when a device connects or leaves; '' (default) = none. {device} stands for its id,
   * whose + and # become _. Payload: JSON {"state":"connected"|"disconnected","protocol":…}, with "reason" as in
   * DeviceEvent if disconnected. At most 1024 bytes, no wildcards. There are no such records when the engine stops.
   */
  presenceTopic?: string;
  /**
   * True: the device ids of the source are 'part:name' (see the stage kind 'split'), and a device without a part is
   * refused. A device uses only its name in topics and CoAP paths, and {device} stands for the name; `devices`,
   * `permissions` and `bridges` match the whole id. A login, StreamPeer.device and DTLS give whole ids. Default false.
   */
  parted?: boolean;
  /** With parted: the part of devices that prove no id; at most 64 bytes. Default '': they are refused. */
  part?: string;
  /**
   * MQTT 5 user property, or CoAP query parameter, in which a device may name the class of a record: 1 to 8, or a name.
   * '' = none. Default 'priority'. Values that are not a class are ignored.
   */
  classProperty?: string;
  /**
   * The first row whose device (id or glob) matches defines what a device may do; a device that matches no row may do
   * nothing. Without rows, everything is allowed. At most 1024 rows of 64 filters each. {device} in a filter stands for
   * the id; such a filter allows nothing for an id with +, # or /.
   */
  permissions?: Permission[];
  /**
   * MQTT: where a client that speaks for many devices names the device of a message, in the `topic` (a filter with
   * {device} as one whole level; at most 1024 bytes) or in a `member` (path in a JSON payload, as in
   * docs/reference/rules.md, to a string or a number). `device` is the client's id or a glob. Of the rows that match
   * the client, the first that finds an id in a message applies; without one, the message is the client's own. So it is
   * (notSpokenFor) if the id has a connection, an observation or a proof of its own, or another connected bridge spoke
   * for it in the last 60 s. At most 64 rows, 10,000 devices behind a bridge, and together half of a worker's devices.
   */
  bridges?: { device: string; topic?: string; member?: string }[];
  /** MQTT: clients that may read the records of all devices; the first row that matches applies. At most 64. */
  subscribers?: SubscriberRow[];
  /** MQTT 5: QoS 1 and 2 packets that a device may have unacknowledged. 1..65535, default 1024. */
  receiveMaximum?: number;
  /** MQTT 5. 0..1024, default 16. */
  topicAliasMaximum?: number;
  /**
   * Longest keep-alive, s; 0 (default) = the device's own. 0..65535. MQTT 5 devices are informed, others are held to
   * it.
   */
  keepAliveMaxS?: number;
  /** Longest time that the session of a device that left is kept, s. 0..604800, default 3600. */
  sessionExpiryMaxS?: number;
  /** CoAP: records are posted to /{path}/{device}/{topic}. Default 'r'. 1..128 bytes. */
  path?: string;
  /** CoAP: commands are observed at /{commandPath}/{device}. Default 'cmd'. */
  commandPath?: string;
  /** CoAP: largest block-wise upload. 1024..16777216, default 262144. */
  maxBodyBytes?: number;
}

export type Aggregate = 'first' | 'last' | 'min' | 'max' | 'mean' | 'sum' | 'count';

/**
 * Which records a filter passes. Those that do not pass are acknowledged and counted (StageCounters.filtered). Only the
 * properties of its mode apply. A filter remembers at most 16,384 devices and topics per worker: one more evicts the one
 * that was seen least recently, whose next record then passes. What it knows of a device is lost when the device moves
 * to another worker; a window then ends early.
 */
export interface FilterSettings {
  /**
   * 'pass', 'block': records for which the condition holds, or does not; 'change': report by exception, by device and
   * topic; 'rate': at most `records` in each `periodS` of each device; 'range': records whose value lies in a range;
   * 'window': one record for each window of a device and topic, with the aggregates of its records
   * (docs/reference/rules.md). A record without any of the values passes.
   */
  mode: 'pass' | 'block' | 'change' | 'rate' | 'range' | 'window';
  /** pass, block: condition on the payload, 1..1024 bytes (docs/reference/rules.md). */
  when?: string;
  /** change, range: path of the value, default '$' (the whole payload). */
  path?: string;
  /**
   * change: a number must differ by more than this from the one that passed last, default 0; other values must differ
   * at all. A record without a value at the path passes.
   */
  band?: number;
  /** change: true if `band` is in percent of the number that passed last. */
  percent?: boolean;
  /** change: a record passes if none has passed for this long, s; 0 (default) = only changes. 0..86400. */
  everyS?: number;
  /** rate: 1..1000000, default 1. */
  records?: number;
  /** rate: s, 1..86400, default 1. A period begins with a record. */
  periodS?: number;
  /** window: paths of the values, 1 to 16, each also its name in the payload. */
  values?: string[];
  /** window: default all. */
  aggregates?: Aggregate[];
  /** window: its length, s. 1..86400, default 60. */
  windowS?: number;
  /** window: it also ends when it has this many records; 0 (default) = only by time. 0..1000000. */
  windowRecords?: number;
  /** window: true: it begins and ends at multiples of its length since 1970, UTC; false (default): with a record. */
  aligned?: boolean;
  /** window: class of its record; 0 (default) = the most urgent one of its records. 0..8. */
  windowClass?: number;
  /**
   * window: true: its records are acknowledged when the window's record is safe; false (default): at once, so a crash
   * loses the open windows. With true, a window ends early when 512 of its records wait.
   */
  hold?: boolean;
  /** range: low <= value <= high; ±Infinity = open. Anything but a number does not pass. */
  low?: number;
  high?: number;
}

/**
 * Forecasts the value of each series, which is a device and topic, from its season (docs/use/forecast.md). Records pass;
 * an anomaly gets another class.
 */
export interface ForecastSettings {
  /** Default 'holtWinters': level, damped trend and season, additive. A change of the first four forgets all. */
  model?: 'seasonalNaive' | 'holtWinters';
  /** Path of the value, default '$' (the whole payload). */
  path?: string;
  /** Length of the season, s: slots..31622400, default 86400. */
  periodS?: number;
  /** Slots of a season: 2..1024, default 24. */
  slots?: number;
  /** A value farther than this from its forecast is an anomaly, in standard deviations: 1..100, default 4. */
  sigmas?: number;
  /** A deviation up to this is no anomaly, in the unit of the value. Default 0. */
  least?: number;
  /** Class of anomalies, unless theirs is more urgent: 0..8, default 1; 0 = theirs. */
  forecastClass?: number;
  /** True: messages of this stage have the member `forecast`. */
  annotate?: boolean;
  /** Series that it knows, 1..1000000, default 10000; with their slots at most 256 MiB. */
  maxSeries?: number;
  /** True: it begins when restoreForecasts() has ended, and records pass unscored until then. Default false. */
  restores?: boolean;
}

/** What a forecast stage counted. */
export interface ForecastCounters {
  /** Values that were compared or learned. */
  points: number;
  /** Of these: anomalies, values without a trusted forecast, values of an earlier slot, which were not learned. */
  anomalies: number;
  untrusted: number;
  late: number;
  /** Values of series for which there was no room. */
  refused: number;
  /** Records without a number at the path, and records before the stage began. */
  skipped: number;
  /** Series known now, and the bytes of their tables. */
  series: number;
  bytes: number;
  /** False while records pass unscored: ForecastSettings.restores. */
  begun: boolean;
}

/** What a forecast stage knows of a series now. */
export interface ForecastView {
  /**
   * Why a value of now has no trusted forecast; '' = it has. seasons: fewer than three are complete; slots: too few slots
   * had values; shift: the level is another one, and is set again; slot: this slot never had a value.
   */
  doubt: '' | 'seasons' | 'slots' | 'shift' | 'slot';
  /** Seasons since the first value, and slots that had values; both end at 65,535 slots. */
  seasons: number;
  learned: number;
  /**
   * For each step: what is expected, and the limits of nine of ten values; null beyond the range of numbers. For the
   * past, with what was learned since. Empty before a season is complete.
   */
  bands: { expected: number | null; low: number | null; high: number | null }[];
  /** Those among the latest 256 anomalies of each worker. */
  anomalies: { ts: number; value: number }[];
}

/** What a ForecastTable expects of a series in the slot of a time. */
export interface ForecastExpectation extends Pick<ForecastView, 'doubt' | 'seasons'> {
  /** What is expected, and the limits of nine of ten values; null before a season is complete. */
  expected: number | null;
  low: number | null;
  high: number | null;
}

/**
 * The series of a forecast stage without a stage, for numbers that are no records. The settings are those of a stage;
 * path, class and annotation are not used. Memory: 4 bytes for each slot, and 75, for each series.
 */
export class ForecastTable {
  /**
   * @param content of save(), null = nothing was learned. Throws TypeError for settings out of range.
   */
  constructor(settings: ForecastSettings, content: Uint8Array | null);
  /** 'other': the content is of another model, and is not used. 'damaged': what precedes the damage is used. */
  readonly restored: 'done' | 'other' | 'damaged';
  /**
   * Compares a value with its forecast, and learns it. Throws TypeError for no number or one beyond 1e30.
   * @param ts ms since 1970
   * @returns false if there is no room for the series
   */
  observe(device: string, topic: string, value: number, ts: number): boolean;
  /** @param at ms since 1970, not before the last value. Returns null for an unknown series. */
  look(device: string, topic: string, at: number): ForecastExpectation | null;
  /** Returns all that was learned, with the header that names the model. */
  save(): Buffer;
}

/** Where saveForecasts() goes on. */
export interface ForecastCursor {
  part: number;
  before: number;
}

/**
 * One node of the data path. `id` is a number that the caller keeps stable for a Node-RED node while the engine runs.
 * `next` lists the stages that get this stage's output natively. `messages` requests its output as messages, too.
 */
export type StageSpec = { id: number; next: number[]; messages: boolean } & (
  | ({
      kind: 'source'; // devices; listen() opens their listener
      /**
       * Registered devices: the class of a device's records before any priority stage; 3 if there is none. The first
       * row that matches applies; `device` is an id or a glob, as in Rule, of 1 to 256 bytes. At most 10000 rows, 1024
       * of them with * or ?.
       */
      devices?: { device: string; class: RecordClass }[];
    } & SourceSettings)
  | { kind: 'ingest' } // records pushed from JavaScript
  | { kind: 'priority'; rules: Rule[]; defaultClass: 0 | RecordClass } // 0 keeps the class of the record
  | {
      kind: 'batch';
      mode: BatchMode;
      format: 'ndjson';
      /**
       * 'limits' (default): n, m and t of the paper. 'adaptive': a batch leaves when its uplink has room and nothing to
       * send, or at t or the m of its link; n does not apply, and maxBytes is the upper limit of m. 'balanced' and
       * 'thrifty': the same, but a batch first waits to save bytes (core/queue/thrift.h).
       */
      flush?: 'limits' | 'adaptive' | 'balanced' | 'thrifty';
      /**
       * Balanced and thrifty: how long a record may take from its arrival to its acknowledgement because of that, by
       * class, ms; [0] is unused. Default 0 = does not wait, 0..86400000.
       */
      patienceMs?: number[];
      /**
       * Adaptive: the time between two batches of a class on a worker, unless m is reached first, ms, at 3,000 or more
       * records a second of that class; proportionally less below. The first batch after a pause leaves at the end of
       * its wake-up. Default 2, 0..1000.
       */
      gapMs?: number;
      /** Paper's n: batching starts at this many connected devices and stops below 90 % of it. 0 = always batch. */
      minDevices: number;
      /** Paper's m: a batch is sealed before it would exceed this many bytes on the network. 1..1048576. */
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
      /** Name under which the log keeps its batches, across runs; at most 64 bytes. */
      name?: string;
      /** Records have their own ts and seq after the payload (flag 16, docs/reference/log-format.md). Default false. */
      stamps?: boolean;
    }
  | { kind: 'tap'; everyN: number; perSecond: number } // 0 = no limit of that kind; only sampled records pass
  | ({ kind: 'filter' } & FilterSettings)
  | ({ kind: 'forecast' } & ForecastSettings)
  | {
      /**
       * Passes a record of the device 'part:name' to the stage of `next` that belongs to its part, as device 'name'. The
       * part is what precedes the first ':'. A record without a part of this list is not taken (drop reason noPart), nor
       * is one of a part above its limits (partFull). On the side of the device (receipts, commands, statistics) the
       * whole id stays. A later plan may change the parts: records of parts that stay keep their order and open batches.
       */
      kind: 'split';
      /** One for each stage of `next`: unique names of 1 to 64 bytes without ':'. At most 1024. */
      parts: string[];
      /** Records per second of all devices of a part, 0 = no limit. A second's worth may come at once. 0..1000000. */
      rates?: number[];
      /**
       * Bytes of a part that may wait for its uplinks, in memory and in the log together, 0 = no limit. 0..2^50. Open
       * batches do not count.
       */
      budgets?: number[];
    }
);

export interface PlanSpec {
  /** At most 4096. */
  stages: StageSpec[];
}

/** PEM files and keys of a DTLS listener. Invalid ones throw an Error with OpenSSL's code. */
export interface DtlsOptions {
  cert?: string | Buffer;
  key?: string | Buffer;
  passphrase?: string;
  /** Signs the devices' certificates. Required unless deviceCertificate is 'no'. */
  ca?: string | Buffer;
  /** Pre-shared keys, 1 to 64 bytes, of the identities at the same index. With them, a device needs a key or certificate. */
  identities?: string[];
  keys?: Buffer[];
  deviceCertificate?: 'no' | 'wanted' | 'required';
  /** The device id in a certificate: its common name (default), or its first alternative name. */
  idFrom?: 'cn' | 'san';
  /**
   * What the part of a proven device id is (SourceSettings.parted): 'none' (default): nothing; 'fixed': `part`;
   * 'identity': what precedes the first / of a key's identity, and the rest is the name; 'organization': the only
   * organization of the certificate. A device without it is refused.
   */
  partFrom?: 'none' | 'fixed' | 'identity' | 'organization';
  /** 1 to 64 bytes without ':'. */
  part?: string;
}

export interface ListenOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /**
   * 'tcp' (default); 'udp' (CoAP): a socket on every worker; 'streams': no port, connections come only from
   * openDeviceStream(); 'dtls' (CoAP): as 'udp', with DTLS 1.2.
   */
  transport?: 'tcp' | 'udp' | 'streams' | 'dtls';
  /** Required with 'dtls', where connectTimeoutMs and maxHalfOpen are those of handshakes. */
  dtls?: DtlsOptions;
  /** 'dtls': a session ends after this silence, s. Default 86400, range 1..2592000. */
  sessionIdleS?: number;
  /** Connections whose login is not complete after this long are closed, ms. Default 10000. */
  connectTimeoutMs?: number;
  /**
   * MQTT: 'open' (default) accepts every client; 'ask': each login goes to takeLogins() and waits for answerLogin().
   */
  login?: 'open' | 'ask';
  /**
   * Maximum number of connections of this listener without a completed login. One more, or one over maxDevices, closes
   * the oldest of them. Default 8192, range 1..65536.
   */
  maxHalfOpen?: number;
  /**
   * 'tcp': addresses and networks such as 10.0.0.7 or 10.0.0.0/8, at most 64. A connection from one of them begins with
   * a PROXY header (version 1 or 2), which names the device's address; without one it is closed (`noProxyHeader`).
   */
  proxies?: string[];
  /** CoAP over TCP and streams, login 'open': requests go to takeDesk(). */
  desk?: DeskOptions;
}

/**
 * A listener whose requests go to JavaScript (the request desk). Its connections begin without a device;
 * identifyConnection() gives them one. Until then, requests that do not go to the desk get 4.01, except
 * /.well-known/core.
 */
export interface DeskOptions {
  /**
   * Requests whose path begins with one of these go to the desk: segments separated by /, '' = all requests. At most 64,
   * of 256 bytes.
   */
  prefixes: string[];
  /** True: the first message need not be a CSM (RFC 8323 5.3). Default false. */
  csmOptional?: boolean;
  /** Critical options beyond those of RFC 7252 that these requests may have; others get 4.02. At most 64. */
  knownOptions?: number[];
  /**
   * A connection that is silent for this long gets a Ping, and is closed after the same time again, s. Default 20, 0 =
   * never, range 0..86400.
   */
  pingS?: number;
  /** A connection without a device is closed after this time, ms. Default 10000, range 1..3600000. */
  identifyTimeoutMs?: number;
  /** Bytes that a connection without a device may send. Default 8192, range 64..1048576. */
  maxBytesBefore?: number;
  /** Requests of a connection without a device that have no answer; one more gets 5.03. Default 8, range 1..1024. */
  maxAskedBefore?: number;
  /** The same with a device. Default 64. */
  maxAsked?: number;
  /** Observations of a connection that the desk serves; one more is answered without Observe. Default 256. */
  maxObservers?: number;
  /** Requests to a device that have no answer; one more gets 5.03. Default 32, range 1..1024. */
  maxAsks?: number;
  /** Observations at a device. Default 64, range 0..4096. */
  maxObservations?: number;
  /** Requests that pass from one device's connection to another's without JavaScript. Default: none. */
  forward?: ForwardOptions;
  /** Posts to topics that become records without JavaScript (openTopic). Default: none. */
  posts?: PostOptions;
}

/**
 * A POST to /{prefix}/{topic} is a record of the connection's device if its owner's topic is open (openTopic) and its
 * session lasts (forwardUntilMs). It gets 2.04 when the record is safe, and the limits and refusals are those of records
 * that are posted to {CoAP path}/{device}. All other requests go to takeDesk(): those with a query, with an option of
 * blocks, Observe, No-Response or another option that is not listed, and those with another body.
 */
export interface PostOptions {
  /** Segments separated by /. 1 to 256 bytes. */
  prefix: string;
  /** Values that Accept and Content-Format may have, if they are present. At most 64. */
  formats: number[];
  /** Other options that such a request may have. At most 64. */
  ignoredOptions: number[];
  /**
   * The body is a CBOR map with text keys and no tags: its most bytes (default 65536), maps and arrays in one another
   * (16), and items (8192).
   */
  body: { bytes?: number; depth?: number; items?: number };
}

/**
 * A request to /{prefix}/{device}/{path} goes to the device as a request to /{path}, if both connections have devices of
 * this listener and the asking one's owner has the other device, or a grant (grantConnection). All other requests go to
 * takeDesk(): those with Observe, to devices without a connection, without a right, with options of another form. The
 * failures of askDevice() are answers here, too: 5.03 and 5.04.
 */
export interface ForwardOptions {
  /** Segments separated by /. 1 to 256 bytes. */
  prefix: string;
  /** For the device's answer. Default 10000, range 1..3600000. */
  timeoutMs?: number;
  /** Options that pass to the device, with their size in bytes, and how often they may occur. Others are left out. */
  options: [number: number, leastBytes: number, mostBytes: number, times: number][];
  /** Uri-Query options of a request. Default 32, range 0..128. */
  mostQueries?: number;
  /** Options that pass back. Location-Path gets /{prefix}/{device}. */
  answerOptions: number[];
  /**
   * The one content format of the devices, `value`: requests get it as Accept and Content-Format, each with a `version`
   * in an option beside it. Peers may name `alias` instead; those that accept it get it in the answer. Only peers that
   * send one of the two options get `contentOption`.
   */
  format?: { value: number; alias: number; acceptOption: number; contentOption: number; version: number };
}

/** Something that a request desk learns. */
export type DeskEvent =
  | {
      /** A request; answerRequest() must follow. */
      kind: 'asked';
      connection: number;
      /** '' = the connection has no device. */
      device: string;
      address: string;
      /** StreamPeer.note. */
      note: string;
      /** The method, 1..7. */
      code: number;
      token: Buffer;
      path: string[];
      query: string[];
      /** In ascending order, without those of the URI and of blocks. */
      options: [number, Buffer][];
      payload: Buffer;
    }
  | { kind: 'gone'; connection: number; device: string; reason: string }
  | {
      /** Of askDevice(). */
      kind: 'answer';
      handle: number;
      code: number;
      options: [number, Buffer][];
      payload: Buffer;
      /** False: notifications follow. */
      last: boolean;
      /** True: it is not of the device; the payload is a sentence of the gateway. */
      failed: boolean;
    }
  | {
      /** Of recordOfConnection(): 0 safe, 1 full, 2 not allowed, 3 not taken, 4 unknown, the connection ended. */
      kind: 'recorded';
      handle: number;
      result: 0 | 1 | 2 | 3 | 4;
    }
  | {
      /** A post to a topic of followTopic(), in the order of the topic's numbers; `handle` is the topic. */
      kind: 'posted';
      handle: number;
      number: number;
      payload: Buffer;
    }
  | {
      /** Of askLatestPost(): the latest post; number 0 = there is none. */
      kind: 'latest';
      handle: number;
      number: number;
      payload: Buffer;
    };

/** A request to a device. */
export interface DeviceRequest {
  /** 1 GET, 2 POST, 3 PUT, 4 DELETE, 5 FETCH, 6 PATCH, 7 iPATCH. */
  method: number;
  /** At most 128 segments of 255 bytes. */
  path: string[];
  query: string[];
  /** In any order; those of the URI, of blocks and Observe are ignored. At most 256, of 1034 bytes. */
  options: [number: number, value: Uint8Array][];
  payload: Uint8Array;
  /** Requests with the same method, path, query and Accept share one observation at the device. */
  observe: boolean;
}

/** A pending login of a client. */
export interface Login {
  /** Argument of answerLogin(). */
  id: number;
  stage: number;
  clientId: string;
  user: string | null;
  password: Buffer | null;
  /** Address of the peer, such as 192.0.2.7:40312; for a stream, the address given to openDeviceStream(). */
  address: string;
}

/** A connection whose TLS or WebSocket terminates in JavaScript. */
export interface StreamPeer {
  /** For display, at most 256 bytes. */
  address: string;
  /** The device that the peer has proven to be (certificate, pre-shared key); it needs no login then. */
  device?: string;
  /** For a request desk: DeskEvent.note. At most 4096 bytes. */
  note?: string;
}

/** The outcome of a command. */
export declare const CommandEnd: Readonly<{
  /** The device acknowledged the command; QoS 0: the command was sent. */
  TAKEN: 0;
  /** The device has no connection. */
  OFFLINE: 1;
  /** The device is connected, but no subscription (or observation) matches. */
  NOT_LISTENING: 2;
  /** There was no acknowledgement in time; the command may still reach the device. */
  TIMEOUT: 3;
  /**
   * The connection and its session ended first: it is unknown whether the device has the command. A command of a
   * session that is kept is sent again on the next connection, and then ends as TAKEN or TIMEOUT.
   */
  GONE: 4;
  /** The device refused the command. */
  REFUSED: 5;
  /** The command exceeds the packet size of the device. */
  TOO_LARGE: 6;
  /** Too many commands of this device are in flight: try again. */
  BUSY: 7;
}>;

export interface DeviceEvent {
  kind: 'connected' | 'disconnected' | 'listening';
  device: string;
  /** Stage of its source. */
  stage: number;
  worker: number;
  /** Why it disconnected: closed, protocol, keepAlive, takenOver, stopped, expired. */
  reason: string;
  address: string;
}

/** An agent: what a worker knows about a device. */
export interface AgentInfo {
  device: string;
  stage: number;
  worker: number;
  connected: boolean;
  /** True if the device has a subscription or observes its commands. */
  listening: boolean;
  /** Filters by which it reads the records of other devices; 0 = it is no local subscriber. */
  reads: number;
  /** Records that were dropped for it on this connection, because it read too slowly. */
  drops: number;
  /** Class of its latest record; 0 = none yet. */
  class: 0 | RecordClass;
  records: number;
  bytes: number;
  /** Records per second over the last seconds. */
  ratePerS: number;
  /** Milliseconds since the device was last heard from. */
  silentMs: number;
  address: string;
  /** Id of the bridge that the device is behind (SourceSettings.bridges), '' = none. */
  bridge: string;
}

/** Names a last value; values are in the order of the bytes of device and topic. */
export interface ValueKey {
  device: string;
  topic: string;
}

/** Which last values to return. Each call looks at 4,096 values of each worker at most, 512 with `search`. */
export interface ValueQuery {
  /** Those after this one; null (default) = from the first. No effect with `since`. */
  after?: ValueKey | null;
  /** 1..1000, default 100. */
  limit?: number;
  device?: string;
  /** Topic filter. */
  filter?: string;
  /** Text in the device, the topic or the payload, without regard to the case of ASCII letters. */
  search?: string;
  /** The values that were renewed after this time, which is `at` of an earlier page, newest first. */
  since?: number;
}

/** The last value of a topic of a device. */
export interface DeviceValue extends ValueKey {
  /** Time of the record, ms since 1970. */
  ts: number;
  /** 0 = none: nothing took the record. */
  class: 0 | RecordClass;
  seq: number;
  /** Bytes of the payload. */
  size: number;
  /** Text if it is UTF-8; null = it has over 1,024 bytes, and only its size is kept. */
  payload: string | Buffer | null;
  /** The payload if it is a number, or the first number in its JSON other than members ts, time, timestamp. */
  number: number | null;
  /** The first number of each minute of the last hour, 60 of them, oldest first; null = never any. */
  line: (number | null)[] | null;
  /** True if it is of an earlier run. */
  restored: boolean;
}

export interface ValuePage {
  values: DeviceValue[];
  /** `after` of the next page, which may be empty; null = last page, or a page with `since`. */
  next: ValueKey | null;
  /** True if there are more values, or may be. */
  more: boolean;
  /** `since` of a later call: then no change is missing. */
  at: number;
}

/** One level of the topics below a prefix. */
export interface TopicLevel {
  level: string;
  /** Values at this level and below. */
  values: number;
  hasChildren: boolean;
  /** Time of the latest of them, ms since 1970. */
  ts: number;
}

/** Results of push(). */
export declare const PushResult: Readonly<{
  /** The record is in the engine. */
  OK: 0;
  /** Memory has no room for its class, or the worker's ring is full: wait and push again. */
  FULL: 1;
  /** The device id is empty or exceeds 256 bytes, the topic 65,535 bytes, or the payload maxPacketBytes. */
  TOO_LONG: 2;
  CLOSED: 3;
  /** No stage with this id in the current plan. */
  NO_STAGE: 4;
  /** The stage leads to no uplink and sends no messages: nothing would take the record. */
  NO_ROUTE: 5;
  /** The device id or topic begins with $ or contains a control character: see EngineOptions.oddTopics. */
  ODD_TOPIC: 6;
}>;

/** push() flags, or-ed. */
export declare const Flag: Readonly<{ QOS1: 1; RETAIN: 2; ENVELOPE: 4 }>;

/** Counters by name. docs/use/operations.md lists names and meanings. */
export type Counters = Record<string, number>;

export interface StageCounters {
  id: number;
  /** Records in and out; for batch stages, sealed batches too. */
  recordsIn: number;
  recordsOut: number;
  batches: number;
  /** Copies for JavaScript that were dropped because the message ring was full. */
  copiesDropped: number;
  /** Records that a filter stage left out. */
  filtered: number;
  /** Forecast stages. */
  forecast?: ForecastCounters;
  /** Batch stages that wait to save bytes: how long their batches wait at most at present, by class. */
  waitMs?: number[];
}

export interface LatencySummary {
  class: RecordClass;
  count: number;
  /** Time from reading the packet to the cloud's PUBACK, ms. */
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface EngineStats {
  /** Devices with an open connection. */
  devices: number;
  /** Bytes that records occupy, and the budget. */
  heldBytes: number;
  budgetBytes: number;
  /** Records in memory and not yet acknowledged by the cloud, by class (index 0 unused). */
  heldRecords: number[];
  /** Of these, the records that are batched and not on disk. */
  unsavedRecords: number[];
  /** Records on disk and not yet acknowledged by the cloud, whether or not they are also in memory. */
  storedRecords: number[];
  /** Of these, the records that are not in memory. */
  backlogRecords: number[];
  /** Records that the cloud has acknowledged since the start. */
  deliveredRecords: number[];
  /** Of these, by class: records of batches that were acknowledged after their patience although the session was up. */
  lateRecords: number[];
  /** True while the engine does not read from devices because the budget is used up. */
  slowed: boolean;
  /** Records of sources with `delivered` that wait for a flow. */
  deferredRecords: number;
  /** Open windows of filter stages. Their records exist only there. */
  openWindows: number;
  /** Last values in memory, and their bytes. */
  keptValues: number;
  valueBytes: number;
  /** Most urgent class whose devices are not read; 0 = none. */
  slowedFrom: 0 | RecordClass;
  counters: Counters;
  /** Dropped records by reason (row name) and class (index). */
  drops: Record<string, number[]>;
  /**
   * Connections closed for MQTT protocol errors, by reason (core/protocol/close_reason.h); only reasons that occurred.
   */
  protocolErrors: Record<string, number>;
  latency: LatencySummary[];
  stages: StageCounters[];
  placement: PlacementStats;
  desk: DeskStats;
}

/** A part of a split stage. */
export interface PartStats {
  name: string;
  /** Of the batches that wait for its uplinks or are in flight, in memory and on disk. */
  waitingBytes: number;
  /** Records that were not taken because the part was above its limits, since the plan has the part. */
  refused: number;
}

/** The request desks of all listeners: totals since the start, and the present state. */
export interface DeskStats {
  /** Requests of devices that were passed to takeDesk(). */
  passed: number;
  /** Of these, requests that were answered, or whose connection ended. */
  answered: number;
  /** Requests of devices that found no room and were answered with 5.03. */
  refused: number;
  /** Requests to devices by askDevice(). */
  asked: number;
  /** Requests to devices that found no room. */
  full: number;
  /** Requests to devices, and observations, that are open. */
  openAsks: number;
  /** Events that wait for takeDesk(). */
  events: number;
  /** Bytes of these events. */
  bytes: number;
}

export declare class Engine {
  /**
   * @param onDoorbell called on this thread when messages, completions, logins, events or command results wait;
   *   coalesced. It must not throw, may be called once more after close(), and keeps everything it references alive, so
   *   an engine must be closed.
   */
  constructor(options: EngineOptions, onDoorbell: () => void);
  /** Identifies this engine to other threads of the process: `new UplinkSource(token, …)`. */
  readonly token: number;
  readonly epoch: number;
  workers(): WorkerInfo[];
  /** The worker that owns a device id. */
  workerOf(deviceId: string): number;
  /**
   * Replaces the plan. Open batches of stages that change are sealed and follow their old wires. Throws TypeError for
   * an invalid plan.
   */
  applyPlan(plan: PlanSpec): void;
  /** Opens the device listener of a source stage. Throws Error with `code` (EADDRINUSE, EACCES …). Returns the port. */
  listen(stage: number, options: ListenOptions): number;
  /** Uses these files and keys for new DTLS handshakes of the stage. Sessions made before are not resumed. */
  renewDtls(stage: number, dtls: DtlsOptions): void;
  /** Closes the listener and its devices' connections. Accepted records are still processed. */
  unlisten(stage: number): void;
  /**
   * Returns the logins that wait for an answer, oldest first, each once, except those whose connection has closed.
   * @param limit 1..10000; if this many are returned, there may be more, for which the doorbell does not ring again
   */
  takeLogins(limit: number): Login[];
  /**
   * Accepts or refuses a login.
   * @param device the device id to accept it as, 1 to 256 bytes; null refuses it (bad user name or password)
   * @returns false if the login no longer waits
   */
  answerLogin(id: number, device: string | null): boolean;
  /**
   * Ends the connection of a device, whose latest records still count; an MQTT 5 device gets the reason 0x98.
   * @param device 1 to 256 bytes
   * @param server asks it to connect to another server: an MQTT 5 device gets the reason 0x9C and, unless this is '', the
   *   Server Reference; at most 120 bytes
   * @returns false if it has no connection
   */
  dismissDevice(device: string, server?: string): boolean;
  /**
   * Ends the connection of a device that has connected to another gateway, whose latest records still count; an MQTT 5
   * device gets the reason 0x8E.
   * @param device 1 to 256 bytes @returns false if it has no connection
   */
  takeOverDevice(device: string): boolean;
  /**
   * Returns the oldest events of the request desk of a listener. At most 1,024 requests of the engine have no answer;
   * further ones get 5.03 with Max-Age 1. Of the notifications of an observation, only the latest waits.
   * @param limit 1..10000; if this many are returned, there may be more, for which the doorbell does not ring again
   */
  takeDesk(stage: number, limit: number): DeskEvent[];
  /**
   * Answers a request of a connection. To a request with Observe 0, further answers with Observe are notifications,
   * until one has no Observe or is an error. A large payload goes in blocks.
   * @param code 0x40..0xBF @param options in any order; those of blocks are ignored
   * @returns false if the connection has closed. These and the following calls keep their order.
   */
  answerRequest(
    connection: number,
    token: Uint8Array,
    code: number,
    options: [number: number, value: Uint8Array][],
    payload: Uint8Array
  ): boolean;
  /**
   * Gives the same answer to several requests, such as a notification to all observers, for less than one
   * answerRequest() each. A connection that has closed gets none.
   * @param to at most 1,024
   */
  answerRequests(
    to: { connection: number; token: Uint8Array }[],
    code: number,
    options: [number: number, value: Uint8Array][],
    payload: Uint8Array
  ): void;
  /**
   * The connection has proven to be `device`, and moves to its worker. An older connection of the device is closed.
   * A further call with the same device changes the times and the owner.
   * @param untilMs since 1970; then the device is forgotten. 0 = no end
   * @param forwardUntilMs requests of the connection and to it are forwarded until then (ForwardOptions). 0 = untilMs
   * @returns false if the connection has closed or has another device, or the id is not allowed
   */
  identifyConnection(
    connection: number,
    device: string,
    owner: string,
    untilMs: number,
    forwardUntilMs?: number
  ): boolean;
  /**
   * Tells that a request without an answer was passed on, such as by askDevice(): later requests of its connection, which
   * the workers forward, cannot overtake it any more.
   */
  settleRequest(connection: number, token: Uint8Array): boolean;
  /**
   * Lets another owner use the device of a connection by requests that the workers forward, until the connection has
   * another device or none. At most 256 owners; requests of others go to takeDesk().
   * @param owner 1 to 256 bytes @param rights 0 = none, 1 = GET and FETCH, 2 = all
   */
  grantConnection(connection: number, owner: string, rights: 0 | 1 | 2): boolean;
  /** Takes the device from a connection, which stays open. @param reason 1 to 64 bytes */
  forgetConnection(connection: number, reason: string): boolean;
  /** Sends Release and closes the connection. @param reason 1 to 64 bytes */
  closeConnection(connection: number, reason: string): boolean;
  /**
   * Makes a record of the connection's device. After OK, takeDesk() returns `handle`.
   * @param post a topic that the record is a post to; 0 = to none
   * @returns a PushResult; NO_STAGE: the connection has closed
   */
  recordOfConnection(
    connection: number,
    handle: number,
    topic: string,
    payload: Uint8Array,
    recordClass: number,
    post?: number
  ): 0 | 2 | 3 | 4 | 6;
  /**
   * Opens a topic: posts of its owner's connections to it become records (PostOptions). One with the same owner and name
   * is closed. Its latest post stays in memory. The latest posts of all topics, with the posts that are not safe yet,
   * have at most 32 MiB, shared equally by the workers: posts that are not safe yet at most half of a worker's part, the
   * latest posts of one owner an eighth. Without room, a topic keeps its earlier post.
   * @param owner 1 to 256 bytes @param name the path after the prefix, 1 to 1024 bytes @param subject topic of the records
   * @param recordClass 0 = by the rules
   * @returns a number that is not used again; 0: 65,536 are open, or the subject is not allowed
   */
  openTopic(stage: number, owner: string, name: string, subject: string, recordClass: number): number;
  /** Closes a topic: its posts go to takeDesk(). No effect for an unknown one. */
  closeTopic(topic: number): void;
  /**
   * True: takeDesk() returns each post to the topic that becomes safe. If more than 256 wait, a newer post replaces the
   * one of its topic; if more than 16 MiB wait, posts go to takeDesk() as requests.
   */
  followTopic(topic: number, on: boolean): void;
  /** takeDesk(stage) returns the latest post that is safe and had room (openTopic), with this handle. */
  askLatestPost(stage: number, handle: number, topic: number): void;
  /**
   * Sends a request to a device with a connection of a request desk. takeDesk(stage) returns its answers: those of the
   * device, 5.03 if it has no connection or too many requests are open, 5.04 after timeoutMs (1..3600000).
   * @returns a handle; 0: 16,384 requests are open, or the engine is closed
   */
  askDevice(stage: number, device: string, request: DeviceRequest, timeoutMs: number): number;
  /** Ends a request or an observation. No effect for an unknown handle. */
  cancelAsk(handle: number): void;
  /**
   * Sends a command to a connected device. takeCommandResults() returns the ticket.
   * @param ticket 1..2^32-1, not one that is pending @param topic as the device receives it
   * @param timeoutMs for its answer, 1..3600000
   * @param ownTopic false (default): cmd/{device}/{rest} is replaced for a device behind a bridge whose topics name it,
   *   by the topic of its latest record up to its id, and {rest}
   * @returns a PushResult; FULL: more than 65,536 commands are in flight or have a pending result, or they exceed a
   *   quarter of the memory budget
   */
  command(
    ticket: number,
    deviceId: string,
    topic: string,
    payload: Uint8Array,
    qos: 0 | 1,
    timeoutMs: number,
    ownTopic?: boolean
  ): 0 | 1 | 2 | 3;
  /** Returns and removes the outcomes of commands: [ticket, CommandEnd, …]. */
  takeCommandResults(): number[];
  /**
   * Returns device events, in order for each device. For each device, only the latest event of a kind waits. At most
   * 65,536 events wait; further ones are counted as `eventsLost`, and agents() returns the current state.
   * @param limit 1..65536; if this many are returned, there may be more, for which the doorbell does not ring again
   */
  takeEvents(limit: number): DeviceEvent[];
  /**
   * Returns known devices, connected or not, sorted by id: those after `after` ('' = from the first), at most `limit`
   * (1..10000).
   */
  agents(after: string, limit: number): AgentInfo[];
  /** Returns last values. EngineOptions.valuesMiB says whether there are any. */
  values(query: ValueQuery): ValuePage;
  /**
   * Returns the levels of the topics of a worker's values that begin with `prefix`, which is '' or ends with a slash.
   * Looks at 4,096 values at most: call it with `next` until that is null, and add up what it returns. Null: the engine
   * is closed.
   */
  valueLevels(
    worker: number,
    prefix: string,
    after: ValueKey | null
  ): { levels: TopicLevel[]; next: ValueKey | null } | null;
  /** Returns a worker's values as rows for restoreValues(), in portions as valueLevels(). Null: the engine is closed. */
  saveValues(worker: number, after: ValueKey | null): { rows: Buffer; next: ValueKey | null } | null;
  /**
   * Adds values of an earlier run, as rows of saveValues(), to those of their devices. Throws TypeError for a damaged
   * row, after it has added those before it.
   * @returns number of rows for which there was room
   */
  restoreValues(rows: Uint8Array): number;
  /**
   * Returns what a forecast stage has learned, in portions: call it with `next` until that is null. The rows together
   * are the content for restoreForecasts(). Null: the engine is closed, or the stage is not there or has not begun.
   */
  saveForecasts(
    stage: number,
    after: ForecastCursor | null
  ): { rows: Buffer; next: ForecastCursor | null } | null;
  /**
   * Gives a forecast stage with `restores` what it had learned, in portions: call it with the `at` that it returned,
   * first 0, while the result is 'more'. 'other': the content is of another model, and is not used. 'damaged': what
   * precedes the damage is used. The stage begins when the result is 'done', and at once with content null. Null: the
   * engine is closed, or the stage is not there.
   */
  restoreForecasts(
    stage: number,
    content: Uint8Array | null,
    at: number
  ): { result: 'more' | 'done' | 'other' | 'damaged'; at: number } | null;
  /**
   * Teaches a forecast stage that has not begun values of earlier times, oldest first: at most 100,000, in ms since 1970.
   * Slots before the one of `until` are then over, so that their values are not learned again. 'full': there is no room
   * for the series; 'other': the stage has another model than `settings`; 'begun': it is too late. Null: the engine is
   * closed, or the stage is not there.
   */
  teachForecast(
    stage: number,
    settings: ForecastSettings,
    series: ValueKey,
    times: Float64Array,
    values: Float64Array,
    until: number
  ): 'done' | 'full' | 'other' | 'begun' | null;
  /**
   * Returns what a forecast stage knows of these series, at most 100, and what it expects in `steps` (1..240) steps of
   * `stepMs` (1000..60000) from `from` on; null for an unknown series. The workers only copy. Null: the engine is closed,
   * or the stage is not there.
   */
  lookAtForecasts(
    stage: number,
    series: ValueKey[],
    from: number,
    stepMs: number,
    steps: number
  ): (ForecastView | null)[] | null;
  /**
   * Puts one record into a stage. recordClass 0 = 3 (normal); tsMs 0 = now. With Flag.ENVELOPE the payload is a batch
   * of NDJSON lines and deviceId is empty. takeCompletions() returns a ticket other than 0: for an uplink stage when
   * the cloud has acknowledged, for a source or ingest stage when the record is safe (EngineOptions.acknowledge). seq
   * -1 = the device's next number; a record that returns from a message wire keeps its number. `deferral` is a second
   * ticket, for any stage, default 0: it is completed when the record is safe and its messages are delivered. With a
   * ticket too, the stage must be an uplink. `trace`: a traceparent of W3C Trace Context, directly followed by its
   * tracestate; '' (default) = none.
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
    ticket: number,
    deferral?: number,
    trace?: string
  ): 0 | 1 | 2 | 3 | 4 | 5 | 6;
  /** Returns the class that a priority stage would assign; used where a wire carries messages. */
  classify(
    stage: number,
    deviceId: string,
    topic: string,
    payload: Uint8Array,
    recordClass: number
  ): RecordClass;
  /**
   * Copies waiting messages as frames (nodes/lib/base/frame.js) into `into`. Returns the bytes written, 0 if none is
   * left, or -(needed) if the next frame is larger than `into`.
   */
  takeMessages(into: Uint8Array): number;
  /**
   * Returns completed tickets as [ticket, result, …]: 1 the record is safe, or acknowledged by the cloud; 0 it was
   * dropped; 2 nothing holds the record, and it was never safe; 3 the flow with its message did not deliver it; 4 and
   * 5 as 2, because a split stage has no part of this name, or the part is above its limits.
   */
  takeCompletions(): number[];
  /**
   * Reports what became of messages whose frames have a deferral: 0 delivered, so their records are acknowledged; 1
   * refused: MQTT 5 devices get 0x83, CoAP devices 5.03, other connections end; 2 withheld: the connections end, so
   * that the devices send again. Unknown ids are ignored.
   */
  endDeferrals(ids: number[], end: 0 | 1 | 2): void;
  /** Seals the open batches of a batch stage now; 0 = of all stages. */
  flush(stage: number): void;
  /** From now on, writes everything that is not on disk: for an orderly shutdown. Call flush() first. */
  saveAll(): void;
  /**
   * acknowledge 'replicated': true = from now on, a record on the disk of this machine is acknowledged, as with 'safe'.
   * False at the start: nothing is written before saveAll(), which acknowledges nothing of what it writes.
   */
  setDiskCounts(counts: boolean): void;
  /** Gives up restoring the MQTT sessions of an earlier run (SessionSource). Call it before devices may connect. */
  endRestore(): void;
  /** Passes all MQTT sessions to the SessionSource, as if their connections ended now. Call stopReading() first. */
  saveSessions(): void;
  /** Accepts no new devices from now on, except over UDP; those that are connected stay. */
  stopAccepting(): void;
  /** First step of a shutdown: accepts no new devices, reads no more, and publishes the wills of all devices. */
  stopReading(): void;
  /**
   * True: no record of a device enters until it is called with false; records that were read before have passed the
   * plan when it returns. Pushed records enter. For a change of plans that keeps records in order.
   */
  holdReading(hold: boolean): void;
  stats(): EngineStats;
  /**
   * A number that changes when a figure of stats() changes, except `busy` and `silentMs` of the workers. It costs a tenth
   * of stats().
   */
  fingerprint(): number;
  /** The parts of the plan's split stages, in the order of the plan. */
  parts(): PartStats[];
  /** Stops the threads. Idempotent. Records that are still held are counted as dropped (`closed`). */
  close(): void;
}

/**
 * Checks the conditions of one node (docs/reference/rules.md). Returns null, or the first that is not valid and why,
 * such as "column 7: expected …". Together they may read at most 256 different values.
 */
export declare function checkConditions(conditions: string[]): { index: number; reason: string } | null;
/** Returns why a path such as `$.sensors[0].temp` is not valid, '' if it is. */
export declare function checkPath(path: string): string;

/**
 * Opens a connection to source stage `stage`, which must listen, for a device whose TLS or WebSocket terminates here.
 * Callable from any thread. Returns the near end of a socket pair: the engine reads from the other end as from a
 * device's socket, with back-pressure in both directions. The caller owns the descriptor (`new net.Socket({fd})`).
 * Throws Error with `code` (EMFILE, ENOTCONN: the stage does not listen).
 * @param token Engine.token
 */
export declare function openDeviceStream(token: number, stage: number, peer: StreamPeer): number;

/** The PROXY header at the beginning of a connection, and what it says. */
export interface ProxyHeader {
  /** 'more': it is not complete; 'bad': the connection begins with no valid header of at most 4096 bytes. */
  status: 'more' | 'whole' | 'bad';
  /** 'whole': its length. */
  bytes: number;
  /** 'whole': the client's address, such as 192.0.2.7:40312; '' = the header names none (health checks). */
  address: string;
}

/** Parses the first bytes of a connection from a proxy (PROXY protocol, versions 1 and 2). */
export declare function parseProxyHeader(bytes: Uint8Array): ProxyHeader;

/** A session's interface to the engine. May live in another thread (worker_threads) than its Engine. */
export declare class UplinkSource {
  /**
   * @param token Engine.token  @param uplink number used in the plan's uplink stages
   * @param onDoorbell called on this thread when a batch becomes ready; coalesced.
   * @param classes that it serves, default all. Several sources may serve one uplink, but each class only one of them.
   *   The methods below apply only to these classes and to the batches taken here.
   * @param rests true: nothing is taken here. When the doorbell rings, a session is prepared, which takes a while and has
   *   a source of its own. Until then, the log writes records at once, without the engine's linger, unless it wrote some
   *   of their class within that time. Default false.
   * @param second true: a second source of class 1, whatever `classes` are. Both sources take each live batch of class 1
   *   in the same order, and the first release() by either ends it. REQUIRES: another source serves class 1. Close it
   *   when its session ends, so that the other source takes what only this one had. Default false.
   */
  constructor(
    token: number,
    uplink: number,
    onDoorbell: () => void,
    classes?: RecordClass[],
    rests?: boolean,
    second?: boolean
  );
  /** Sets whether the session with the cloud is up, which decides when batches are written. Initially down. */
  connected(up: boolean): void;
  /**
   * Returns the class of the live batch that take() would take, 0 = none: a class that sent nothing for agingMs, else
   * class 1, else by weights across all sources of the uplink. A class that is ahead of one that waits at another
   * connected source is held: it is not offered, and the doorbell rings when the hold ends. Does not use up a turn.
   * onlyCritical: as if only class 1 waited.
   */
  best(onlyCritical?: boolean): 0 | RecordClass;
  /** The same for batches that were read back from the log. */
  bestBacklog(): 0 | RecordClass;
  /**
   * Milliseconds until a class that is held, or waits only for its rate, must be checked again; -1 = none. The doorbell
   * may not ring at that time.
   */
  retryMs(): number;
  /**
   * Returns where batches wait that could move now: 1 in memory, 2 in memory as backlog, 4 on disk, or a sum of these; 0
   * = nowhere, or the session is down. Excludes classes that are held or wait for their rate, the disk or memory.
   */
  waitingAt(): number;
  /** Wakes the session, the log and the batchers, also if the last ring of the doorbell was never answered. */
  wakeAll(): void;
  /**
   * The session demands a batch: it is up, has room, and best() is 0. Open adaptive batches are then sealed as soon as
   * possible.
   */
  demand(): void;
  /** Sets m for adaptive batches on the session's link. 1024..65536. */
  setBatchBytes(bytes: number): void;
  /** Copies a batch that was taken and not released, as take() does; -1 = there is no batch with this id. */
  look(id: number, into: Uint8Array, meta: Float64Array): number;
  /**
   * Takes the best live batch, or the best batch of the backlog. Writes its bytes to `into` and its header to `meta`
   * (length ≥ 16). Returns the payload's length, -1 if nothing is ready, or -(needed + 2) if `into` is too small (then
   * nothing is taken).
   *
   * meta: 0 id, for release() · 1 class · 2 record count · 3 stage id of the uplink node
   *       4 kind (0 one record, 1 envelope, 2 records)
   *       5 flags (Flag) · 6 first ts · 7 last ts · 8 seal reason (SealReason) · 9 boolean: sent before (redelivery)
   *       10 topic length · 11 device length; both strings precede the payload for kind 0: [device][topic][payload].
   *       The returned length counts them. kind 2 is a sequence of
   *       u8 flags, u8 device length - 1, u16 topic length, u32 payload length (little endian), device, topic, payload.
   *       12 epoch · 13 sequence: with the class, they identify the batch permanently · 14 boolean: backlog
   *       15 age of its oldest record, ms
   */
  take(into: Uint8Array, meta: Float64Array, backlog?: boolean, onlyCritical?: boolean): number;
  /**
   * Releases a batch that the cloud acknowledged, except for the records in `refused` (0-based; a line of an envelope
   * is a record), which the cloud will never accept: they become dead letters with code and reason, or are dropped
   * (`refused`) if there is no log. Returns false if no such batch is taken.
   */
  release(id: number, refused?: number[], code?: number, reason?: string): boolean;
  /** True if the batch was taken here and nobody has released it. */
  isTaken(id: number): boolean;
  /**
   * Returns, for all second sources of the uplink so far: `sent`, the batches that the later of two sources took;
   * `leadFirst` and `secondFirst`, those of them that the first or the second source released first.
   */
  copies(): { sent: number; leadFirst: number; secondFirst: number };
  /** Returns the longest time since a live batch, taken or not, was sealed, ms; -1 = none. */
  oldestMs(): number;
  /**
   * Sets what a message costs on the session's link, for batches that wait to save bytes.
   * @param isMetered the link costs by the byte
   * @param headBytes of a message besides its records, in both directions
   * @param recordBytes of a record in a message, as sent
   * @returns whether there are such batches
   */
  setCost(isMetered: boolean, headBytes: number, recordBytes: number): boolean;
  /** Closes the source: batches that were taken and not released return to the head of their lanes, in order. */
  close(): void;
}

/** TLS of an UplinkConnection: PEM, as text or bytes. A thread parses it again if any byte differs from the last time. */
export interface UplinkTls {
  /** Trusted authorities; may contain many certificates. */
  ca: string | Uint8Array;
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
  passphrase?: string;
  minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** SNI. */
  servername?: string;
  alpn?: string[];
}

export interface UplinkConnectionHandlers {
  /**
   * The connection is writable. With TLS, the certificate chain is valid; the caller must check that it is the broker's
   * certificate.
   */
  onOpen(): void;
  onBytes(bytes: Buffer): void;
  /** [identifier, reason code, …] of PUBACKs. If this handler is given, PUBACKs do not go to onBytes. */
  onPubacks?(pairs: Uint16Array): void;
  /** The kernel has accepted everything that was written. */
  onDrain(): void;
  /**
   * No more data arrives. '' = the peer closed the connection in order; else a code as in Node's TLS and system errors.
   */
  onEnd(code: string, message: string): void;
  /** The express path has ended; call leave(). Why: stage, records, topic, size, backlog, refusal, slow. */
  onLeave(why: string): void;
}

/** Parameters of the express path. */
export interface ExpressSpec {
  /** 0..3; in each turn of the thread, the lowest is served first. */
  order: number;
  /** A larger packet ends the express path, bytes. */
  maxPacket: number;
  /** While the kernel has this many unsent bytes, only class 1 is started, which waits only for the window. */
  maxUnsent: number;
  /** The broker also sends messages: what it sends is always read at once. */
  subscribes?: boolean;
}

/** An uplink node's settings for its PUBLISH packets. Topics by class (index 0 is unused). */
export interface PublishStage {
  id: number;
  /** Of envelopes, as pieces: bytes, or a value of the record. */
  topic: (Uint8Array | 'device' | 'topic')[][];
  /** Of single records; where it is empty, `topic` is used. */
  recordTopic: (Uint8Array | 'device' | 'topic')[][];
  qos: 0 | 1;
  /** The gateway's name in the key, in UTF-8: for a property, and escaped for a JSON string. */
  keyRaw: Uint8Array;
  keyJson: Uint8Array;
  /** How backlog is marked: not at all, by a user property (MQTT 5), or by a suffix of its topic. */
  history: 'none' | 'property' | 'suffix';
  historySuffix: Uint8Array;
  /** Of envelopes, default ndjson; sparkplug also of single records, and it needs an edge node. */
  format?: 'ndjson' | 'json' | 'cbor' | 'senml-json' | 'senml-cbor' | 'sparkplug';
  /** How envelopes are compressed; default off. It must be in compressions(). */
  compress?: 'off' | 'zstd' | 'deflate';
  /** MQTT topic filters: an envelope with a record of such a topic is not compressed. */
  neverCompress?: string[];
}

/** Counters of the compression of a stage since it was set. */
export interface CompressionNumbers {
  /** Envelopes: compressed, kept out by neverCompress, not smaller, failed in the library. */
  packed: number;
  keptOut: number;
  larger: number;
  failures: number;
  /** Bytes of the compressed envelopes, before and after. */
  before: number;
  after: number;
  /** Lines kept since the last proposeDictionary(). */
  fresh: number;
}

/**
 * The PUBLISH packets of one session. The same batch, stage and part always give the same bytes. The key is
 * <gateway>/<epoch in base 36>/<class>/<sequence>[.<part>]: a user property in MQTT 5, and the first field of an
 * envelope. An envelope is encoded in the stage's format; one that a flow made with other fields stays as it is.
 */
export declare class PublishWriter {
  constructor();
  /** Replaces the stages. */
  setStages(stages: PublishStage[]): void;
  /** Sets what the broker granted. Initially MQTT 3.1.1 with RETAIN. */
  setLink(isV5: boolean, retainAvailable: boolean): void;
  /**
   * Prepares the packet of a batch or a part of it. Throws TypeError if the stage is not known, or meta and bytes are
   * not those of a batch.
   * @param bytes and @param meta as take() of UplinkSource gives them
   * @param from where its payload begins; kind 2: where its entry begins @param to where that ends
   * @param part 0..2^31-1, the end of its key; -1 = none
   * @returns size of the packet in bytes; 0 = MQTT cannot express it: its topic is empty, too long, or has + # or NUL
   */
  prepare(
    stage: number,
    bytes: Uint8Array,
    meta: Float64Array,
    from: number,
    to: number,
    part: number
  ): number;
  /**
   * Copies the prepared packet.
   * @param id packet identifier, ignored at QoS 0 @param dup it was sent before
   * @returns where the packet ends
   */
  write(out: Uint8Array, at: number, id: number, dup: boolean): number;
  /** The topic of the prepared packet, for display. */
  topic(): string;
  /** The topic as a key for tables, its bytes as characters; null when it contains nothing of the record. */
  deviceTopic(): string | null;
  /**
   * Makes the session an edge node of Sparkplug B. Throws TypeError for a name that no level of a topic can be.
   * @param group and @param node without / + # and NUL
   */
  setEdgeNode(group: string, node: string): void;
  /**
   * A session of the edge node begins.
   * @param bdSeq 0..255, that of its will
   * @param maxPacket the broker's Maximum Packet Size in bytes, which births keep; 0 = unknown
   */
  beginEdgeNode(bdSeq: number, isV5: boolean, maxPacket: number): void;
  /** The edge node and its devices must be born again. */
  rebirth(): void;
  /**
   * The packets at QoS 0 that must be sent before the prepared one: births and deaths; null = none. Call write() next:
   * the sequence numbers are those of this moment.
   */
  births(): Buffer | null;
  /** The packet of a birth that was not sent yet; null = there is none. It counts as sent. Nothing is prepared then. */
  nextBirth(): Buffer | null;
  /** The payload of the edge node's death. */
  death(bdSeq: number): Buffer;
  /** The compressions that this Node.js has. */
  static compressions(): ('zstd' | 'deflate')[];
  /** Switches the compression of a stage; initially on. */
  setCompressing(stage: number, isOn: boolean): void;
  /**
   * Uses a dictionary from now on.
   * @param hash 8 bytes @param content raw, at most 32,768 bytes; empty = none
   * @returns false if it is refused, or the stage does not compress; then there is none
   */
  setDictionary(stage: number, hash: Uint8Array, content: Uint8Array): boolean;
  /** Returns the content for a new dictionary: recent lines, the latest last. @param bytes at most 32,768 */
  proposeDictionary(stage: number, bytes: number): Buffer;
  /** Returns the bytes of a recent envelope, plain and compressed with each dictionary; plain 0 = there is none. */
  tryDictionary(stage: number, content: Uint8Array): { plain: number; current: number; proposed: number };
  /** Returns null if the stage does not compress. */
  compression(stage: number): CompressionNumbers | null;
  /** Returns what this writer, and the express path with its stages, have written. */
  sent(): SentNumbers;
}

export type SentNumbers = {
  packets: number;
  /** Without those of envelopes that were cut. */
  records: number;
  /** Of the packets, besides their payloads. */
  headBytes: number;
  /** As sent. */
  payloadBytes: number;
  /** The same before compression. */
  plainBytes: number;
};

/** The places of the packets in flight of one session. Only JavaScript or the express path uses them at a time. */
export declare class InFlightWindow {
  /** @param places 1..1024 @param reserved places only for live records of class 1; one place is always for others */
  constructor(places: number, reserved: number);
  /** @param limit packets in flight or waiting, at most `places` @param reserved of these */
  setLimit(limit: number, reserved: number): void;
  /** @param ceiling packets in flight, null = no such limit @param reserved of these */
  setCeiling(ceiling: number | null, reserved: number): void;
  /** Returns the number of free places. @param isUrgent for a live record of class 1 */
  room(isUrgent: boolean): number;
  /** A refused packet, no longer in flight, keeps a place until its next try. */
  wait(isUrgent: boolean, isBacklog: boolean): void;
  /** Throws Error if none waits. */
  endWait(isUrgent: boolean, isBacklog: boolean): void;
  /**
   * @param batch its id @param bytes of the packet @param now ms
   * @returns a packet identifier, 1..places. Throws Error if there is no room.
   */
  open(batch: number, bytes: number, now: number, isUrgent: boolean, isBacklog: boolean): number;
  isOpen(id: number): boolean;
  /** Frees the place. This and the next two throw Error if the packet is not in flight. */
  close(id: number): void;
  /** ms, as given to open() or to leave() of UplinkConnection. */
  sentAt(id: number): number;
  /** True if a packet that was sent later was acknowledged. */
  isPassed(id: number): boolean;
  /** The packet that has been in flight longest, 0 = none. */
  oldest(): number;
  /** All packets in flight, in sending order. */
  ids(): Uint16Array;
  /** Nothing waits any more, and what is in flight is no backlog; it keeps its places. */
  abandon(): void;
  /** Nothing is in flight, and nothing waits. The limits stay. */
  reset(): void;
  readonly inflight: number;
  readonly waiting: number;
  /** Packets in flight or waiting that are backlog. */
  readonly backlog: number;
}

/** Separates the PUBACKs from all else that a broker sends, on a connection that Node.js makes. */
export declare class BrokerReader {
  /**
   * @param onPubacks gets [identifier, reason code, …] of one read
   * @param onOther gets all other bytes, in order
   */
  constructor(onPubacks: (pairs: Uint16Array) => void, onOther: (bytes: Buffer) => void);
  /** @param bytes may be split anywhere */
  read(bytes: Uint8Array): void;
}

/**
 * The connection of a session to its broker, on a socket from openSocket(). While the express path is entered, the
 * engine takes batches, writes PUBLISH packets and releases acknowledged batches without JavaScript.
 */
export declare class UplinkConnection {
  /** True if this process has an OpenSSL that the engine can use, exported by Node. */
  static readonly hasTls: boolean;
  /** Throws Error with `code` for keys and certificates that OpenSSL cannot use. */
  static checkTls(tls: UplinkTls): void;
  /**
   * @param fd connected; owned by this object from now on, and closed by close() or at the end of the thread. If the
   *   constructor throws, the caller still owns fd.
   * @param tls null = no TLS
   */
  constructor(fd: number, tls: UplinkTls | null, handlers: UplinkConnectionHandlers);
  /** After onOpen. @returns true if the kernel has accepted everything; otherwise onDrain is called when it has. */
  write(bytes: Uint8Array): boolean;
  /** Pauses or resumes onBytes. Bytes that were already read still arrive, and an end is not noticed while paused. */
  pause(paused: boolean): void;
  /** Ends the sending direction when everything is sent. */
  finish(): void;
  /**
   * Closes the connection; no handler is called anymore. Idempotent. leave() and numbers() still report the packets
   * that the express path has in flight.
   */
  close(): void;
  /** certificate: DER of the peer, with TLS. null = closed. */
  describe(): { fd: number; certificate?: Buffer; protocol?: string } | null;
  /**
   * Enters the express path, after onOpen, with the writer's stages and link, until leave(). REQUIRES: nothing that was
   * taken from the source is in flight, and the caller uses neither its best() and take() nor the window until leave().
   */
  enter(source: UplinkSource, writer: PublishWriter, window: InFlightWindow, spec: ExpressSpec): void;
  /**
   * Leaves the express path. Returns [identifier, batch id, bytes of the packet, …] of the packets in flight, in
   * sending order. They stay in the window. At the end is [0, batch id, 0] if a batch was taken that is not sent yet.
   * @param now ms, by the clock of sentAt() from now on
   * @param into receives the last numbers(), which contain exactly these packets; unchanged if the path was left before
   */
  leave(now: number, into?: Float64Array): number[];
  /**
   * Counters since the express path was entered: [published, redelivered, acknowledged (packets), records, largest
   * packet acknowledged, smoothed and minimum round trip in ms (0 = unknown), ms since the last acknowledgement (-1 =
   * none), packets in flight, age of the oldest in ms (-1 = none), whether a later one was acknowledged, whether there
   * is no room, acknowledged packets that no client subscribes to].
   */
  numbers(into: Float64Array): void;
}

/**
 * Ends a turn of an uplink thread: sleeps if the load makes that worthwhile. records: number of records sent in the
 * turn. isWaiting: something waits for the next turn.
 */
export declare function restUplink(records: number, isWaiting: boolean): void;

/** What devices with a matching id may do (SourceSettings.permissions). */
export type Permission = { device: string; publish: string[]; subscribe: string[] };

/** Topic filters that the subscriptions of matching clients must stay within (SourceSettings.subscribers). */
export type SubscriberRow = { client: string; filters: string[] };

/** The same permissions for a source that pushes its records: it checks before it pushes. */
export declare class Permissions {
  /** Throws a TypeError that names the invalid row. */
  constructor(rows: Permission[]);
  mayPublish(device: string, topic: string): boolean;
}

/**
 * The MQTT sessions of an engine, for the thread that keeps them on disk. Sessions are written when their subscriptions
 * change; the device's SUBACK or UNSUBACK waits for committed().
 */
export declare class SessionSource {
  /** @param onDoorbell called on this thread when take() has something new; coalesced. One source per engine. */
  constructor(token: number, onDoorbell: () => void);
  /** 0: restore() may be called · 1: restored() was called · 2: too late, devices may have connected (endRestore()). */
  restoring(): 0 | 1 | 2;
  /**
   * Restores sessions of an earlier run from their rows. `exact`: that run ended in order, so the rows are exact. Returns
   * for each row: 0 restored · 1 expired · 2 damaged · 3 too late.
   */
  restore(rows: Uint8Array[], exact: boolean): (0 | 1 | 2 | 3)[];
  /** All rows of earlier runs were restored or deleted. */
  restored(): void;
  /**
   * Returns the sessions to write; row null = delete the session. Returns the same ones until committed() is called.
   * Acknowledges the doorbell.
   */
  take(): { device: string; row: Buffer | null }[];
  /** All sessions that take() returned are durably on disk. */
  committed(): void;
  /** Returns the sessions that are not on disk yet, after Engine.saveSessions(); -1 before. */
  waiting(): number;
  /** The sessions cannot be written: no answer waits for them from now on. */
  disable(): void;
  close(): void;
}

/** The store thread's interface to an engine that was created with `log`; one at a time. */
export declare class StoreSource {
  /** @param onDoorbell called on this thread when due(), frees() or wanted() has something new; coalesced. */
  constructor(token: number, onDoorbell: () => void);
  /**
   * The log is open: rows up to maxRow are from earlier runs and contain `records` records by class ([0] unused).
   * `nodes`: [name, bytes, …] of the uplink nodes with such rows, for the budgets of parts; default none. Call this
   * first.
   */
  opened(maxRow: number, records: number[], nodes?: (string | number)[]): void;
  /**
   * Returns the milliseconds until take() has something, -1 = nothing before the doorbell rings. Acknowledges the
   * doorbell, which does not ring again before this call: call it in each turn before frees() and wanted().
   */
  due(): number;
  /**
   * Seals the next due chunk. Returns its length, -1 if none is due, or -(needed + 2) if `into` is too small (call
   * again). Bytes: [node name][reason][chunk body (docs/reference/log-format.md)].
   *
   * meta (length ≥ 10): 0 ticket · 1 class · 2 records · 3 batches · 4 first ts · 5 last ts
   *       6 kind (0 chunk, 1 dead letter) · 7 node name length · 8 reason length · 9 code
   */
  take(into: Uint8Array, meta: Float64Array): number;
  /** The chunk is durably on disk; `row` is its id there. */
  committed(ticket: number, row: number): void;
  /** The chunk is not on disk, and the log contains no part of it: take() returns it again. */
  failed(ticket: number): void;
  /**
   * The log is full and drops the chunk: its records are counted as `logFull`, and their devices get acknowledgements.
   * Records in flight stay, unsaved.
   */
  dropped(ticket: number): void;
  /**
   * Writes the ids of rows to delete to `into`, as many as fit; returns how many. freed() reports their deletion.
   */
  frees(into: Float64Array): number;
  /** All rows that were handed over are deleted. */
  freed(): void;
  /**
   * A row was deleted to make room: its undelivered records are counted as `logFull`, and leave memory unless they are
   * in flight.
   */
  removed(row: number, recordClass: RecordClass, records: number): void;
  /**
   * A dead letter was moved to the chunk `row`, to be sent again: it is backlog from now on. `records`: the number of
   * records of each batch. Throws RangeError if the engine knows the row.
   */
  sendAgain(row: number, node: string, recordClass: RecordClass, records: number[]): void;
  /**
   * The log was set aside as damaged, and a new one was started: take() returns records in memory again; the others are
   * counted as `corrupt`.
   */
  lost(): void;
  /**
   * Returns the uplink node whose backlog must be read, null = none. meta (length ≥ 3): 0 class · read the first row in
   * (1 after, 2 up to].
   */
  wanted(meta: Float64Array): string | null;
  /**
   * Delivers the wanted row. 'corrupt': the row differs from what was written; its records are counted as such, and the
   * caller must move it to quarantine.
   */
  loaded(row: number, records: number, body: Uint8Array): 'ok' | 'corrupt';
  /** The wanted row does not exist. */
  missing(): void;
  /** Closes the source. Chunks that were taken and not reported count as not written. */
  close(): void;
}

/** Options that are not given keep the system's default. */
export interface UplinkSocketOptions {
  /**
   * SO_PRIORITY, 0..6: the kernel's queues sort by it (pfifo_fast: 6 first). Higher values require a privilege that a
   * gateway should not have.
   */
  priority?: number;
  /** The mark of each packet for routers, 0..63. Set before the priority, because it would change the priority. */
  dscp?: number;
  /** True: written data is sent at once. */
  noDelay?: boolean;
  /**
   * TCP_USER_TIMEOUT: the connection fails when sent data is not acknowledged for this long. 0..2147483647, 0 = system
   * default.
   */
  userTimeoutMs?: number;
  /**
   * A silent connection is probed after this many seconds, then each keepIntervalS, keepCount times. 1..32767,
   * 1..32767, 1..127.
   */
  keepIdleS?: number;
  keepIntervalS?: number;
  keepCount?: number;
  /** Unsent bytes that the kernel accepts before it stops. 0..2147483647, 0 = system default. */
  notSentLowat?: number;
  /** SO_SNDBUF, bytes; the system doubles it and limits it (net.core.wmem_max). 0..2147483647, 0 = system default. */
  sendBuffer?: number;
  /**
   * TCP_CONGESTION, for all subflows: 1..15 bytes of a-z, 0-9, _ and -, such as cubic. Reported in `unknown` if the
   * system does not have or does not permit it: without CAP_NET_ADMIN, TCP requires it to be in
   * net.ipv4.tcp_allowed_congestion_control.
   */
  congestion?: string;
  /**
   * The outgoing interface, regardless of the routes (SO_BINDTODEVICE: Linux; requires CAP_NET_RAW before 5.7). 1..15
   * bytes.
   */
  device?: string;
  /** The source address, of the same family as the destination. */
  localAddress?: string;
  /** True: MPTCP [RFC 8684] if this kernel has it; see `noMptcp` of openSocket(), and mptcpInfo(). */
  mptcp?: boolean;
}

/**
 * Creates a TCP socket, sets the options, and starts to connect. When waitConnect() resolves, use `new net.Socket({fd,
 * readable: true, writable: true})`. Until then the caller owns the descriptor: call closeSocket(), or the end of this
 * thread closes it. `unknown`: options that this system or this kind of socket does not support; the others are set.
 * `noMptcp`: the code why the socket is TCP although MPTCP was requested (ENOPROTOOPT = turned off, EPROTONOSUPPORT,
 * EINVAL = not in this kernel), else ''. Throws Error with `code` (ENETUNREACH, ECONNREFUSED …); then nothing is open.
 * @param address IPv4 or IPv6 @param port 1..65535
 */
export declare function openSocket(
  address: string,
  port: number,
  options: UplinkSocketOptions
): { fd: number; unknown: string[]; noMptcp: string };
/**
 * Resolves when the socket is connected. Rejects with `code` ECONNREFUSED, ETIMEDOUT …, with ECANCELED after
 * closeSocket(), and with EEXIST if another call already waits. The descriptor stays open, unless the thread ends
 * meanwhile. REQUIRES: no net.Socket owns it.
 * @param timeoutMs 1..2147483647
 */
export declare function waitConnect(fd: number, timeoutMs: number): Promise<void>;
/**
 * Closes a socket that no net.Socket owns; a net.Socket closes its own. Throws Error with `code` if fd is not a socket.
 */
export declare function closeSocket(fd: number): void;

/** -1 = unknown. */
export interface UplinkSocketInfo {
  priority: number;
  dscp: number;
  /** Smoothed round trip. */
  rttUs: number;
  /** Bytes in the kernel, not sent yet. */
  unsentBytes: number;
  /** Bytes sent, not acknowledged yet. */
  unackedBytes: number;
  bytesAcked: number;
  /** Retransmitted segments. */
  retransmits: number;
  localAddress: string;
}
/** Throws Error with `code` if fd is not a socket. localAddress: '' = unknown. */
export declare function socketInfo(fd: number): UplinkSocketInfo;

/** -1 = unknown. */
export interface Subflow {
  /** '' = unknown. */
  local: string;
  remote: string;
  /** As in <netinet/tcp.h>: 1 = established. A deleted subflow may stay listed, with 7. */
  state: number;
  /** Smoothed round trip. */
  rttUs: number;
  /** Retransmitted segments. */
  retransmits: number;
  bytesSent: number;
  bytesAcked: number;
  /** Segments in flight. */
  unacked: number;
}
export interface MptcpInfo {
  /**
   * 'tcp': MPTCP was not requested, or this system has none · 'fallback': MPTCP was requested, but the peer or a device
   * along the path does not support it · 'unknown': this kernel (before 5.16) does not report it. All except 'mptcp'
   * have one subflow, the connection.
   */
  transport: 'mptcp' | 'fallback' | 'tcp' | 'unknown';
  /** Token of the connection, as in `ip mptcp monitor`; 0 without MPTCP. */
  token: number;
  subflows: Subflow[];
}
/** REQUIRES: the socket is connected. Throws Error with `code` if fd is not a socket. */
export declare function mptcpInfo(fd: number): MptcpInfo;
/**
 * Gives each existing subflow the connection's SO_PRIORITY. The kernel copies the options of an MPTCP socket to a new
 * subflow, the priority before IP_TOS, which changes the priority of the packets. Throws Error with `code` if `fd` is
 * not a socket.
 */
export declare function renewPriority(fd: number): void;

/**
 * Sends one datagram to a Unix socket without waiting, as sd_notify(3) does. Throws Error with `code`: ENOENT or
 * ECONNREFUSED = nobody listens, EAGAIN = the receiver's queue is full.
 * @param address an absolute path, or @ and a name in Linux's abstract namespace; at most 107 bytes
 * @param message 1 to 4096 bytes
 */
export declare function notify(address: string, message: string): void;

/**
 * Returns true while a service (NTP, PTP) keeps this machine's clock right, as the kernel knows it (adjtimex(2)); null if
 * the kernel does not say.
 */
export declare function clockSynchronized(): boolean | null;

/**
 * Returns free memory of the C heap, such as that of records which the cloud has acknowledged, to the system. Threads
 * that allocate meanwhile wait, about 1 ms for each 10 MB.
 * @returns true if pages were returned; false if there were none, or if the C library cannot do it (musl)
 */
export declare function releaseMemory(): boolean;

/**
 * Takes the pages of Node's program and of the libraries that nothing writes to out of this process's memory. They stay in
 * the system's cache of files, from where a page returns when it is used again. Takes some milliseconds.
 * @returns false if the system cannot do it
 */
export declare function releaseProgramPages(): boolean;

/**
 * Gives the threads of this process time slices of 0.2 ms: their share of a core stays the same, but one that wakes up does
 * not wait for the end of another program's slice. Later threads and child processes inherit it. Needs Linux 6.12 and no
 * privilege.
 * @returns length of the slices, ms; 0 if the system does not tell it, so that nothing changes
 */
export declare function shortenTimeSlices(): number;

export declare const SealReason: readonly ['single', 'bytes', 'delay', 'flush', 'plan', 'demand'];
/** Names of the classes; index = class. */
export declare const classNames: readonly ['', 'critical', 'high', 'normal', 'bulk', '5', '6', '7', '8'];
