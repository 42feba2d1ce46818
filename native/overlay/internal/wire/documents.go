package wire

import (
	"fmt"
	"time"
)

// Signed is a document of the authentication service. The services that carry it cannot change it: package identity
// signs and opens it.
type Signed struct {
	Payload   string `json:"payload"`   // JSON text of the document
	Signature []byte `json:"signature"` // Ed25519 over the document's kind and the payload
	Chain     []byte `json:"chain"`     // DER of the signer's certificate, then of its issuers
}

// Validate checks the sizes only; identity.Open checks the signature.
func (s *Signed) Validate() error {
	if len(s.Payload) == 0 || len(s.Payload) > MaxFrameBytes {
		return fmt.Errorf("the signed document has %d bytes; 1 to %d are possible", len(s.Payload), MaxFrameBytes)
	}
	if len(s.Signature) != 64 {
		return fmt.Errorf("the signature has %d bytes, an Ed25519 signature has 64", len(s.Signature))
	}
	return checkBytes("the signer's certificate", s.Chain, MaxCertificateBytes)
}

// Revocations lists the certificates that ended before their time. A certificate that has expired leaves the list.
type Revocations struct {
	Network string    `json:"network"`
	Number  int64     `json:"number"` // grows with each change; nodes ignore older lists
	Issued  time.Time `json:"issued"`
	Serials []string  `json:"serials"` // lower-case hexadecimal
}

// Validate checks the list's length and the form of each serial number.
func (r *Revocations) Validate() error {
	if err := CheckLabel("the network", r.Network); err != nil {
		return err
	}
	if r.Number < 0 {
		return fmt.Errorf("the revocation list's number %d is negative", r.Number)
	}
	if len(r.Serials) > MaxRevocations {
		return fmt.Errorf("the revocation list has %d certificates, the limit is %d", len(r.Serials), MaxRevocations)
	}
	for _, s := range r.Serials {
		if err := CheckSerial(s); err != nil {
			return err
		}
	}
	return nil
}

// Set returns the revoked serial numbers for identity.Verify.
func (r *Revocations) Set() map[string]struct{} {
	m := make(map[string]struct{}, len(r.Serials))
	for _, s := range r.Serials {
		m[s] = struct{}{}
	}
	return m
}

// Roots is the list of the roots that nodes shall trust. It is signed by a root that they already trust.
type Roots struct {
	Network      string    `json:"network"`
	Number       int64     `json:"number"` // grows with each change; nodes ignore older lists
	Issued       time.Time `json:"issued"`
	Certificates [][]byte  `json:"certificates"` // DER, self-signed
}

// Validate checks the number and the sizes of the roots.
func (r *Roots) Validate() error {
	if err := CheckLabel("the network", r.Network); err != nil {
		return err
	}
	if r.Number < 0 {
		return fmt.Errorf("the number %d of the list of roots is negative", r.Number)
	}
	if n := len(r.Certificates); n == 0 || n > MaxRoots {
		return fmt.Errorf("the list has %d roots; 1 to %d are possible", n, MaxRoots)
	}
	for _, c := range r.Certificates {
		if err := checkBytes("a root", c, MaxRequestBytes); err != nil {
			return err
		}
	}
	return nil
}

// Documents is what every node of a network knows, as the authentication service signed it.
type Documents struct {
	Version     int64  `json:"version"` // of the three together; counts changes
	Policy      Signed `json:"policy"`
	Revocations Signed `json:"revocations"`
	Roots       Signed `json:"roots"`
	// Suspended are the revoked serial numbers of nodes that are suspended, not revoked. The authentication service
	// adds them for node services that ask for them, because earlier versions accept no such key. They change only the
	// error text that a refused node receives.
	Suspended []string `json:"suspended,omitempty"`
}

// Validate checks the sizes of the three documents.
func (d *Documents) Validate() error {
	if len(d.Suspended) > MaxRevocations {
		return fmt.Errorf("%d certificates are suspended, the limit is %d", len(d.Suspended), MaxRevocations)
	}
	for _, s := range d.Suspended {
		if err := CheckSerial(s); err != nil {
			return err
		}
	}
	for _, s := range []*Signed{&d.Policy, &d.Revocations, &d.Roots} {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	return nil
}
