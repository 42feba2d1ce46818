// Package residentmem returns memory to the system that an idle program does not need resident: the content of buffers
// that WireGuard keeps permanently, and the pages of the program's own file.
package residentmem

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Discard returns the whole pages within the buffers to the system; their bytes read as zero afterwards, the other
// bytes stay. Buffers smaller than a page are left as they are.
//
// REQUIRES: the caller owns the buffers, and their content is of no use.
func Discard(bufs [][]byte) {
	page := uintptr(os.Getpagesize())
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		from := (at + page - 1) &^ (page - 1)
		to := (at + uintptr(len(b))) &^ (page - 1)
		if from < to {
			_ = unix.Madvise(b[from-at:to-at], unix.MADV_DONTNEED) // where it fails, the memory stays resident
		}
	}
}

// DropProgram unmaps the pages of the program's file. The next use of a page maps it again, from the page cache. The
// kernel prefers pages that no process maps when it needs memory.
func DropProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	list, err := unchanged(f, program)
	if err != nil {
		return err
	}
	for _, r := range list {
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, r.from, r.to-r.from, unix.MADV_DONTNEED); e != 0 {
			return fmt.Errorf("madvise: %w", e)
		}
	}
	return nil
}

// area is a mapping: addresses from (inclusive) to to (exclusive).
type area struct{ from, to uintptr }

// unchanged returns the mappings of a file in the text of /proc/PID/smaps whose pages all are the file's: they are not
// writable, and none was written before, as a loader's relocations or a debugger's breakpoints are. Only such pages may
// be dropped.
func unchanged(smaps io.Reader, file string) (list []area, err error) {
	var now area
	candidate := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) >= 5 && len(f[1]) == 4 && strings.Contains(f[0], "-") {
			candidate = len(f) > 5 && strings.Join(f[5:], " ") == file && f[1][0] == 'r' && f[1][1] != 'w' && f[1][3] == 'p'
			if candidate {
				if now, err = parseArea(f[0]); err != nil {
					return nil, err
				}
			}
			continue
		}
		if candidate && len(f) >= 2 && f[0] == "Anonymous:" {
			if f[1] == "0" {
				list = append(list, now)
			}
			candidate = false
		}
	}
	return list, lines.Err()
}

func parseArea(text string) (a area, err error) {
	from, to, _ := strings.Cut(text, "-")
	low, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return a, err
	}
	high, err := strconv.ParseUint(to, 16, 64)
	if err == nil && high <= low {
		err = fmt.Errorf("the mapping %q ends before it begins", text)
	}
	return area{uintptr(low), uintptr(high)}, err
}
