package auth

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"seganet.internal/overlay/internal/wire"
)

// Buckets of the database. Values are JSON.
var (
	bucketMeta        = []byte("meta")        // metaNetwork, metaID, metaPolicy, counters
	bucketAuthorities = []byte("authorities") // sequence → authorityRecord
	bucketInvites     = []byte("invites")     // SHA-256 of the token → inviteRecord
	bucketNodes       = []byte("nodes")       // name → nodeRecord
	bucketKeys        = []byte("keys")        // "ed" or "wg" + public key → name, or "-" after a revocation
	bucketNumbers     = []byte("numbers")     // 16-bit number → numberRecord
	bucketRevoked     = []byte("revoked")     // serial → revokedRecord
	bucketSeen        = []byte("seen")        // FQDN → seenRecord; it may be lost
)

var (
	metaNetwork = []byte("network")
	metaID      = []byte("id")
	metaPolicy  = []byte("policy")
	metaVersion = []byte("version")     // of all documents
	metaRevNo   = []byte("revocations") // number of the revocation list
	metaRootNo  = []byte("roots")       // number of the list of roots
	metaCursor  = []byte("cursor")      // last number that was given
	metaLive    = []byte("live")        // nodes that are not revoked
	metaFormat  = []byte("format")
)

const format = "1"

// openDatabase opens or creates the file. network is required to create it. An existing file must belong to network,
// unless network is empty.
func openDatabase(dir, network string) (*bbolt.DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, databaseFile)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 2 * time.Second})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("another process has %s open. Stop it, or choose another folder with --state", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return prepare(tx, network) })
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}

func prepare(tx *bbolt.Tx, network string) error {
	for _, name := range [][]byte{bucketMeta, bucketAuthorities, bucketInvites, bucketNodes, bucketKeys, bucketNumbers, bucketRevoked, bucketSeen} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	if f := meta.Get(metaFormat); f != nil && string(f) != format {
		return fmt.Errorf("the file has the format %s, this program reads %s. Use the program that wrote it", f, format)
	}
	if old := string(meta.Get(metaNetwork)); old != "" {
		if network != "" && network != old {
			return fmt.Errorf("the file is of the network %q, not %q. Choose another folder with --state", old, network)
		}
		return nil
	}
	if err := wire.CheckLabel("the network's name", network); err != nil {
		return err
	}
	var id [5]byte // RFC 4193, section 3.2: 40 random bits
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	policy, err := wire.Marshal(wire.Policy{Allow: []wire.Rule{}})
	if err != nil {
		return err
	}
	return errors.Join(meta.Put(metaFormat, []byte(format)), meta.Put(metaNetwork, []byte(network)),
		meta.Put(metaID, []byte(hex.EncodeToString(id[:]))), meta.Put(metaPolicy, policy))
}

// getJSON returns false if the key does not exist.
func getJSON(b *bbolt.Bucket, key []byte, v any) (bool, error) {
	data := b.Get(key)
	if data == nil {
		return false, nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("a record of the database cannot be read: %w. Restore the file from a backup", err)
	}
	return true, nil
}

func putJSON(b *bbolt.Bucket, key []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}

// counter reads a number of the meta bucket.
func counter(tx *bbolt.Tx, key []byte) int64 {
	if b := tx.Bucket(bucketMeta).Get(key); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func setCounter(tx *bbolt.Tx, key []byte, v int64) error {
	return tx.Bucket(bucketMeta).Put(key, binary.BigEndian.AppendUint64(nil, uint64(v)))
}

// advance assigns the next numbers to changed documents.
func advance(tx *bbolt.Tx, now time.Time, keys ...[]byte) error {
	for _, key := range keys {
		if err := setCounter(tx, key, nextNumber(counter(tx, key), now)); err != nil {
			return err
		}
	}
	return nil
}

// nextNumber returns the number of a document that follows the one with the number last. Nodes ignore documents with a
// lower number than the highest that they have seen. So numbers must also grow when the database is restored from a
// backup: each is at least the Unix time in seconds.
func nextNumber(last int64, now time.Time) int64 { return max(last+1, now.Unix()) }
