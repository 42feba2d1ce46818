package identity

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of the key files in the state folder.
const (
	IdentityKeyFile  = "identity.key"  // PKCS #8, PEM
	WireGuardKeyFile = "wireguard.key" // base64, as "wg genkey" writes it
)

// Keys are a node's private keys.
type Keys struct {
	Identity  ed25519.PrivateKey
	WireGuard *ecdh.PrivateKey // X25519
}

// NewKeys draws both keys.
func NewKeys() (*Keys, error) {
	_, id, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	wg, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Keys{Identity: id, WireGuard: wg}, nil
}

// WGPrivate returns the private key that WireGuard's device takes.
func (k *Keys) WGPrivate() (key [32]byte) {
	copy(key[:], k.WireGuard.Bytes())
	return key
}

// WGPublic returns the public key that peers know.
func (k *Keys) WGPublic() (key [32]byte) {
	copy(key[:], k.WireGuard.PublicKey().Bytes())
	return key
}

// LoadKeys reads both keys of the state folder. The error wraps fs.ErrNotExist if there are none.
func LoadKeys(dir string) (*Keys, error) {
	id, err := readPrivate(filepath.Join(dir, IdentityKeyFile))
	if err != nil {
		return nil, err
	}
	key, err := ParseIdentityKey(id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, IdentityKeyFile), err)
	}
	wg, err := readPrivate(filepath.Join(dir, WireGuardKeyFile))
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(wg)))
	if err != nil {
		return nil, fmt.Errorf("%s is not a WireGuard key in base64. Delete it and join again", filepath.Join(dir, WireGuardKeyFile))
	}
	x, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, WireGuardKeyFile), err)
	}
	return &Keys{Identity: key, WireGuard: x}, nil
}

// LoadOrCreateKeys reads the keys of the state folder, or makes and writes them.
func LoadOrCreateKeys(dir string) (*Keys, error) {
	k, err := LoadKeys(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = NewKeys(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return k, k.Save(dir)
}

// Save writes both keys. LoadKeys reads the identity first, so it is written last: a crash between the two leaves a
// folder that LoadOrCreateKeys fills again.
func (k *Keys) Save(dir string) error {
	wg := base64.StdEncoding.EncodeToString(k.WireGuard.Bytes()) + "\n"
	if err := WriteFile(filepath.Join(dir, WireGuardKeyFile), []byte(wg)); err != nil {
		return err
	}
	text, err := MarshalIdentityKey(k.Identity)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, IdentityKeyFile), text)
}

// MarshalIdentityKey returns the key as PKCS #8 in PEM.
func MarshalIdentityKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseIdentityKey reads an Ed25519 key from PEM.
func ParseIdentityKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the file has no key in PEM. Restore it from a backup, or delete it and join again")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	ed, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not an Ed25519 key. The overlay uses no other kind")
	}
	return ed, nil
}
