package serve

import (
	"context"
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
	pins    *authclient.Pins
	mu      sync.Mutex
	docs    wire.Documents
	roots   [][]byte // DER, of docs
	changed chan struct{}
	trouble *trouble
}

const feedRetry = time.Second // after a failed request

// openFeed waits for the first documents. It trusts their list of roots, because it comes from the pinned service.
func openFeed(ctx context.Context, c *authclient.Client, pins *authclient.Pins, problems *trouble) (*feed, error) {
	f := &feed{client: c, pins: pins, changed: make(chan struct{}), trouble: problems}
	for {
		docs, err := c.Feed(ctx, -1)
		if err == nil {
			err = f.learn(docs)
		}
		if err == nil {
			f.docs = docs
			return f, nil
		}
		slog.Warn("the authentication service cannot be reached; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(feedRetry):
		}
	}
}

// learn pins the network's current roots, so that a rotation of the CA does not end the connection.
func (f *feed) learn(docs wire.Documents) error {
	var list wire.Roots
	if err := wire.Decode([]byte(docs.Roots.Payload), wire.MaxFrameBytes, &list); err != nil {
		return err
	}
	prints := make([]string, len(list.Certificates))
	for i, der := range list.Certificates {
		prints[i] = identity.Fingerprint(der)
	}
	f.pins.Set(prints)
	f.roots = list.Certificates
	return nil
}

// run requests newer documents until ctx ends. While the authentication service is down, the last ones stay.
func (f *feed) run(ctx context.Context) {
	for ctx.Err() == nil {
		f.mu.Lock()
		version := f.docs.Version
		f.mu.Unlock()
		docs, err := f.client.Feed(ctx, version)
		f.trouble.set("the authentication service cannot be reached", err)
		if err != nil {
			if ctx.Err() == nil {
				slog.Warn("the authentication service cannot be reached; nodes continue with the known documents", "error", err)
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
		if err := f.learn(docs); err != nil {
			slog.Error("the authentication service's list of roots cannot be read", "error", err)
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
