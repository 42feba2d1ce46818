package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// nodeRecord is a node that has joined. It is kept after a revocation, so that no other node can join under its name
// with the same proof.
type nodeRecord struct {
	Name         string         `json:"name"`
	Number       uint16         `json:"number"`
	Groups       []string       `json:"groups"`
	Devices      []deviceRecord `json:"devices"`
	Former       []deviceRecord `json:"former,omitempty"` // devices that were removed
	Certificates []issuedRecord `json:"certificates"`     // those that may still be valid
	Chain        []byte         `json:"chain"`            // newest certificate
	Key          []byte         `json:"key"`              // Ed25519, of the newest certificate
	WGKey        []byte         `json:"wgKey"`
	Joined       time.Time      `json:"joined"`
	By           string         `json:"by"`
	Revoked      time.Time      `json:"revoked,omitzero"`
	Reason       string         `json:"reason,omitempty"`
	Suspended    time.Time      `json:"suspended,omitzero"` // zero: it is not
	Resumed      time.Time      `json:"resumed,omitzero"`   // end of the last suspension
}

type deviceRecord struct {
	Name   string `json:"name"`
	Number uint16 `json:"number"`
}

type issuedRecord struct {
	Serial   string    `json:"serial"`
	NotAfter time.Time `json:"notAfter"`
}

type revokedRecord struct {
	Node      string    `json:"node"`
	NotAfter  time.Time `json:"notAfter"`
	Suspended bool      `json:"suspended,omitempty"` // leaves the list when the node is resumed
}

func readNode(tx *bbolt.Tx, name string) (*nodeRecord, error) {
	var n nodeRecord
	has, err := getJSON(tx.Bucket(bucketNodes), []byte(name), &n)
	if err != nil || !has {
		return nil, err
	}
	return &n, nil
}

// Join lets a node in. chain is the client certificate of the TLS connection, if there is one.
func (s *Service) Join(ctx context.Context, r wire.JoinRequest, chain []*x509.Certificate) (wire.Membership, error) {
	if err := r.Validate(); err != nil {
		return wire.Membership{}, invalid(err)
	}
	key, wg, err := identity.ParseRequest(r.CSR)
	if err != nil {
		return wire.Membership{}, invalid(err)
	}
	var p proof
	switch { // an invitation is verified in the transaction that consumes it
	case r.JWT != "":
		p, err = s.jwt.check(ctx, r.JWT)
	case r.Token == "":
		p, err = s.checkTrusted(chain)
	}
	if err != nil {
		return wire.Membership{}, err
	}
	var m wire.Membership
	err = s.update(func(tx *bbolt.Tx) error {
		now := s.now()
		if r.Token != "" {
			inv, err := useInvite(tx, r.Token, key, now)
			if err != nil {
				return err
			}
			p = proof{by: "invite", name: inv.Name, groups: inv.Groups}
		}
		old, err := readNode(tx, p.name)
		if err != nil {
			return err
		}
		if old != nil && old.Revoked.IsZero() {
			if p.by == "invite" && string(old.Key) == string(key) && string(old.WGKey) == string(wg[:]) && len(old.Certificates) == 1 {
				m = s.membership(tx, old) // the node repeats a request whose answer it did not receive
				return nil
			}
			return errTaken(p.name)
		}
		if old != nil && (p.by == "ca" || p.by == "jwt" && !p.issued.After(old.Revoked)) {
			return &wire.Error{Code: wire.CodeDenied, Text: fmt.Sprintf("The node %q is revoked. It can return by an invitation: seganet-overlay invite --name %s", p.name, p.name)}
		}
		if counter(tx, metaLive) >= maxNodes {
			return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("The network has %d nodes, which is the limit. Revoke some, or make another network.", maxNodes)}
		}
		if err := setCounter(tx, metaLive, counter(tx, metaLive)+1); err != nil {
			return err
		}
		n := &nodeRecord{Name: p.name, Groups: p.groups, Joined: now, By: p.by}
		if n.Number, err = allocate(tx, p.name, now); err != nil {
			return err
		}
		if err := s.issue(tx, n, key, wg, r.Devices, now, ""); err != nil {
			return err
		}
		m = s.membership(tx, n)
		return nil
	})
	m.RootList = s.current().docs.Roots // signed under the oldest root, which the invitation names
	return m, err
}

