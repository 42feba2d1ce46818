package portmap

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// igd is a fake UPnP router.
type igd struct {
	*httptest.Server
	group   *udpRouter
	kind    string // of its service
	address string // outside
	refuse  func(action string, in map[string]string) int

	mu       sync.Mutex
	actions  []string
	mappings map[string]string // inside address by outside port
}

const description = `<?xml version="1.0"?><root xmlns="urn:schemas-upnp-org:device-1-0"><device><deviceList><device><deviceList><device>
<serviceList><service><serviceType>%s</serviceType><controlURL>%s</controlURL></service></serviceList>
</device></deviceList></device></deviceList></device></root>`

// newIGD starts a router whose search answers name location; empty is its own description.
func newIGD(t *testing.T, kind, location string) *igd {
	t.Helper()
	r := &igd{kind: kind, address: "203.0.113.7", mappings: map[string]string{}, refuse: func(string, map[string]string) int { return 0 }}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /d.xml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, description, r.kind, "/control") })
	mux.HandleFunc("POST /control", r.control)
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	if location == "" {
		location = r.URL + "/d.xml"
	}
	r.group = newUDPRouter(t, func([]byte) [][]byte { return [][]byte{searchAnswer(location)} })
	return r
}

func searchAnswer(location string) []byte {
	return []byte("HTTP/1.1 200 OK\r\nST: " + searchTargets[0] + "\r\nLOCATION: " + location + "\r\n\r\n")
}

func (r *igd) control(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, action, _ := strings.Cut(strings.Trim(q.Header.Get("SOAPAction"), `"`), "#")
	body, _ := io.ReadAll(q.Body)
	in := map[string]string{}
	for _, name := range []string{"NewExternalPort", "NewInternalPort", "NewInternalClient", "NewLeaseDuration", "NewProtocol"} {
		if _, rest, ok := strings.Cut(string(body), "<"+name+">"); ok {
			in[name], _, _ = strings.Cut(rest, "<")
		}
	}
	r.actions = append(r.actions, action)
	if code := r.refuse(action, in); code != 0 {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="x"><s:Body><s:Fault><faultcode>s:Client</faultcode>`+
			`<faultstring>UPnPError</faultstring><detail><UPnPError><errorCode>%d</errorCode></UPnPError></detail></s:Fault></s:Body></s:Envelope>`, code)
		return
	}
	out := ""
	switch action {
	case "GetExternalIPAddress":
		out = "<NewExternalIPAddress>" + r.address + "</NewExternalIPAddress>"
	case "AddAnyPortMapping":
		out = "<NewReservedPort>50009</NewReservedPort>"
		r.mappings["50009"] = in["NewInternalClient"] + ":" + in["NewInternalPort"]
	case "AddPortMapping":
		r.mappings[in["NewExternalPort"]] = in["NewInternalClient"] + ":" + in["NewInternalPort"]
	case "DeletePortMapping":
		delete(r.mappings, in["NewExternalPort"])
	}
	fmt.Fprintf(w, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" s:encodingStyle="x"><s:Body><u:%sResponse xmlns:u="%s">%s</u:%sResponse></s:Body></s:Envelope>`,
		action, r.kind, out, action)
}

func (r *igd) state() (actions, mappings string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.actions, " "), fmt.Sprint(r.mappings)
}

func TestMapsByUPnPAndRemovesTheMapping(t *testing.T) {
	for name, c := range map[string]struct {
		kind    string
		refuse  func(action string, in map[string]string) int
		port    uint16
		actions string
	}{
		"IGDv1": {services[1], nil, insidePort, "GetExternalIPAddress AddPortMapping"},
		"PPP":   {services[2], nil, insidePort, "GetExternalIPAddress AddPortMapping"},
		"IGDv2": {services[0], nil, 50009, "GetExternalIPAddress AddAnyPortMapping"},
		"an IGDv2 without AddAnyPortMapping": {services[0], func(action string, _ map[string]string) int {
			if action == "AddAnyPortMapping" {
				return 401
			}
			return 0
		}, insidePort, "GetExternalIPAddress AddAnyPortMapping AddPortMapping"},
		"permanent mappings only": {services[1], func(_ string, in map[string]string) int {
			if in["NewLeaseDuration"] == fmt.Sprint(lifetimeAsked) {
				return upnpOnlyPermanent
			}
			return 0
		}, insidePort, "GetExternalIPAddress AddPortMapping AddPortMapping"},
		"a port that is taken": {services[1], func(_ string, in map[string]string) int {
			if in["NewExternalPort"] == fmt.Sprint(insidePort) {
				return upnpConflict
			}
			return 0
		}, 0, "GetExternalIPAddress AddPortMapping AddPortMapping"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newIGD(t, c.kind, "")
			if c.refuse != nil {
				r.refuse = c.refuse
			}
			m := start(t, func(c *Config) { c.group = r.group.address() })
			var got []netip.AddrPort
			eventually(t, "a mapping", func() bool {
				select {
				case got = <-m.changes:
					return true
				default:
					return false
				}
			})
			if len(got) != 1 || got[0].Addr() != outside.Addr() || c.port != 0 && got[0].Port() != c.port || c.port == 0 && got[0].Port() < 49152 {
				t.Errorf("outside: %v", got)
			}
			if s := m.Status(); s.Mappings[0].Protocol != "UPnP" {
				t.Errorf("%+v", s)
			}
			actions, mappings := r.state()
			if want := fmt.Sprintf("map[%d:127.0.0.1:%d]", got[0].Port(), insidePort); actions != c.actions || mappings != want {
				t.Errorf("%s, %s instead of %s", actions, mappings, want)
			}
			m.stop()
			m.expect(t)
			if _, mappings := r.state(); mappings != "map[]" {
				t.Errorf("after the end: %s", mappings)
			}
		})
	}
}

