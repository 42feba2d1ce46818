// Package wire defines every JSON message of the overlay: the API of the authentication service, the signalling
// between nodes and the node management service, and the documents that the authentication service signs.
//
// Decoding is strict. Unknown fields, duplicate keys, trailing bytes, invalid UTF-8, deep nesting, and sizes over the
// limits below are errors, and a decoded message has passed its Validate method.
//
// Thread safety: all functions are pure; messages are plain values.
package wire

// Limits of all messages. A value at the limit is accepted, one more is refused.
const (
	MaxFrameBytes       = 64 << 10 // one WebSocket frame, one HTTP body
	MaxDepth            = 12       // nested objects and arrays of a frame
	MaxCertificateBytes = 24 << 10 // DER of a node's certificate followed by its intermediates
	MaxRequestBytes     = 8 << 10  // DER of a certificate signing request
	MaxSignalDataBytes  = 16 << 10 // payload of one signal, opaque to the services
	MaxRelays           = 8        // relay addresses of a node
	MaxServices         = 64       // services that a node offers
	MaxDevices          = 128      // ordinary devices behind one node
	MaxGroups           = 16       // groups of a node
	MaxPolicyBytes      = 16 << 10 // JSON text of the policy
	MaxRules            = 256      // rules of the policy
	MaxPorts            = 32       // ports of a rule
	MaxRevocations      = 1000     // certificates in the revocation list; an expired certificate leaves the list
	MaxRoots            = 4        // roots that are trusted at once during a rotation
	MaxURLs             = 8        // addresses of one service
	MaxURLBytes         = 256
	MaxTextBytes        = 512  // text of an error, reason of a revocation
	MaxTokenBytes       = 4096 // JWT
)
