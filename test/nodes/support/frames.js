'use strict';
// Writes message frames as the native engine does.

/**
 * @param {{ stage: number, kind?: number, cls?: number, flags?: number, reason?: number, seq?: number, count?: number,
 * ts?: number, lastTs?: number, batchId?: number, bytes?: number, deferral?: number, device?: string, topic?: string,
 * payload?: Buffer, trace?: string, note?: string
 * }} fields
 */
function writeFrame(fields) {
  const device = Buffer.from(fields.device ?? '');
  const topic = Buffer.from(fields.topic ?? '');
  const payload = fields.payload ?? Buffer.alloc(0);
  const trace = Buffer.from(fields.trace ?? '');
  const note = Buffer.from(fields.note ?? '');
  const parts = Buffer.concat([device, topic, payload, trace, note]);
  const length = Math.ceil((80 + parts.length) / 8) * 8;
  const frame = Buffer.alloc(length);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(fields.stage, 4);
  frame[8] = fields.kind ?? 0;
  frame[9] = fields.cls ?? 3;
  frame[10] = fields.flags ?? 0;
  frame[11] = fields.reason ?? 0;
  frame.writeUInt32LE(fields.seq ?? 0, 12);
  frame.writeUInt32LE(fields.count ?? 1, 16);
  frame.writeUInt32LE(device.length, 20);
  frame.writeUInt32LE(topic.length, 24);
  frame.writeUInt32LE(payload.length, 28);
  frame.writeDoubleLE(fields.ts ?? 0, 32);
  frame.writeDoubleLE(fields.lastTs ?? 0, 40);
  frame.writeDoubleLE(fields.batchId ?? 0, 48);
  frame.writeUInt32LE(fields.bytes ?? 0, 56);
  frame.writeUInt32LE(fields.deferral ?? 0, 64);
  frame.writeUInt32LE(trace.length, 68);
  frame.writeUInt32LE(note.length, 72);
  parts.copy(frame, 80);
  return frame;
}

module.exports = { writeFrame };
