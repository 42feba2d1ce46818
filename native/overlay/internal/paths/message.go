package paths

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// CandidatesMost bounds the candidates that one round accepts from the peer.
const CandidatesMost = 64

// decodeOffer reads an offer and leaves the relay addresses that can be used in it.
func decodeOffer(data []byte) (o wire.Offer, err error) {
	if err = wire.Decode(data, wire.MaxSignalDataBytes, &o); err != nil {
		return o, err
	}
	kept := o.Relays[:0]
	for _, r := range o.Relays {
		r = unmap(r)
		if r.IsValid() && r.Port() != 0 && !r.Addr().IsUnspecified() && !r.Addr().IsMulticast() && r.Addr().Zone() == "" {
			kept = append(kept, r)
		}
	}
	o.Relays = kept
	return o, nil
}

// Control messages travel inside the session. First byte: version, second: type.
const (
	controlVersion = 1

	controlReport = 1 // [2] 1: packets arrive by the direct path; [3:7] ms since it did
	controlEcho   = 2 // [2:10] id
	controlReply  = 3 // [2:10] id
	controlSignal = 4 // a signalling message (JSON), while the node service is out of reach
)

// report is the control message that says whether the peer's packets arrive by the direct path.
type report struct {
	direct bool
	age    time.Duration // since the last one
}

func encodeReport(r report) []byte {
	b := []byte{controlVersion, controlReport, 0, 0, 0, 0, 0}
	if r.direct {
		b[2] = 1
	}
	binary.BigEndian.PutUint32(b[3:], uint32(min(r.age.Milliseconds(), 1<<32-1)))
	return b
}

func encodeEcho(kind byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{controlVersion, kind}, id)
}

// tunnelled is a signalling message inside the session. The session authenticates it, so it needs no signature.
type tunnelled struct {
	Kind  string `json:"kind"`
	Epoch int64  `json:"epoch"`
	Data  string `json:"data"`
}

// Validate implements wire.Validator.
func (t *tunnelled) Validate() error {
	if t.Kind != wire.SignalOffer && t.Kind != wire.SignalCandidate || t.Epoch <= 0 {
		return errControl
	}
	return nil
}

func encodeTunnelled(t tunnelled) ([]byte, error) {
	b, err := json.Marshal(t)
	return append([]byte{controlVersion, controlSignal}, b...), err
}

// control is a decoded control message: exactly one field is set.
type control struct {
	report *report
	echo   *uint64
	reply  *uint64
	signal *tunnelled
}

var errControl = errors.New("the control message cannot be read")

func decodeControl(b []byte) (control, error) {
	if len(b) < 2 || b[0] != controlVersion {
		return control{}, errControl
	}
	switch {
	case b[1] == controlReport && len(b) == 7 && b[2] <= 1:
		return control{report: &report{b[2] == 1, time.Duration(binary.BigEndian.Uint32(b[3:])) * time.Millisecond}}, nil
	case b[1] == controlEcho && len(b) == 10:
		id := binary.BigEndian.Uint64(b[2:])
		return control{echo: &id}, nil
	case b[1] == controlReply && len(b) == 10:
		id := binary.BigEndian.Uint64(b[2:])
		return control{reply: &id}, nil
	case b[1] == controlSignal:
		var t tunnelled
		if err := wire.Decode(b[2:], wire.MaxSignalDataBytes, &t); err != nil {
			return control{}, err
		}
		return control{signal: &t}, nil
	}
	return control{}, errControl
}
