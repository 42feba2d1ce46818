package authclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"seganet.internal/overlay/internal/eyeballs"
	"seganet.internal/overlay/internal/nat64"
)

const (
	// connectDelay is the time after which the next URL is tried beside one that does not answer.
	connectDelay = 500 * time.Millisecond
	// connectLimit bounds the search for a URL that answers.
	connectLimit = 10 * time.Second
)

// target is a URL that connect can reach itself.
type target struct {
	at  string // host and port
	tls *tls.Config
}

// targets returns the targets of URLs, or nil if they are not all reached by TLS without a proxy.
func (c *Client) targets(urls []string) (list []target) {
	transport, ok := c.http.Transport.(*http.Transport)
	if !ok || len(urls) < 2 || transport.TLSClientConfig == nil {
		return nil
	}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" {
			return nil
		}
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
			return nil
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		conf := transport.TLSClientConfig.Clone()
		if conf.ServerName == "" {
			conf.ServerName = u.Hostname()
		}
		list = append(list, target{net.JoinHostPort(u.Hostname(), port), conf})
	}
	return list
}

// connect returns a connection to the first target whose TLS handshake succeeds, and the target's number.
func connect(ctx context.Context, targets []target) (net.Conn, int, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	return eyeballs.First(ctx, len(targets), connectDelay, func(ctx context.Context, i int) (net.Conn, error) {
		t := targets[i]
		raw, err := nat64.Default.Dialer(&net.Dialer{})(ctx, "tcp", t.at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.at, err)
		}
		conn := tls.Client(raw, t.tls)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("%s: %w", t.at, err)
		}
		return conn, nil
	}, func(conn net.Conn) { _ = conn.Close() })
}

// by returns a client that sends one request by a connection.
func (c *Client) by(conn net.Conn) *http.Client {
	var used atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection has ended")
		}
		return conn, nil
	}
	return &http.Client{Timeout: c.http.Timeout, Transport: &http.Transport{DialTLSContext: dial, DisableKeepAlives: true}}
}
