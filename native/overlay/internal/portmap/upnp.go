package portmap

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/huin/goupnp"
	"github.com/huin/goupnp/soap"
)

const (
	upnpLimit       = 3 * time.Second // for a request
	bodyMost        = 256 << 10       // bytes of a description or an answer
	conflictsMost   = 3               // further ports to try
	upnpDescription = "seganet-overlay"
)

// services are the services that map ports, the best first (UPnP WANIPConnection:1 and :2, WANPPPConnection:1).
var services = []string{"urn:schemas-upnp-org:service:WANIPConnection:2", "urn:schemas-upnp-org:service:WANIPConnection:1",
	"urn:schemas-upnp-org:service:WANPPPConnection:1"}

// Codes of UPnP errors (UPnP WANIPConnection:2 §2.5).
const (
	upnpInvalidArgs   = 402
	upnpConflict      = 718
	upnpOnlyPermanent = 725
)

var upnpErrors = map[int]string{401: "action not offered", 402: "malformed request", 501: "the router failed", 606: "not authorized", 718: "the ports are taken",
	724: "inside and outside port must be the same", 725: "only permanent mappings", 726: "mappings must be for all peers", 728: "no more mappings", 729: "another service of the router has the port"}

var errNoService = errors.New("the router offers no service that maps ports")

// service is a service of the gateway that maps ports.
type service struct {
	kind   string
	client *soap.SOAPClient
}

// upnp requests a mapping by UPnP.
type upnp struct {
	gateway Gateway
	group   netip.AddrPort
	found   *service
}

func (p *upnp) name() string { return "UPnP" }

// httpClient returns a client that reaches the gateway only, and reads bodies up to a limit.
func (g Gateway) httpClient() http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: g.Inside.AsSlice()}, Control: g.bindToInterface}
	return http.Client{Timeout: upnpLimit, Transport: limited{&http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if to, err := netip.ParseAddrPort(address); err != nil || to.Addr() != g.Address {
				return nil, errors.New("the address is not the router's")
			}
			return d.DialContext(ctx, "tcp4", address)
		}}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// limited is a transport whose bodies end at bodyMost.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(a.Body, bodyMost), a.Body}
	return a, nil
}

// describe fetches a description and returns the gateway's best service.
func (g Gateway) describe(ctx context.Context, at *url.URL) (*service, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	client := g.httpClient()
	a, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the router answers %d", a.StatusCode)
	}
	kind, control, err := decodeDescription(a.Body, at, g.Address)
	if err != nil {
		return nil, err
	}
	s := soap.NewSOAPClient(*control)
	s.HTTPClient = g.httpClient()
	return &service{kind, s}, nil
}

// decodeDescription returns the best service of a description, with the URL that takes its actions.
func decodeDescription(b io.Reader, at *url.URL, gateway netip.Addr) (kind string, control *url.URL, err error) {
	d := xml.NewDecoder(io.LimitReader(b, bodyMost))
	d.DefaultSpace = goupnp.DeviceXMLNamespace
	var root goupnp.RootDevice
	if err := d.Decode(&root); err != nil {
		return "", nil, err
	}
	base := at
	if u, err := url.Parse(root.URLBaseStr); err == nil && checkURL(u, gateway) == nil {
		base = u
	}
	root.SetURLBase(base)
	for _, kind := range services {
		for _, s := range root.Device.FindService(kind) {
			if s.ControlURL.Ok && checkURL(&s.ControlURL.URL, gateway) == nil {
				return kind, &s.ControlURL.URL, nil
			}
		}
	}
	return "", nil, errNoService
}

func (s *service) outside(ctx context.Context) (a netip.Addr, err error) {
	var out struct{ NewExternalIPAddress string }
	if err := s.client.PerformActionCtx(ctx, s.kind, "GetExternalIPAddress", nil, &out); err != nil {
		return a, err
	}
	return netip.ParseAddr(out.NewExternalIPAddress)
}

type mappingKey struct{ NewRemoteHost, NewExternalPort, NewProtocol string }

type mappingRequest struct {
	NewRemoteHost, NewExternalPort, NewProtocol, NewInternalPort, NewInternalClient, NewEnabled, NewPortMappingDescription, NewLeaseDuration string
}

// add requests a mapping and returns its outside port.
func (s *service) add(ctx context.Context, inside netip.AddrPort, port uint16, seconds uint32) (uint16, error) {
	in := mappingRequest{NewExternalPort: strconv.Itoa(int(port)), NewProtocol: "UDP", NewInternalPort: strconv.Itoa(int(inside.Port())),
		NewInternalClient: inside.Addr().String(), NewEnabled: "1", NewPortMappingDescription: upnpDescription, NewLeaseDuration: strconv.FormatUint(uint64(seconds), 10)}
	if s.kind == services[0] {
		var out struct{ NewReservedPort string }
		if err := s.client.PerformActionCtx(ctx, s.kind, "AddAnyPortMapping", &in, &out); err == nil {
			p, err := strconv.ParseUint(out.NewReservedPort, 10, 16)
			return uint16(p), err
		}
	}
	return port, s.client.PerformActionCtx(ctx, s.kind, "AddPortMapping", &in, nil)
}

func (p *upnp) ask(ctx context.Context, port uint16, wish netip.AddrPort) (g grant, err error) {
	if p.found == nil {
		if err := p.find(ctx); err != nil {
			return g, err
		}
	}
	address, err := p.found.outside(ctx)
	if err != nil {
		return g, plain(err)
	}
	if err := checkOutside(netip.AddrPortFrom(address, port)); err != nil { // as 0.0.0.0 of a router that is not connected
		return g, err
	}
	seconds, outside := uint32(lifetimeAsked), wish.Port()
	for conflicts := 0; ; {
		got, err := p.found.add(ctx, netip.AddrPortFrom(p.gateway.Inside, port), outside, seconds)
		code := upnpCode(err)
		switch {
		case err == nil:
			return grant{netip.AddrPortFrom(address, got), lifetimeAsked * time.Second}, nil
		case (code == upnpOnlyPermanent || code == upnpInvalidArgs) && seconds != 0:
			seconds = 0 // permanent: it is removed at the end
		case code == upnpConflict && conflicts < conflictsMost:
			conflicts++
			outside = uint16(49152 + rand.IntN(16384)) // RFC 6335 §6: dynamic ports
		default:
			return g, plain(err)
		}
	}
}

func (p *upnp) find(ctx context.Context) error {
	var last error
	err := p.gateway.search(ctx, p.group, func(at *url.URL) bool {
		p.found, last = p.gateway.describe(ctx, at)
		return last == nil
	})
	if err != nil && last != nil {
		return plain(last)
	}
	return err
}

func (p *upnp) release(ctx context.Context, _ uint16, outside netip.AddrPort) error {
	if p.found == nil {
		return nil
	}
	in := mappingKey{NewExternalPort: strconv.Itoa(int(outside.Port())), NewProtocol: "UDP"}
	return p.found.client.PerformActionCtx(ctx, p.found.kind, "DeletePortMapping", &in, nil)
}

func upnpCode(err error) int {
	var fault *soap.SOAPFaultError
	if errors.As(err, &fault) {
		return fault.Detail.UPnPError.Errorcode
	}
	return 0
}

// plain returns an error that status can show: it quotes nothing from the router.
func plain(err error) error {
	if errors.Is(err, errNoService) {
		return err
	}
	code := upnpCode(err)
	if what := upnpErrors[code]; what != "" {
		return errors.New(what)
	}
	if code != 0 {
		return fmt.Errorf("error %d", code)
	}
	return errors.New("the router's answer cannot be used")
}
