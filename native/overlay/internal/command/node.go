package command

import (
	"context"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"seganet.internal/overlay/internal/adapter"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/stack"
)

// memoryLimit is the garbage collector's target in bytes, in addition to the engine's bounds. GOMEMLIMIT overrides it.
const memoryLimit = 128 << 20

func runNode(ctx context.Context, args []string, out io.Writer) error {
	f := flags("node", out)
	state := stateFlag(f)
	tun := f.String("tun", "", "`name` of a TUN interface; needs CAP_NET_ADMIN or an interface made for this user. Without it: no privilege, ports and SOCKS5")
	f.Bool("no-tun", false, "no TUN interface, the default")
	mtu := f.Int("mtu", 0, "MTU of the overlay in `bytes`; 1280 fits everywhere")
	offload := f.String("offload", "auto", "segmentation offloads of the TUN: `auto`, on, off")
	port := f.Uint("port", 0, "UDP `port`; 0 keeps the last one, if it is free")
	buffers := f.Int("buffers", 0, "`bound` of each buffer pool, 64 KiB a buffer; 0 is 1024")
	socks := f.String("socks", "", "`address` of a SOCKS5 proxy into the overlay, such as 127.0.0.1:1080")
	devices := f.String("devices", "", "JSON `file` with the table of ordinary devices behind this node; its changes are followed")
	metered := f.Bool("metered", false, "fewer keepalives, for links that are paid by volume")
	relayOnly := f.Bool("relay-only", false, "no direct paths, for measuring")
	portMapping := f.String("port-mapping", "auto", "`auto` asks the routers to map the UDP port (PCP, NAT-PMP, UPnP), so that more peers are reached directly; off does not")
	eof := untilEOFFlag(f)
	verbose := f.Bool("verbose", false, "log every change of a path's search")
	var offers, forwards words
	f.Var(&offers, "offer", "service to offer, `name=tcp/1883@127.0.0.1:1883`; may be given several times")
	f.Var(&forwards, "forward", "local port that leads into the overlay, `tcp/127.0.0.1:1883=broker:1883`; may be given several times")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	o := node.Options{State: *state, TUN: *tun, MTU: *mtu, Offload: *offload, Port: uint16(*port), Buffers: *buffers, SOCKS: *socks,
		DevicesFile: *devices, Metered: *metered, RelayOnly: *relayOnly, MapPort: *portMapping == "auto", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))}
	if *port > 65535 {
		return usage("%d is no UDP port", *port)
	}
	if *portMapping != "auto" && *portMapping != "off" {
		return usage("--port-mapping: %q: write auto or off", *portMapping)
	}
	for _, s := range offers {
		offer, err := node.ParseOffer(s)
		if err != nil {
			return usage("--offer: %v", err)
		}
		o.Offers = append(o.Offers, offer)
	}
	for _, s := range forwards {
		local, remote, ok := strings.Cut(s, "=")
		network, local, ok2 := strings.Cut(local, "/")
		if !ok || !ok2 || network != "tcp" && network != "udp" {
			return usage("--forward: %q: write tcp/127.0.0.1:1883=broker:1883", s)
		}
		o.Forwards = append(o.Forwards, stack.Forward{Network: network, Local: local, Remote: remote})
	}
	if *devices != "" {
		if _, err := adapter.ReadTable(*devices); err != nil {
			return wrongConfig(err)
		}
	}
	if *eof {
		var stop context.CancelFunc
		ctx, stop = untilEOF(ctx, os.Stdin)
		defer stop()
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return node.Run(ctx, o)
}
