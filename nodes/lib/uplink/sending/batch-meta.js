'use strict';

/** Where the members of a batch's header are in the array that UplinkSource.take() fills (native/index.d.ts). */
exports.META = Object.freeze({
  id: 0,
  class: 1,
  records: 2,
  stage: 3,
  kind: 4,
  flags: 5,
  firstTs: 6,
  lastTs: 7,
  reason: 8,
  wasSent: 9,
  topicBytes: 10,
  deviceBytes: 11,
  epoch: 12,
  sequence: 13,
  isBacklog: 14,
  ageMs: 15
});
