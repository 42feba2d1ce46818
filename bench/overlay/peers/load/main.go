// Command load is the traffic of the benchmark: TCP, UDP and ICMP echo, bounded in time, with results as a line of JSON.
//
//	load serve ADDRESS:PORT              receives TCP and UDP, and echoes
//	load tcp ADDRESS:PORT WARMUP SECONDS MBITS
//	                                     sends blocks of 128 KiB at a rate; 0 = what a connection takes
//	load udp ADDRESS:PORT SECONDS MBITS  sends datagrams of 1,200 bytes at a rate; 0 = as many as possible
//	load ping ADDRESS SECONDS EVERY      sends an ICMP echo request each EVERY seconds (root)
//	load echo tcp|udp ADDRESS:PORT COUNT EVERY
//	                                     exchanges messages one after the other, with a pause of EVERY seconds
//
// ADDRESS may be a name, which the server in the variable DNS (address:port) resolves. FROM is the source address.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

// mostSeconds bounds every load.
const mostSeconds = 3600

var commands = map[string]struct {
	arguments int
	run       func(args []string) (any, error)
}{
	"serve": {1, serve},
	"tcp":   {4, sendTCP},
	"udp":   {3, sendUDP},
	"ping":  {3, ping},
	"echo":  {4, exchange},
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: load serve|tcp|udp|ping|echo ARGUMENT…"))
	}
	command, known := commands[os.Args[1]]
	if !known || len(os.Args)-2 != command.arguments {
		fail(fmt.Errorf("there is no command %q with %d arguments", os.Args[1], len(os.Args)-2))
	}
	result, err := command.run(os.Args[2:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(1)
}

// seconds reads a duration and checks its bound.
func seconds(text string) (time.Duration, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < 0 || value > mostSeconds {
		return 0, fmt.Errorf("%q is no number of seconds from 0 to %d", text, mostSeconds)
	}
	return time.Duration(value * float64(time.Second)), nil
}

// perSecond reads a rate in Mbit/s and returns it in units of so many bytes; 0 is no limit.
func perSecond(text string, bytes float64) (float64, error) {
	mbits, err := strconv.ParseFloat(text, 64)
	if err != nil || !(mbits >= 0) {
		return 0, fmt.Errorf("%q is no rate in Mbit/s", text)
	}
	return mbits * 1e6 / 8 / bytes, nil
}
