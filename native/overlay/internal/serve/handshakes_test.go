package serve_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"seganet.internal/overlay/internal/servetest"
)

func TestAClientWithoutHandshakesBlocksNoOther(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	at := r.AuthURLs[0][len("https://"):]
	from := func(local string) *net.Dialer {
		return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}, Timeout: servetest.Wait}
	}
	for range 64 {
		c, err := from("127.0.0.2").Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	over, err := from("127.0.0.2").Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	_ = over.SetReadDeadline(time.Now().Add(5 * time.Second)) // of a handshake, 10 s are left
	if _, err := over.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("a client has one handshake more than its share: %v", err)
	}
	pool, _ := r.Auth.Roots()
	client := &http.Client{Timeout: servetest.Wait, Transport: &http.Transport{DialContext: from("127.0.0.3").DialContext, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := client.Get(r.AuthURLs[0] + "/healthz")
	if err != nil {
		t.Fatalf("another client: %v", err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "ok\n" {
		t.Errorf("another client gets %q, %v", text, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
