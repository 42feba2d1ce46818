package command

// serviceCommands are the commands of the services and of joining.
func serviceCommands() []Command {
	return []Command{
		{"serve", "runs the services: authentication, node management, relay",
			"seganet-overlay serve --network plant --public overlay.example.com --relay-address 203.0.113.7", runServe},
		{"invite", "makes a one-time token for a node, on the machine of the services",
			"seganet-overlay invite --name hall-3 --group gateways", runInvite},
		{"invitations", "lists the invitations that no node has used, or withdraws one, on the machine of the services",
			"seganet-overlay invitations --withdraw 0123456789abcdef", runInvitations},
		{"join", "makes this machine a node of a network",
			"seganet-overlay join --url https://overlay.example.com --root sha256:… --token-file token", runJoin},
		{"revoke", "ends a node, on the machine of the services",
			"seganet-overlay revoke --reason stolen hall-3", runRevoke},
		{"resume", "ends the suspension of a node, on the machine of the services",
			"seganet-overlay resume hall-3", runResume},
		{"nodes", "lists the nodes, on the machine of the services",
			"seganet-overlay nodes", runNodes},
		{"policy check", "tells whether the policy lets one node reach another, and by which rule",
			"seganet-overlay policy check hall-3 hub tcp/8883", runPolicyCheck},
		{"audit", "lists who joined, connected, was refused or revoked, on the machine of the services",
			"seganet-overlay audit --node hall-3", runAudit},
		{"policy", "shows or replaces the policy, on the machine of the services",
			"seganet-overlay policy --set policy.json", runPolicy},
		{"rotate", "replaces the CA, on the machine of the services",
			"seganet-overlay rotate", runRotate},
	}
}
