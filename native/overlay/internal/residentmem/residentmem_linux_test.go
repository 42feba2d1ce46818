package residentmem

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident returns the number of bytes of b whose pages are in memory.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	page := uintptr(os.Getpagesize())
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := at &^ (page - 1)
	count := (at + uintptr(len(b)) - from + page - 1) / page
	present := make([]byte, count)
	_, _, e := unix.Syscall(unix.SYS_MINCORE, from, count*page, uintptr(unsafe.Pointer(&present[0])))
	if e != 0 {
		t.Fatal(e)
	}
	n := 0
	for _, p := range present {
		n += int(p&1) * int(page)
	}
	return n
}

func TestDiscardFreesPagesAndKeepsTheOtherBytes(t *testing.T) {
	page := os.Getpagesize()
	all := bytes.Repeat([]byte{7}, 64*page)
	inner := all[page/2 : 63*page+page/2]
	before := resident(t, all)
	Discard([][]byte{inner, nil, all[:1]})
	if after := resident(t, all); before < 64*page || after > before-50*page {
		t.Errorf("%d bytes were resident before, %d are after", before, after)
	}
	if inner[0] != 7 || inner[len(inner)-1] != 7 || all[0] != 7 || all[len(all)-1] != 7 {
		t.Error("bytes outside of whole pages have changed")
	}
	if n := bytes.Count(all, []byte{0}); n < 60*page || n > 63*page {
		t.Errorf("%d bytes are zero", n)
	}
	copy(all, "used again")
}

func fileMB(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssFile:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("the kernel does not say how many pages of files are resident")
	return 0
}

func TestDropProgramUnmapsThePagesOfTheProgram(t *testing.T) {
	before := fileMB(t)
	if err := DropProgram(); err != nil {
		t.Fatal(err)
	}
	if after := fileMB(t); after >= before {
		t.Errorf("%d kB of files were mapped before, %d kB are after", before, after)
	}
}

const smaps = `00400000-00500000 r-xp 00000000 fe:00 12 /opt/a program
Size:               1024 kB
Anonymous:             0 kB
00500000-00600000 r--p 00100000 fe:00 12 /opt/a program
Anonymous:             4 kB
00600000-00700000 rw-p 00200000 fe:00 12 /opt/a program
Anonymous:             0 kB
00700000-00800000 r--s 00200000 fe:00 12 /opt/a program
Anonymous:             0 kB
00800000-00900000 r--p 00000000 fe:00 13 /opt/a
Anonymous:             0 kB
00900000-00a00000 r--p 00000000 00:00 0
Anonymous:             0 kB
00a00000-00b00000 r--p 00300000 fe:00 12 /opt/a program
Anonymous:             0 kB
VmFlags: rd mr mw me
`

func TestOnlyMappingsWithoutAWrittenPageCount(t *testing.T) {
	list, err := unchanged(strings.NewReader(smaps), "/opt/a program")
	if err != nil || !slices.Equal(list, []area{{0x400000, 0x500000}, {0xa00000, 0xb00000}}) {
		t.Errorf("%x, %v", list, err)
	}
	for _, bad := range []string{"00600000-00500000 r-xp 0 fe:00 1 /x", "x-y r-xp 0 fe:00 1 /x"} {
		if _, err := unchanged(strings.NewReader(bad), "/x"); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzUnchanged(f *testing.F) {
	f.Add(smaps)
	f.Add("-")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := unchanged(strings.NewReader(text), "/opt/a program")
		for _, a := range list {
			if a.to <= a.from {
				t.Fatalf("%x", a)
			}
		}
	})
}
