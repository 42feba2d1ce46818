package command

// nodeCommands are the commands of a node.
func nodeCommands() []Command { return nil }
