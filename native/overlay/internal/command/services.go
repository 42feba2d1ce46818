package command

// serviceCommands are the commands of the services and of joining.
func serviceCommands() []Command { return nil }
