package auth

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// numberRecord records who owns, or owned, a number. A number n stands for two addresses: the n-th of 198.18.0.0/16 and
// the n-th of the network's IPv6 prefix.
type numberRecord struct {
	Owner    string    `json:"owner"` // node, or device.node
	Released time.Time `json:"released,omitzero"`
}

const lastNumber = 65534 // 198.18.0.0 and 198.18.255.255 are not given

// allocate assigns the next number that has no owner and was not released within AddressRest. It continues after the
// last number that it assigned and wraps around, so that a released number stays unused for as long as possible.
func allocate(tx *bbolt.Tx, owner string, now time.Time) (uint16, error) {
	numbers := tx.Bucket(bucketNumbers)
	n := counter(tx, metaCursor)
	for range lastNumber {
		n++
		if n > lastNumber {
			n = 1
		}
		var r numberRecord
		has, err := getJSON(numbers, numberKey(uint16(n)), &r)
		if err != nil {
			return 0, err
		}
		if has && (r.Released.IsZero() || now.Sub(r.Released) < AddressRest) {
			continue
		}
		if err := setCounter(tx, metaCursor, n); err != nil {
			return 0, err
		}
		return uint16(n), putJSON(numbers, numberKey(uint16(n)), numberRecord{Owner: owner})
	}
	return 0, &wire.Error{Code: wire.CodeFull, Text: "All 65534 addresses are given or rest for a year after their release. Make another network."}
}

// setReleased marks a number as released at a time; the zero time marks it as used again. It returns false if the
// number has another owner now.
func setReleased(tx *bbolt.Tx, n uint16, owner string, at time.Time) (bool, error) {
	var r numberRecord
	has, err := getJSON(tx.Bucket(bucketNumbers), numberKey(n), &r)
	if err != nil || !has || r.Owner != owner {
		return false, err
	}
	r.Released = at
	return true, putJSON(tx.Bucket(bucketNumbers), numberKey(n), r)
}

func numberKey(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

// prefix6 returns the network's unique local prefix of 48 bits.
func prefix6(tx *bbolt.Tx) [6]byte {
	p := [6]byte{0: 0xfd}
	_, _ = hex.Decode(p[1:], tx.Bucket(bucketMeta).Get(metaID)) // prepare wrote 10 digits
	return p
}

// Prefix6 returns the network's IPv6 prefix.
func (s *Service) Prefix6() (p netip.Prefix, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		six, _ := addresses(prefix6(tx), 0)
		p = netip.PrefixFrom(six, 48)
		return nil
	})
	return p, err
}

// addresses returns the IPv6 and the IPv4 address of a number.
func addresses(prefix [6]byte, n uint16) (six, four netip.Addr) {
	var a16 [16]byte
	copy(a16[:], prefix[:])
	binary.BigEndian.PutUint16(a16[14:], n)
	a4 := identity.Pool4().Addr().As4()
	binary.BigEndian.PutUint16(a4[2:], n)
	return netip.AddrFrom16(a16), netip.AddrFrom4(a4)
}
