package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Message is one WebSocket text frame between a node and the node management service (NMS):
// {"type": "<kind>", "body": {…}}, at most MaxFrameBytes.
type Message interface {
	Validator
	Kind() string
}

type envelope struct {
	Type string          `json:"type"`
	Body json.RawMessage `json:"body"`
}

func (e *envelope) Validate() error {
	if len(e.Body) == 0 {
		return errors.New("the message has no body; send {} if there is nothing in it")
	}
	return nil
}

// Encode returns the frame of a valid message.
func Encode(m Message) ([]byte, error) { return encodeMessage(m, MaxFrameBytes) }

func encodeMessage(m Message, most int) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	body, err := Marshal(m)
	if err != nil {
		return nil, err
	}
	frame, err := Marshal(envelope{m.Kind(), body})
	if err == nil && len(frame) > most {
		err = fmt.Errorf("the message %q has %d bytes, the limit is %d", m.Kind(), len(frame), most)
	}
	return frame, err
}

// DecodeFromNode reads a frame that a node sent to the NMS: *Hello, *Lookup, *Signal, *Ping.
func DecodeFromNode(frame []byte) (Message, error) {
	return decodeMessage(frame, MaxFrameBytes, func(kind string) Message {
		switch kind {
		case "hello":
			return &Hello{}
		case "lookup":
			return &Lookup{}
		case "signal":
			return &Signal{}
		case "ping":
			return &Ping{}
		}
		return nil
	})
}

// DecodeFromServices reads a frame that the NMS sent to a node: *Welcome, *Found, *Signal, *Gone, *Revoked,
// *PolicyUpdate, *RootsUpdate, *TURN, *Pong, *Error.
func DecodeFromServices(frame []byte) (Message, error) {
	return decodeMessage(frame, MaxFrameBytes, func(kind string) Message {
		switch kind {
		case "welcome":
			return &Welcome{}
		case "found":
			return &Found{}
		case "signal":
			return &Signal{}
		case "gone":
			return &Gone{}
		case "revoked":
			return &Revoked{}
		case "policy":
			return &PolicyUpdate{}
		case "roots":
			return &RootsUpdate{}
		case "turn":
			return &TURN{}
		case "pong":
			return &Pong{}
		case "error":
			return &Error{}
		}
		return nil
	})
}

func decodeMessage(frame []byte, most int, empty func(string) Message) (Message, error) {
	var e envelope
	if err := Decode(frame, most, &e); err != nil {
		return nil, err
	}
	m := empty(e.Type)
	if m == nil {
		return nil, fmt.Errorf("the message type %.40q is unknown here", e.Type)
	}
	if e.Body[0] != '{' {
		return nil, errors.New("the message's body is not a JSON object")
	}
	return m, decodeBody(e.Body, m)
}

// Hello is a node's first message. It may be sent again when something in it changes.
type Hello struct {
	Relays   []netip.AddrPort `json:"relays,omitempty"` // the node's relayed transport addresses
	Services []Service        `json:"services"`
	Devices  []Device         `json:"devices"` // of those in the certificate, the ones that are reachable
}

func (*Hello) Kind() string { return "hello" }

// Validate checks numbers and forms.
func (m *Hello) Validate() error {
	return errors.Join(checkRelays(m.Relays), checkServices(m.Services), checkDevices(m.Devices))
}

// Lookup asks for a node or device, by its FQDN or by one of its virtual addresses.
type Lookup struct {
	ID      string     `json:"id"` // of the answer, chosen by the node
	Name    string     `json:"name,omitempty"`
	Address netip.Addr `json:"address,omitzero"`
}

func (*Lookup) Kind() string { return "lookup" }

// Validate requires either a name or an address.
func (m *Lookup) Validate() error {
	if err := checkID(m.ID); err != nil {
		return err
	}
	if (m.Name == "") == !m.Address.IsValid() {
		return errors.New("a lookup has either a name or an address")
	}
	if m.Name == "" {
		return checkAddresses([]netip.Addr{m.Address}, 1)
	}
	_, err := ParseFQDN(m.Name)
	return err
}

// Kinds of a signal.
const (
	SignalOffer     = "offer"     // Data is an Offer
	SignalCandidate = "candidate" // Data is a Candidate
)

// Signal carries an offer or candidate from node to node. The services do not read Data; identity.SignSignal and
// identity.CheckSignal protect it from end to end.
type Signal struct {
	To          string `json:"to,omitempty"`   // FQDN of the receiver; in the frame from a node
	From        string `json:"from,omitempty"` // FQDN of the sender; in the frame from the NMS
	Type        string `json:"kind"`           // SignalOffer or SignalCandidate
	Epoch       int64  `json:"epoch"`          // number of the round; grows for a pair of nodes
	Data        string `json:"data"`
	Signature   []byte `json:"signature,omitempty"`   // Ed25519 by the sender's certificate
	Certificate []byte `json:"certificate,omitempty"` // DER of the sender's chain; the NMS adds it to offers
}

func (*Signal) Kind() string { return "signal" }

