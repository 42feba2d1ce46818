'use strict';
// The trace context of a record (W3C Trace Context): kept from the sender to the cloud, unchanged. The engine's form is
// the traceparent followed by the tracestate, in one string; native/core/record/trace_context.h has the same rules.

const PARENT_BYTES = 55;
const MAX_STATE_BYTES = 512;
const LENGTH_BYTES = 2;
/** Flag of a stored record: the trace and its length follow the payload. */
const TRACE_FLAG = 8;
const PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Printable ASCII that needs no escape in JSON. */
const STATE = /^[ !#-[\]-~]*$/;

/**
 * @param {unknown} traceparent
 * @param {unknown} [tracestate] left out if it is not valid
 * @returns {string} '' if the traceparent is not valid: the specification tells receivers to ignore it
 */
function traceOf(traceparent, tracestate) {
  if (typeof traceparent !== 'string' || traceparent.length !== PARENT_BYTES || !PARENT.test(traceparent))
    return '';
  const isState =
    typeof tracestate === 'string' && tracestate.length <= MAX_STATE_BYTES && STATE.test(tracestate);
  return isState ? traceparent + tracestate : traceparent;
}

/**
 * @param {string} trace as traceOf() returns it
 * @returns {{ traceparent?: string, tracestate?: string }} properties of a message; none for ''
 */
function traceFields(trace) {
  if (trace === '') return {};
  const tracestate = trace.slice(PARENT_BYTES);
  return { traceparent: trace.slice(0, PARENT_BYTES), ...(tracestate !== '' && { tracestate }) };
}

/**
 * Separates the trace from the payload of a stored record.
 * @param {Buffer} stored
 * @param {number} flags of the record
 * @returns {{ payload: Buffer, trace: string }} the payload is a view
 */
function splitTrace(stored, flags) {
  const end = stored.length - LENGTH_BYTES;
  if ((flags & TRACE_FLAG) === 0 || end < 0) return { payload: stored, trace: '' };
  const at = end - stored.readUInt16LE(end);
  if (at < 0) return { payload: stored, trace: '' };
  const text = stored.toString('latin1', at, end);
  const trace = traceOf(text.slice(0, PARENT_BYTES), text.slice(PARENT_BYTES));
  return trace === text && trace !== ''
    ? { payload: stored.subarray(0, at), trace }
    : { payload: stored, trace: '' };
}

module.exports = { traceOf, traceFields, splitTrace };
