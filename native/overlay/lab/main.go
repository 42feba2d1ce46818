// Command lab runs the product in namespaces with NATs and measures what a user would notice. It needs root, ip and nft,
// makes namespaces of its own named ovl…, and removes them. Nothing leaves them.
//
//	go run ./lab matrix [KIND…]          every pair of NATs and IP versions: first answer, direct or relay, and why (nat64: tayga)
//	go run ./lab faults [A B]            dead direct path, new host address, new outside address: how long is it silent
//	go run ./lab relays                  a relay dies: how long are relayed and direct peers silent
//	go run ./lab mqtt                    an MQTT session lives through the faults: same connection, no record lost
//	go run ./lab chaos [--schedules N] [--seed S] [--minutes M] [--parallel P] [--race]   seeded schedules of faults, P at once
//	go run ./lab chaos --seeds A,B,C     these schedules
//	go run ./lab clock                   clocks of both sides step back: how long is the pair silent in the next five minutes
//	go run ./lab idle                    ten silent peers: processor time, memory, bytes a day
//	go run ./lab gone [SECONDS]          memory of a node after a peer that has saturated it
//	go run ./lab devices [COUNT]         100 devices behind b, both NATs symmetric: reached by name, TCP and UDP, both ways
//	go run ./lab sleep                   the first packet to a peer that was never contacted
//	go run ./lab mapped                  symmetric NATs of which one maps ports by PCP, NAT-PMP, UPnP (miniupnpd)
//	go run ./lab twice                   what happens to one program is no alarm; a copy of its keys is noticed, and both are stopped
//	go run ./lab rate [direct|relay]       TCP throughput between two hosts
//
//	a 192.168.11.2 ─ NAT 10.77.0.11 ─┬─ bridge ─┬─ NAT 10.77.0.12 ─ 192.168.12.2 b
//	                                 └ services 10.77.0.1
//
// The commands exit with 1 if a criterion of the research note is missed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

var tools = []string{"echo", "gaps", "watch", "publish", "subscribe", "probe", "dial", "sink", "source", "forget", "answer", "ask", "dns64"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: lab matrix|faults|relays|mqtt|chaos|clock|idle|gone|devices|sleep|mapped|twice|rate")
		os.Exit(2)
	}
	if slices.Contains(tools, os.Args[1]) {
		tool(os.Args[1], os.Args[2:])
		return
	}
	if os.Geteuid() != 0 {
		fmt.Println("SKIPPED: the NAT lab needs root for its namespaces")
		return
	}
	for _, p := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(p); err != nil {
			fmt.Printf("SKIPPED: the NAT lab needs %s (Debian: iproute2, nftables)\n", p)
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// command runs one of the lab's commands. Its namespaces are gone when it returns, also after a signal.
func command(ctx context.Context, name string, args []string) error {
	if name == "chaos" {
		return chaos(ctx, args)
	}
	program, remove, err := findProgram(func(folder string) (string, error) {
		if name == "clock" {
			return buildWithClock(folder)
		}
		return build(folder)
	})
	if err != nil {
		return err
	}
	defer remove()
	l, err := newLab(ctx, "", program)
	if err != nil {
		return err
	}
	defer l.down()
	switch name {
	case "matrix":
		return matrix(l, args)
	case "faults":
		return faults(l, args)
	case "relays":
		return relays(l)
	case "mqtt":
		return lives(l)
	case "clock":
		return clock(l)
	case "idle":
		return idle(l)
	case "gone":
		return gone(l, args)
	case "devices":
		return devices(l, args)
	case "sleep":
		return sleep(l)
	case "mapped":
		return mapped(l)
	case "twice":
		return twice(l)
	case "rate":
		return rate(l, args)
	}
	return fmt.Errorf("there is no lab command %q", name)
}
