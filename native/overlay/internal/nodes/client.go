package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/nat64"
	"seganet.internal/overlay/internal/wire"
)

// Client is a node's connection to the service.
//
// Thread safety: Send may be called concurrently, Receive by one goroutine.
type Client struct {
	conn    *websocket.Conn
	silence time.Duration
}

// Dial connects to url (wss://host:port/v1/signal). conf is Member.ClientTLS.
func Dial(ctx context.Context, url string, conf *tls.Config, g Greeting) (*Client, error) {
	// Each attempt has a transport of its own, so a connection that was refused must not stay open in it.
	// TCP's own keepalives, each 15 s, would be most of what a silent node sends; its pings do the same.
	dialer := &net.Dialer{KeepAlive: -1}
	transport := &http.Transport{DialContext: nat64.Default.Dialer(dialer), TLSClientConfig: conf, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	conn, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, HTTPHeader: g.header()})
	if err != nil {
		if res != nil && res.Body != nil {
			if text, e := io.ReadAll(io.LimitReader(res.Body, 1024)); e == nil && len(text) > 0 {
				return nil, fmt.Errorf("%s refuses the connection: %s", url, strings.TrimSpace(string(text)))
			}
		}
		return nil, err
	}
	conn.SetReadLimit(wire.MaxFrameBytes)
	return &Client{conn, readSilence(res.Header)}, nil
}

// Silence is how long the services let the node be silent, if Greeting asked for that. It is 0 if it did not, or if the
// services are of an earlier version.
func (c *Client) Silence() time.Duration { return c.silence }

// Send writes a message. If ctx ends meanwhile, the connection is closed.
func (c *Client) Send(ctx context.Context, m wire.Message) error {
	frame, err := wire.Encode(m)
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, websocket.MessageText, frame)
}

// Receive returns the next message. If ctx ends meanwhile, the connection is closed.
func (c *Client) Receive(ctx context.Context) (wire.Message, error) {
	kind, frame, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errors.New("the node management service sent a binary frame")
	}
	return wire.DecodeFromServices(frame)
}

// Close ends the connection at once.
func (c *Client) Close() { _ = c.conn.CloseNow() }
