package wire

import (
	"errors"
	"fmt"
)

// MaxClusterBytes is the length of the longest message between node services: a presence with a full hello and
// certificate.
const MaxClusterBytes = 128 << 10

// EncodeCluster returns a valid message between node services.
func EncodeCluster(m Message) ([]byte, error) {
	return encodeMessage(m, MaxClusterBytes)
}

// DecodeCluster reads a message between node services: *Beat, *Detail, *Presence, *Deliver, *News.
func DecodeCluster(text []byte) (Message, error) {
	return decodeMessage(text, MaxClusterBytes, func(kind string) Message {
		switch kind {
		case "beat":
			return &Beat{}
		case "detail":
			return &Detail{}
		case "presence":
			return &Presence{}
		case "deliver":
			return &Deliver{}
		case "news":
			return &News{}
		}
		return nil
	})
}

// Beat is a node service's heartbeat to the others.
type Beat struct {
	Service string `json:"service"`
	Sync    bool   `json:"sync,omitempty"`  // asks the others to report their nodes
	Ended   bool   `json:"ended,omitempty"` // the service stops; its nodes are gone
}

func (*Beat) Kind() string { return "beat" }

// Validate checks the service's name.
func (m *Beat) Validate() error { return checkService(m.Service) }

// Presence reports that a node has connected to a service, has a new hello, or is gone.
type Presence struct {
	Service     string `json:"service"`
	Name        string `json:"name"`  // FQDN of the node
	Since       int64  `json:"since"` // grows with each connection of the node, whichever service it is to
	Online      bool   `json:"online"`
	Certificate []byte `json:"certificate,omitempty"` // DER of the node's chain, if online
	Hello       Hello  `json:"hello,omitzero"`
}

func (*Presence) Kind() string { return "presence" }

// Validate checks forms and sizes; only identity.Verify makes the certificate trustworthy.
func (m *Presence) Validate() error {
	if err := checkService(m.Service); err != nil {
		return err
	}
	if n, err := ParseFQDN(m.Name); err != nil {
		return err
	} else if n.Device != "" {
		return errors.New("a presence is a node's, not a device's")
	}
	if m.Since <= 0 {
		return fmt.Errorf("the connection's number %d is not positive", m.Since)
	}
	if !m.Online {
		return nil
	}
	return errors.Join(checkBytes("the certificate", m.Certificate, MaxCertificateBytes), m.Hello.Validate())
}

// Detail adds to the presence with the same number, and precedes it. Services of an earlier version skip it.
type Detail struct {
	Service  string   `json:"service"`
	Name     string   `json:"name"`
	Since    int64    `json:"since"`
	Instance string   `json:"instance,omitempty"` // of the node's program
	Version  string   `json:"version,omitempty"`
	From     string   `json:"from,omitempty"`     // address of the node
	Groups   []string `json:"groups,omitempty"`   // of its devices
	AnyGroup bool     `json:"anyGroup,omitempty"` // they are not known
}

func (*Detail) Kind() string { return "detail" }

// Validate checks forms and sizes.
func (m *Detail) Validate() error {
	if err := checkService(m.Service); err != nil {
		return err
	}
	if _, err := ParseFQDN(m.Name); err != nil {
		return err
	}
	if m.Since <= 0 {
		return fmt.Errorf("the connection's number %d is not positive", m.Since)
	}
	return errors.Join(checkText("the instance", m.Instance, 64), checkText("the version", m.Version, 64), checkText("the address", m.From, 64),
		checkLabels("groups", m.Groups, MaxDevices*MaxGroups))
}

// Deliver carries a signal to the service that the receiver is connected to.
type Deliver struct {
	To     string `json:"to"` // FQDN of the receiver
	Signal Signal `json:"signal"`
}

func (*Deliver) Kind() string { return "deliver" }

// Validate checks both.
func (m *Deliver) Validate() error {
	if _, err := ParseFQDN(m.To); err != nil {
		return err
	}
	if m.Signal.From == "" {
		return errors.New("the signal has no sender")
	}
	return m.Signal.Validate()
}

// News carries signed documents to services that have not received them from the authentication service yet.
type News struct {
	Documents Documents `json:"documents"`
}

func (*News) Kind() string { return "news" }

// Validate checks the documents' sizes.
func (m *News) Validate() error { return m.Documents.Validate() }

func checkService(id string) error {
	if n := len(id); n < 8 || n > 64 {
		return fmt.Errorf("a node service's name has 8 to 64 characters, not %d", n)
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return errors.New("a node service's name has small letters and digits only")
		}
	}
	return nil
}
