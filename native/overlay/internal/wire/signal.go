package wire

import (
	"errors"
	"fmt"
	"net/netip"
)

// Offer is the Data of an offer: the ICE credentials of the sender's round and its relayed transport addresses.
type Offer struct {
	User     string           `json:"user"`     // ice-ufrag, RFC 8839: 4 to 256 characters
	Password string           `json:"password"` // ice-pwd: 22 to 256 characters
	Relays   []netip.AddrPort `json:"relays,omitempty"`
	Metered  bool             `json:"metered,omitempty"` // true if the sender wants few keep-alives
	NAT      string           `json:"nat,omitempty"`     // what the sender knows of its NAT: "none", "same", "symmetric", "blocked"
}

// Validate checks the lengths of the credentials.
func (o *Offer) Validate() error {
	if n := len(o.User); n < 4 || n > 256 {
		return fmt.Errorf("the ICE user has %d characters; 4 to 256 are possible", n)
	}
	if n := len(o.Password); n < 22 || n > 256 {
		return fmt.Errorf("the ICE password has %d characters; 22 to 256 are possible", n)
	}
	switch o.NAT {
	case "", "none", "same", "symmetric", "blocked":
	default:
		return errors.New("the kind of NAT is unknown")
	}
	return checkRelays(o.Relays)
}

// Candidate is the Data of a candidate, in the form of RFC 8839 as ICE's library writes it.
type Candidate struct {
	Candidate string `json:"candidate"`
}

// Validate checks the length; ICE's library parses the text.
func (c *Candidate) Validate() error {
	if c.Candidate == "" {
		return errors.New("the candidate is empty")
	}
	return checkText("the candidate", c.Candidate, MaxTextBytes)
}
