package portmap

import (
	"net/netip"
	"testing"
	"time"
)

func FuzzUDPAnswers(f *testing.F) {
	f.Add(pcpAnswerTo(encodePCPMap([12]byte{1}, netip.AddrPortFrom(loopback, insidePort), outside, 3600), outside, 3600, 9))
	f.Add([]byte{2, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 128, 0, 0, 0, 0, 0, 9, 203, 0, 113, 7})
	f.Add([]byte{0, 129, 0, 0, 0, 0, 0, 9, 162, 169, 195, 80, 0, 0, 14, 16})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWorker(&Config{}, here, nil)
		w.mapping = &Mapping{Outside: outside}
		w.announced(b, time.Now())
		if p, err := decodePCP(b); err == nil && (len(b) < pcpHeader || p.op == opMap && len(b) < pcpHeader+pcpMap) {
			t.Errorf("taken: %x", b)
		}
		if a, err := decodeNATPMP(b); err == nil && a.result == 0 && a.op == natpmpAddress && !a.address.Is4() {
			t.Errorf("taken: %x", b)
		}
	})
}
