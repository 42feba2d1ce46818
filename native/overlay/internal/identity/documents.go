package identity

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// Document kinds. The kind is part of what is signed, so that one document cannot pose as another.
const (
	DocPolicy      = "policy"
	DocRevocations = "revocations"
	DocRoots       = "roots"
)

func documentBytes(kind, payload string) []byte {
	return []byte("seganet-overlay document 1 " + kind + "\x00" + payload)
}

// Sign encodes a document and signs it.
func (a *Authority) Sign(kind string, doc wire.Validator) (wire.Signed, error) {
	if err := doc.Validate(); err != nil {
		return wire.Signed{}, err
	}
	payload, err := wire.Marshal(doc)
	if err != nil {
		return wire.Signed{}, err
	}
	if kind == DocPolicy && len(payload) > wire.MaxPolicyBytes {
		return wire.Signed{}, fmt.Errorf("the policy has %d bytes, the limit is %d", len(payload), wire.MaxPolicyBytes)
	}
	s := wire.Signed{Payload: string(payload), Signature: ed25519.Sign(a.Key, documentBytes(kind, string(payload)))}
	for _, c := range a.Chain {
		s.Chain = append(s.Chain, c.Raw...)
	}
	return s, nil
}

// Open checks that a signer under one of the roots signed the document, and decodes it. Callers must also compare the
// document's number with the newest one that they have seen: an old document has a good signature, too.
func Open(kind string, s wire.Signed, roots *x509.CertPool, now time.Time, doc wire.Validator) error {
	if err := s.Validate(); err != nil {
		return err
	}
	chain, err := ParseChain(s.Chain)
	if err != nil {
		return err
	}
	if err := verifyChain(chain, roots, x509.ExtKeyUsageAny, now); err != nil {
		return err
	}
	pub, ok := chain[0].PublicKey.(ed25519.PublicKey)
	if !ok || !chain[0].IsCA || chain[0].KeyUsage&x509.KeyUsageCRLSign == 0 {
		return errors.New("the document's signer is not an authentication service")
	}
	if !ed25519.Verify(pub, documentBytes(kind, s.Payload), s.Signature) {
		return fmt.Errorf("the signature of the document %q is wrong", kind)
	}
	return wire.Decode([]byte(s.Payload), wire.MaxFrameBytes, doc)
}

func signalBytes(from, to, kind string, epoch int64, data string) []byte {
	return []byte("seganet-overlay signal 1 " + from + " " + to + " " + kind + " " + strconv.FormatInt(epoch, 10) + "\x00" + data)
}

// SignSignal signs what the services forward, so that they cannot change it. from is the signer's FQDN.
func (k *Keys) SignSignal(from, to, kind string, epoch int64, data string) []byte {
	return ed25519.Sign(k.Identity, signalBytes(from, to, kind, epoch, data))
}

// CheckSignal is true if the peer signed the signal for the node with the FQDN to.
func CheckSignal(p Peer, to, kind string, epoch int64, data string, signature []byte) bool {
	pub, ok := p.Certificate.PublicKey.(ed25519.PublicKey)
	return ok && len(signature) == ed25519.SignatureSize && ed25519.Verify(pub, signalBytes(p.FQDN, to, kind, epoch, data), signature)
}
