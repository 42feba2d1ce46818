package bind

const (
	// urgentTOS is the outer type of service of urgent packets: low delay (RFC 1349), which Linux queues first.
	urgentTOS = 0x10
	// dscpEF is the type of service of expedited forwarding (RFC 3246).
	dscpEF = 0xb8
	ecn    = 3 // the bits of RFC 3168
	// urgentMark is no type of a WireGuard message: a buffer for a keepalive may begin with a message that came in it.
	urgentMark = 0xa5
)

// Urgent is true if an IP packet asks for low delay: type of service 0x10 or expedited forwarding.
func Urgent(packet []byte) bool {
	if len(packet) < 2 {
		return false
	}
	tos := packet[1]
	if packet[0]>>4 == 6 {
		tos = packet[0]<<4 | packet[1]>>4
	}
	tos &^= ecn
	return tos == urgentTOS || tos == dscpEF
}

// Mark notes in a buffer of WireGuard that its packet is urgent or not. WireGuard leaves the buffer's first bytes, its
// MessageEncapsulatingTransportSize, to the Bind, and encrypts the packet in the same buffer.
func Mark(buffer []byte, urgent bool) {
	buffer[0] = 0
	if urgent {
		buffer[0] = urgentMark
	}
}

// Marked is true if Mark noted that the packet in a buffer of WireGuard is urgent. offset is where the packet begins: in
// other buffers it is 0, and they have no mark.
func Marked(buffer []byte, offset int) bool { return offset > 0 && buffer[0] == urgentMark }

// UrgentControl returns the control message for a datagram of IPv4 or IPv6 that gives it the type of service of urgent
// packets. It is nil where the system has none.
func UrgentControl(is4 bool) []byte {
	if is4 {
		return control4
	}
	return control6
}