func TestReachesNoOtherHostForARouter(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Skip("SKIPPED: needs 127.0.0.2:", err)
	}
	var reached atomic.Int32
	other := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprintf(w, description, services[1], "/control")
	})}}
	other.Start()
	defer other.Close()
	page := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, location := range map[string]string{
		"a location":              other.URL + "/d.xml",
		"a name":                  "http://localhost:1/d.xml",
		"another scheme":          "https://127.0.0.1/d.xml",
		"a user":                  "http://127.0.0.2:80@127.0.0.1:1/",
		"no location":             "",
		"a redirect":              page(func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, other.URL, http.StatusFound) }),
		"the control URL":         page(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, description, services[1], other.URL) }),
		"a port that is too high": "http://127.0.0.1:99999/d.xml",
		"the base": page(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, strings.Replace(description, "<device>", "<URLBase>"+other.URL+"</URLBase><device>", 1), services[1], "/control")
		}),
		"a body without end": page(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<root>")
			for text := bytes.Repeat([]byte(" "), 1<<16); ; {
				if _, err := w.Write(text); err != nil {
					return
				}
			}
		}),
		"nested elements": page(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("<root>", 40000)) }),
	} {
		t.Run(name, func(t *testing.T) {
			search := newUDPRouter(t, func([]byte) [][]byte { return [][]byte{searchAnswer(location)} })
			m := start(t, func(c *Config) { c.group = search.address() })
			t.Log(m.refused(t))
			if n := reached.Load(); n != 0 {
				t.Errorf("another host got %d requests", n)
			}
		})
	}
}

func TestIgnoresSearchAnswersOfOthers(t *testing.T) {
	r := newIGD(t, services[1], "")
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)})
	if err != nil {
		t.Skip("SKIPPED: needs 127.0.0.2:", err)
	}
	defer c.Close()
	go func() {
		buf := make([]byte, 2048)
		for {
			_, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(searchAnswer(r.URL+"/d.xml"), from)
		}
	}()
	m := start(t, func(conf *Config) { conf.group = c.LocalAddr().(*net.UDPAddr).AddrPort() })
	m.refused(t)
	if actions, _ := r.state(); actions != "" {
		t.Errorf("asked: %s", actions)
	}
}

func TestRefusesALyingUPnPRouter(t *testing.T) {
	for name, change := range map[string]func(*igd){
		"no outside address":   func(r *igd) { r.address = "" },
		"loopback outside":     func(r *igd) { r.address = "127.0.0.1" },
		"0.0.0.0 outside":      func(r *igd) { r.address = "0.0.0.0" },
		"IPv6 outside":         func(r *igd) { r.address = "2001:db8::1" },
		"text outside":         func(r *igd) { r.address = strings.Repeat("x", 1000) },
		"another service":      func(r *igd) { r.kind = "urn:schemas-upnp-org:service:Layer3Forwarding:1" },
		"only conflicts":       func(r *igd) { r.refuse = refuseAdding(upnpConflict) },
		"never the right time": func(r *igd) { r.refuse = refuseAdding(upnpOnlyPermanent) },
		"not authorized":       func(r *igd) { r.refuse = refuseAdding(606) },
		"an unknown error":     func(r *igd) { r.refuse = refuseAdding(-5) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newIGD(t, services[1], "")
			change(r)
			m := start(t, func(c *Config) { c.group = r.group.address() })
			text := m.refused(t)
			t.Log(text)
			if strings.Contains(text, "xxx") {
				t.Error("the status quotes the router")
			}
			if actions, _ := r.state(); strings.Count(actions, "AddPortMapping") > 1+conflictsMost {
				t.Errorf("asked: %s", actions)
			}
		})
	}
}

func refuseAdding(code int) func(string, map[string]string) int {
	return func(action string, _ map[string]string) int {
		if action == "AddPortMapping" {
			return code
		}
		return 0
	}
}

func FuzzUPnPDescription(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(description, services[1], "/control")))
	f.Add([]byte("<root><URLBase>http://192.0.2.1/</URLBase></root>"))
	at, gateway := &url.URL{Scheme: "http", Host: "192.0.2.1:5000", Path: "/d.xml"}, netip.MustParseAddr("192.0.2.1")
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, control, err := decodeDescription(bytes.NewReader(b), at, gateway); err == nil && checkURL(control, gateway) != nil {
			t.Errorf("control URL %v", control)
		}
	})
}

func FuzzSearchAnswer(f *testing.F) {
	f.Add(searchAnswer("http://192.0.2.1:5000/d.xml"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n"))
	gateway := netip.MustParseAddr("192.0.2.1")
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, err := decodeSearch(b, gateway); err == nil && (at.Hostname() != "192.0.2.1" || at.Scheme != "http") {
			t.Errorf("location %v", at)
		}
	})
}