// Renew issues the next certificate of the node that peer identifies. Name, groups and addresses stay the same; the
// keys may change.
func (s *Service) Renew(r wire.RenewRequest, peer identity.Peer) (wire.Membership, error) {
	if err := r.Validate(); err != nil {
		return wire.Membership{}, invalid(err)
	}
	key, wg, err := identity.ParseRequest(r.CSR)
	if err != nil {
		return wire.Membership{}, invalid(err)
	}
	var m wire.Membership
	err = s.update(func(tx *bbolt.Tx) error {
		now := s.now()
		n, err := readNode(tx, peer.Name.Node)
		if err != nil {
			return err
		}
		if n == nil || !n.Revoked.IsZero() || !slices.ContainsFunc(n.Certificates, func(c issuedRecord) bool { return c.Serial == peer.Serial }) {
			return &wire.Error{Code: wire.CodeDenied, Text: "This certificate is not one of a current node's. Join again with a new invitation."}
		}
		if !n.Suspended.IsZero() {
			return &wire.Error{Code: wire.CodeDenied, Text: wire.SuspendedText}
		}
		if err := s.issue(tx, n, key, wg, r.Devices, now, peer.Serial); err != nil {
			return err
		}
		m = s.membership(tx, n)
		return nil
	})
	m.RootList = s.current().docs.Roots // signed under the oldest root, which may be the only one that the node knows
	return m, err
}

// issue signs a certificate for n and writes the record. used is the serial number of the certificate that the node
// presented, or empty. That certificate must stay valid: a node that cannot write to its disk has no other.
func (s *Service) issue(tx *bbolt.Tx, n *nodeRecord, key ed25519.PublicKey, wg [32]byte, devices []string, now time.Time, used string) error {
	n.Certificates = slices.DeleteFunc(n.Certificates, func(c issuedRecord) bool { return now.After(c.NotAfter) })
	if len(n.Certificates) >= maxCertificates {
		if err := retireOldest(tx, n, now, used); err != nil {
			return err
		}
	}
	if err := bindKeys(tx, n.Name, key, wg); err != nil {
		return err
	}
	if err := setDevices(tx, n, devices, now); err != nil {
		return err
	}
	ring, _, err := readKeyring(tx, now)
	if err != nil {
		return err
	}
	prefix := prefix6(tx)
	six, four := addresses(prefix, n.Number)
	chain, cert, err := ring.signer.Issue(identity.Subject{Node: n.Name, Network: s.network, Addresses: []netip.Addr{six, four}, Groups: n.Groups,
		Devices: wireDevices(prefix, n.Devices), Key: key, WGKey: wg}, now)
	if err != nil {
		return err
	}
	n.Chain, n.Key, n.WGKey = chain, key, wg[:]
	n.Certificates = append(n.Certificates, issuedRecord{identity.Serial(cert), cert.NotAfter})
	return putJSON(tx.Bucket(bucketNodes), []byte(n.Name), n)
}

