package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/wire"
)

// tokenPrefix makes tokens recognizable to scanners for leaked secrets.
const tokenPrefix = "sgov_"

// inviteRecord is an open or used invitation. The token itself is not stored.
type inviteRecord struct {
	Name    string    `json:"name"`
	Groups  []string  `json:"groups"`
	Expires time.Time `json:"expires"`
	UsedBy  []byte    `json:"usedBy,omitempty"` // identity key of the node that joined with it
}

// Invite makes a one-time token that lets one node join with this name and these groups.
func (s *Service) Invite(r wire.InviteRequest) (wire.Invite, error) {
	if err := r.Validate(); err != nil {
		return wire.Invite{}, &wire.Error{Code: wire.CodeInvalid, Text: err.Error()}
	}
	life := time.Duration(r.LifetimeSeconds) * time.Second
	if life == 0 {
		life = InviteLife
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return wire.Invite{}, err
	}
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	rec := inviteRecord{Name: r.Name, Groups: r.Groups, Expires: s.now().Add(life)}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketInvites)
		if b.Stats().KeyN >= maxInvites {
			return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("There are %d open invitations, which is the limit. Wait until some have expired.", maxInvites)}
		}
		if n, err := readNode(tx, r.Name); err != nil {
			return err
		} else if n != nil && n.Revoked.IsZero() {
			return errTaken(r.Name)
		}
		return putJSON(b, tokenHash(token), rec)
	})
	if err != nil {
		return wire.Invite{}, err
	}
	s.audit.Add(audit.Entry{Event: audit.Invited, Node: r.Name, By: r.By, Text: strings.Join(r.Groups, " ")})
	return wire.Invite{Token: token, Name: r.Name, Expires: rec.Expires, Root: s.Fingerprint(), Auth: s.opts.AuthURLs}, nil
}

// idBytes of the hash of a token are the id of its invitation.
const idBytes = 8

// Invitations lists the open invitations that expire first.
func (s *Service) Invitations() (list wire.InvitationList, err error) {
	list.Open = []wire.Invitation{}
	now := s.now()
	err = s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketInvites)
		return b.ForEach(func(k, _ []byte) error {
			var r inviteRecord
			if _, err := getJSON(b, k, &r); err != nil {
				return err
			}
			if r.UsedBy == nil && !now.After(r.Expires) {
				list.Open = append(list.Open, wire.Invitation{ID: hex.EncodeToString(k[:idBytes]), Name: r.Name, Groups: r.Groups, Expires: r.Expires})
			}
			return nil
		})
	})
	slices.SortFunc(list.Open, func(a, b wire.Invitation) int { return a.Expires.Compare(b.Expires) })
	if list.More = max(0, len(list.Open)-wire.MaxInvitations); list.More > 0 {
		list.Open = list.Open[:wire.MaxInvitations]
	}
	return list, err
}

// Withdraw ends an open invitation: its token lets no node join any more.
func (s *Service) Withdraw(r wire.WithdrawRequest) error {
	if err := r.Validate(); err != nil {
		return invalid(err)
	}
	unknown := &wire.Error{Code: wire.CodeUnknown, Text: "There is no such open invitation. If a node has used it, revoke the node. List them: seganet-overlay invitations"}
	id, err := hex.DecodeString(r.ID)
	if err != nil || len(id) != idBytes {
		return unknown
	}
	var rec inviteRecord
	err = s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketInvites)
		k, _ := b.Cursor().Seek(id)
		if !bytes.HasPrefix(k, id) {
			return unknown
		}
		if _, err := getJSON(b, k, &rec); err != nil {
			return err
		}
		if rec.UsedBy != nil {
			return unknown
		}
		return b.Delete(k)
	})
	if err == nil {
		s.audit.Add(audit.Entry{Event: audit.Withdrawn, Node: rec.Name, By: r.By})
	}
	return err
}

// tokenHash needs no salt or slow hash: a token has 256 random bits.
func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

var errToken = &wire.Error{Code: wire.CodeDenied, Text: "The token is wrong, has expired, or was used. Ask for a new invitation: seganet-overlay invite --name <name>"}

func errTaken(name string) error {
	return &wire.Error{Code: wire.CodeTaken, Text: fmt.Sprintf("The name %q belongs to a node. Choose another, or revoke that node: seganet-overlay revoke %s", name, name)}
}

// useInvite returns the invitation of a token and reserves it for this key. The same key may use it again, so that a
// node can repeat a request whose answer was lost. It rejects any other key.
func useInvite(tx *bbolt.Tx, token string, key []byte, now time.Time) (*inviteRecord, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return nil, errToken
	}
	b := tx.Bucket(bucketInvites)
	var r inviteRecord
	has, err := getJSON(b, tokenHash(token), &r)
	if err != nil {
		return nil, err
	}
	if !has || now.After(r.Expires) || r.UsedBy != nil && string(r.UsedBy) != string(key) {
		return nil, errToken
	}
	if r.UsedBy != nil {
		return &r, nil
	}
	used := r
	used.UsedBy = key
	return &r, putJSON(b, tokenHash(token), used)
}
