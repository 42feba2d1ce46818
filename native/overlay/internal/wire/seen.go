package wire

import (
	"errors"
	"fmt"
	"time"
)

// MaxSeen bounds the nodes of one report.
const MaxSeen = 100

// Seen is a node service's report about a node's connection.
type Seen struct {
	Name      string    `json:"name"`   // FQDN
	Online    bool      `json:"online"` // connected to that service
	At        time.Time `json:"at"`     // since when it is, or when it was seen last
	From      string    `json:"from,omitempty"`
	Version   string    `json:"version,omitempty"`
	Twice     time.Time `json:"twice,omitzero"` // when two programs were seen to use its identity
	TwiceFrom []string  `json:"twiceFrom,omitempty"`
}

// SeenReport lists connected nodes for the authentication service: POST /v1/services/seen.
type SeenReport struct {
	Service string `json:"service"` // of this start of the node service
	Nodes   []Seen `json:"nodes"`
}

// Validate checks forms and sizes.
func (r *SeenReport) Validate() error {
	if len(r.Nodes) > MaxSeen {
		return fmt.Errorf("%d nodes, the limit is %d", len(r.Nodes), MaxSeen)
	}
	err := checkService(r.Service)
	for _, n := range r.Nodes {
		name, bad := ParseFQDN(n.Name)
		if bad == nil && name.Device != "" {
			bad = errors.New("a report is of nodes, not devices")
		}
		if len(n.TwiceFrom) > 2 {
			bad = errors.New("a node is seen in at most two places")
		}
		for _, text := range append([]string{n.From, n.Version}, n.TwiceFrom...) {
			bad = errors.Join(bad, checkText("a node's address or version", text, 64))
		}
		if err = errors.Join(err, bad); err != nil {
			return err
		}
	}
	return nil
}