// retireOldest revokes the oldest certificate, other than the used one, of a node that has reached maxCertificates;
// each change of its devices issues one. A node may have at most maxCertificates on the revocation list, and
// retireOldest fills at most half of the list. Otherwise a node that renews endlessly could fill it and prevent the
// revocation of others.
func retireOldest(tx *bbolt.Tx, n *nodeRecord, now time.Time, used string) error {
	b := tx.Bucket(bucketRevoked)
	all, own := 0, 0
	err := b.ForEach(func(_, v []byte) error {
		var r revokedRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return err
		}
		all++
		if r.Node == n.Name {
			own++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if own >= maxCertificates || all >= wire.MaxRevocations/2 {
		return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("The node has %d valid certificates, which is the limit. Each change of its devices makes one, for 7 days. Renew when a third of the life is left.", maxCertificates)}
	}
	at := slices.IndexFunc(n.Certificates, func(c issuedRecord) bool { return c.Serial != used })
	oldest := n.Certificates[at] // there are more than one
	n.Certificates = slices.Delete(n.Certificates, at, at+1)
	return errors.Join(putJSON(b, []byte(oldest.Serial), revokedRecord{Node: n.Name, NotAfter: oldest.NotAfter}), advance(tx, now, metaRevNo, metaVersion))
}

// bindKeys assigns both keys to the node. It rejects a key of another node: peers find a node by its WireGuard key, so
// two nodes with one key could impersonate each other. Revoke bans a node's keys, because a thief may have them.
func bindKeys(tx *bbolt.Tx, name string, key ed25519.PublicKey, wg [32]byte) error {
	b := tx.Bucket(bucketKeys)
	for _, k := range [][]byte{append([]byte("ed"), key...), append([]byte("wg"), wg[:]...)} {
		if owner := b.Get(k); owner != nil && string(owner) != name {
			return &wire.Error{Code: wire.CodeTaken, Text: "The key belongs to another node, or to one that was revoked. Delete identity.key and wireguard.key and join with new ones."}
		}
		if err := b.Put(k, []byte(name)); err != nil {
			return err
		}
	}
	return nil
}

// burnKeys bans every key that the node has used, so that no node can use it again.
func burnKeys(tx *bbolt.Tx, name string) error {
	b := tx.Bucket(bucketKeys)
	var keys [][]byte
	err := b.ForEach(func(k, v []byte) error {
		if string(v) == name {
			keys = append(keys, append([]byte(nil), k...))
		}
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, b.Put(k, []byte("-"))) // no node has this name
	}
	return err
}

// setDevices replaces the devices of n by names. A new device gets an address; existing and returning ones keep theirs
// if possible.
func setDevices(tx *bbolt.Tx, n *nodeRecord, names []string, now time.Time) error {
	before := n.Devices
	n.Devices = nil
	for _, d := range before {
		if slices.Contains(names, d.Name) {
			continue
		}
		if _, err := setReleased(tx, d.Number, d.Name+"."+n.Name, now); err != nil {
			return err
		}
		n.Former = append(n.Former, d)
	}
	if over := len(n.Former) - maxFormerDevices; over > 0 {
		n.Former = slices.Delete(n.Former, 0, over)
	}
	for _, name := range names {
		is := func(d deviceRecord) bool { return d.Name == name }
		if i := slices.IndexFunc(before, is); i >= 0 {
			n.Devices = append(n.Devices, before[i])
			continue
		}
		owner := name + "." + n.Name
		if i := slices.IndexFunc(n.Former, is); i >= 0 {
			d := n.Former[i]
			n.Former = slices.Delete(n.Former, i, i+1)
			if ok, err := setReleased(tx, d.Number, owner, time.Time{}); err != nil {
				return err
			} else if ok {
				n.Devices = append(n.Devices, d)
				continue
			}
		}
		number, err := allocate(tx, owner, now)
		if err != nil {
			return err
		}
		n.Devices = append(n.Devices, deviceRecord{name, number})
	}
	return nil
}

func wireDevices(prefix [6]byte, list []deviceRecord) []wire.Device {
	devices := make([]wire.Device, len(list))
	for i, d := range list {
		six, four := addresses(prefix, d.Number)
		devices[i] = wire.Device{Name: d.Name, Addr4: four, Addr6: six}
	}
	return devices
}

func (s *Service) membership(tx *bbolt.Tx, n *nodeRecord) wire.Membership {
	prefix := prefix6(tx)
	six, four := addresses(prefix, n.Number)
	last := n.Certificates[len(n.Certificates)-1]
	return wire.Membership{Network: s.network, Name: n.Name, FQDN: wire.NodeFQDN(n.Name, s.network), Groups: n.Groups,
		Addresses: []netip.Addr{six, four}, Devices: wireDevices(prefix, n.Devices), Certificate: n.Chain, Roots: s.current().ring.roots,
		Auth: s.opts.AuthURLs, Nodes: s.opts.NodeURLs, RenewAfter: last.NotAfter.Add(-identity.NodeLife / 3)}
}

// Revoke revokes a node. Its certificates are on the revocation list before Revoke returns, and its addresses are
// reserved for AddressRest.
func (s *Service) Revoke(r wire.RevokeRequest) error {
	if err := r.Validate(); err != nil {
		return invalid(err)
	}
	isNew := false
	err := s.update(func(tx *bbolt.Tx) error {
		now := s.now()
		n, err := readNode(tx, r.Name)
		if err != nil {
			return err
		}
		if n == nil {
			return &wire.Error{Code: wire.CodeUnknown, Text: fmt.Sprintf("There is no node %q. List the nodes: seganet-overlay nodes", r.Name)}
		}
		if !n.Revoked.IsZero() {
			return nil
		}
		b := tx.Bucket(bucketRevoked)
		count := b.Stats().KeyN
		for _, c := range n.Certificates {
			if now.After(c.NotAfter) {
				continue
			}
			if b.Get([]byte(c.Serial)) != nil {
				count-- // of a suspension
			}
			if count++; count > wire.MaxRevocations {
				return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("The revocation list has %d certificates, which is the limit. An entry leaves when its certificate expires, within 7 days; if that is too late, make a new network.", wire.MaxRevocations)}
			}
			if err := putJSON(b, []byte(c.Serial), revokedRecord{Node: n.Name, NotAfter: c.NotAfter}); err != nil {
				return err
			}
		}
		n.Revoked, n.Reason, n.Suspended, isNew = now, r.Reason, time.Time{}, true
		if err := errors.Join(burnKeys(tx, n.Name), setCounter(tx, metaLive, counter(tx, metaLive)-1)); err != nil {
			return err
		}
		if _, err := setReleased(tx, n.Number, n.Name, now); err != nil {
			return err
		}
		for _, d := range n.Devices {
			if _, err := setReleased(tx, d.Number, d.Name+"."+n.Name, now); err != nil {
				return err
			}
		}
		return errors.Join(putJSON(tx.Bucket(bucketNodes), []byte(n.Name), n), advance(tx, now, metaRevNo, metaVersion))
	})
	if err == nil && isNew {
		s.audit.Add(audit.Entry{Event: audit.Revoked, Node: r.Name, By: r.By, Text: r.Reason})
	}
	return err
}

// Nodes lists all nodes in the order of their names.
func (s *Service) Nodes() ([]wire.NodeInfo, error) {
	list := []wire.NodeInfo{}
	err := s.db.View(func(tx *bbolt.Tx) error {
		prefix := prefix6(tx)
		return tx.Bucket(bucketNodes).ForEach(func(k, _ []byte) error {
			var n nodeRecord
			if _, err := getJSON(tx.Bucket(bucketNodes), k, &n); err != nil {
				return err
			}
			six, four := addresses(prefix, n.Number)
			info := wire.NodeInfo{Name: n.Name, FQDN: wire.NodeFQDN(n.Name, s.network), Groups: n.Groups, Addresses: []netip.Addr{six, four},
				Devices: wireDevices(prefix, n.Devices), Joined: n.Joined, By: n.By, Revoked: n.Revoked, Reason: n.Reason, Suspended: n.Suspended}
			if len(n.Certificates) > 0 {
				info.Expires = n.Certificates[len(n.Certificates)-1].NotAfter
			}
			s.addSeen(&info, n.Resumed)
			list = append(list, info)
			return nil
		})
	})
	return list, err
}

func invalid(err error) error { return &wire.Error{Code: wire.CodeInvalid, Text: clip(err.Error())} }