// Validate requires exactly one of To and From.
func (m *Signal) Validate() error {
	if (m.To == "") == (m.From == "") {
		return errors.New("a signal has either a receiver or a sender")
	}
	if n, err := ParseFQDN(m.To + m.From); err != nil {
		return err
	} else if n.Device != "" {
		return errors.New("a signal goes to a node; look up the device to learn its node")
	}
	if m.Type != SignalOffer && m.Type != SignalCandidate {
		return fmt.Errorf("the signal's kind %.20q is neither %q nor %q", m.Type, SignalOffer, SignalCandidate)
	}
	if m.Epoch < 0 {
		return fmt.Errorf("the signal's epoch %d is negative", m.Epoch)
	}
	if n := len(m.Signature); n != 0 && n != 64 {
		return fmt.Errorf("the signal's signature has %d bytes, an Ed25519 signature has 64", n)
	}
	if n := len(m.Certificate); n > MaxCertificateBytes {
		return fmt.Errorf("the certificate has %d bytes, the limit is %d", n, MaxCertificateBytes)
	}
	return checkText("the signal's data", m.Data, MaxSignalDataBytes)
}

// Ping asks for a Pong. A node sends it to notice that the connection is dead.
type Ping struct{}

func (*Ping) Kind() string    { return "ping" }
func (*Ping) Validate() error { return nil }

// Pong answers a Ping.
type Pong struct{}

func (*Pong) Kind() string    { return "pong" }
func (*Pong) Validate() error { return nil }

// TURN is the relay's address and the node's credentials for it, by the TURN REST scheme. The NMS sends new ones before
// the old ones expire.
type TURN struct {
	URLs     []string  `json:"urls"` // RFC 7065: turn:host:port?transport=udp, turns:host:port?transport=tcp
	User     string    `json:"user"`
	Password string    `json:"password"`
	Expires  time.Time `json:"expires"`
}

func (*TURN) Kind() string { return "turn" }

// Validate checks the sizes.
func (m *TURN) Validate() error {
	return errors.Join(checkURLs(m.URLs), checkText("the relay's user", m.User, MaxTextBytes),
		checkText("the relay's password", m.Password, MaxTextBytes))
}

// Welcome answers a node's first Hello.
type Welcome struct {
	TURN        TURN   `json:"turn"`
	Policy      Signed `json:"policy"`
	Revocations Signed `json:"revocations"`
	Roots       Signed `json:"roots"`
}

func (*Welcome) Kind() string { return "welcome" }

// Validate checks each part.
func (m *Welcome) Validate() error {
	return errors.Join(m.TURN.Validate(), m.Policy.Validate(), m.Revocations.Validate(), m.Roots.Validate())
}

// Found answers a Lookup. Without an ID it announces that a node which this node asked for has connected again, possibly
// with a new certificate.
type Found struct {
	ID          string           `json:"id,omitempty"`
	Name        string           `json:"name"`        // FQDN of the node, also if a device was looked up
	Certificate []byte           `json:"certificate"` // DER of its chain
	Addresses   []netip.Addr     `json:"addresses"`
	Relays      []netip.AddrPort `json:"relays,omitempty"`
	Services    []Service        `json:"services"`
	Devices     []Device         `json:"devices"`
	Online      bool             `json:"online"`
}

func (*Found) Kind() string { return "found" }

// Validate checks forms and numbers; only identity.Verify makes the certificate trustworthy.
func (m *Found) Validate() error {
	if m.ID != "" {
		if err := checkID(m.ID); err != nil {
			return err
		}
	}
	if _, err := ParseFQDN(m.Name); err != nil {
		return err
	}
	return errors.Join(checkBytes("the certificate", m.Certificate, MaxCertificateBytes), checkAddresses(m.Addresses, 4),
		checkRelays(m.Relays), checkServices(m.Services), checkDevices(m.Devices))
}

// Gone announces that a node which this node asked for or signaled with has disconnected from the NMS. Sessions go on.
type Gone struct {
	Name string `json:"name"`
}

func (*Gone) Kind() string { return "gone" }

// Validate checks the name.
func (m *Gone) Validate() error { _, err := ParseFQDN(m.Name); return err }

// Revoked carries a new revocation list.
type Revoked struct {
	List Signed `json:"list"`
}

func (*Revoked) Kind() string      { return "revoked" }
func (m *Revoked) Validate() error { return m.List.Validate() }

// PolicyUpdate carries a new policy.
type PolicyUpdate struct {
	Policy Signed `json:"policy"`
}

func (*PolicyUpdate) Kind() string      { return "policy" }
func (m *PolicyUpdate) Validate() error { return m.Policy.Validate() }

// RootsUpdate carries a new list of roots.
type RootsUpdate struct {
	Roots Signed `json:"roots"`
}

func (*RootsUpdate) Kind() string      { return "roots" }
func (m *RootsUpdate) Validate() error { return m.Roots.Validate() }

func checkID(id string) error {
	if id == "" || len(id) > 64 {
		return errors.New("an id has 1 to 64 bytes")
	}
	return nil
}
