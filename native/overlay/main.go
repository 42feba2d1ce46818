// Command seganet-overlay connects gateways and devices by name, encrypted end to end: the services, a node, and the
// commands that administer both. "seganet-overlay --help" lists the commands.
package main

import (
	"os"

	"seganet.internal/overlay/internal/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
