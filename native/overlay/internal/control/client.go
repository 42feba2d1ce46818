package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// Client sends requests to a running node, one at a time.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	id   int64
}

// Connect connects to the node of a state folder.
func Connect(state string) (*Client, error) {
	path := filepath.Join(state, SocketFile)
	c, err := net.DialTimeout("unix", path, 2*time.Second)
	if err != nil {
		return nil, fmt.Errorf("no node answers at %s (%w). Start one with: seganet-overlay node --state %s", path, err, state)
	}
	return &Client{conn: c, in: bufio.NewReader(c)}, nil
}

// Close ends the connection and the forwards that it opened.
func (c *Client) Close() { _ = c.conn.Close() }

// Ask sends a request and decodes the result.
func (c *Client) Ask(method string, params, result any, limit time.Duration) error {
	c.id++
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	b, err := json.Marshal(Request{ID: c.id, Method: method, Params: raw})
	if err != nil {
		return err
	}
	_ = c.conn.SetDeadline(time.Now().Add(limit))
	if _, err := c.conn.Write(append(b, '\n')); err != nil {
		return err
	}
	for {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the node does not answer: %w", err)
		}
		var a struct {
			ID     int64           `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *fault          `json:"error"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("the node's answer cannot be read: %w", err)
		}
		if a.ID != c.id {
			continue
		}
		if a.Error != nil {
			return errors.New(a.Error.Text)
		}
		return json.Unmarshal(a.Result, result)
	}
}
