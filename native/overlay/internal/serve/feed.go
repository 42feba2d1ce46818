package serve

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// feed is the documents of an authentication service in another process. It implements nodes.Source.
type feed struct {
	client  *authclient.Client
	mu      sync.Mutex
	docs    wire.Documents
	changed chan struct{}
}

const feedRetry = time.Second // after a failed request

// openFeed waits for the first documents.
func openFeed(ctx context.Context, c *authclient.Client) (*feed, error) {
	f := &feed{client: c, changed: make(chan struct{})}
	for {
		docs, err := c.Feed(ctx, -1)
		if err == nil {
			f.docs = docs
			return f, nil
		}
		slog.Warn("the authentication service cannot be asked; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(feedRetry):
		}
	}
}

// run asks for newer documents until ctx ends. While the authentication service is down, the last ones stay.
func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		f.mu.Lock()
		version := f.docs.Version
		f.mu.Unlock()
		docs, err := f.client.Feed(ctx, version)
		if err != nil {
			if ctx.Err() == nil {
				slog.Warn("the authentication service cannot be asked; nodes go on with what is known", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(feedRetry):
			}
			continue
		}
		if docs.Version == version {
			continue
		}
		f.mu.Lock()
		f.docs = docs
		close(f.changed)
		f.changed = make(chan struct{})
		f.mu.Unlock()
	}
}

// Documents implements nodes.Source.
func (f *feed) Documents() (wire.Documents, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.docs, f.changed
}

// pinnedRoot finds the root with the fingerprint in the signer's chain of the list of roots.
func pinnedRoot(docs wire.Documents, fingerprint string) (*x509.CertPool, error) {
	chain, err := identity.ParseChain(docs.Roots.Chain)
	if err != nil {
		return nil, err
	}
	for _, c := range chain {
		if identity.Fingerprint(c.Raw) == fingerprint {
			return identity.Pool([][]byte{c.Raw})
		}
	}
	return nil, fmt.Errorf("the authentication service does not have the root %s. Check --root; after a rotation of the CA it is a new one", fingerprint)
}
