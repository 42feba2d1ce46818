// Package udpbatch reads and writes many datagrams of a UDP socket with one system call. On Linux it uses recvmmsg and
// the kernel's segmentation offloads (UDP_GRO, UDP_SEGMENT); elsewhere each datagram takes a call of its own.
//
// Thread safety: Write may be called concurrently, also with Read. One goroutine at a time may call Read and Discard.
package udpbatch

import "net/netip"

const (
	// datagramMost is the length in bytes of the longest UDP payload over IPv4, and the most that one call of the kernel
	// segments.
	datagramMost = 65535 - 20 - 8
	// segmentsMost is the most datagrams that the kernel makes of one write (UDP_MAX_SEGMENTS of Linux before 6.9).
	segmentsMost = 64
	// slotBytes is the room for one piece.
	slotBytes = 65536
)

// Piece is what one sender sent in datagrams of Segment bytes each; the last one may be shorter.
type Piece struct {
	Bytes   []byte // valid until the next Read; the reader may change it
	Segment int    // at least 1, unless Bytes is empty
	From    netip.AddrPort
}

// Each calls f with each datagram of the piece.
func (p Piece) Each(f func(datagram []byte)) {
	for rest := p.Bytes; len(rest) > 0; {
		n := min(p.Segment, len(rest))
		f(rest[:n:n])
		rest = rest[n:]
	}
}

// run returns how many of the first packets the kernel can make of one write: all have the length of the first one, the
// last one may be shorter.
func run(packets [][]byte, offset int) int {
	size := len(packets[0]) - offset
	total, n := size, 1
	for n < len(packets) && n < segmentsMost {
		next := len(packets[n]) - offset
		if total += next; next > size || next == 0 || size == 0 || total > datagramMost {
			break
		}
		n++
		if next < size {
			break
		}
	}
	return n
}

// SegmentsFit returns how many datagrams of a size fit into one write, at least 1.
func SegmentsFit(size int) int { return max(1, min(segmentsMost, datagramMost/max(1, size))) }

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
