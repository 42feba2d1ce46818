// Package auth is the authentication service: it checks that a node may join, gives it a name, addresses and groups,
// signs its certificate, renews it, and publishes the policy, the revocation list and the trusted roots, all signed.
//
// One bbolt file holds the state of one network. Each change is one transaction: a crash, even SIGKILL, leaves the state
// before or after it. A request is answered after its transaction is on the disk.
//
// Thread safety: Service is safe for concurrent use.
package auth

import "time"

const (
	// InviteLife is how long an invitation's token is valid by default.
	InviteLife = time.Hour
	// AddressRest is how long a released address is not given to another node or device.
	AddressRest = 365 * 24 * time.Hour

	maxInvites       = 10000 // open invitations
	maxNodes         = 10000 // nodes that are not revoked
	maxCertificates  = 32    // certificates of one node that are valid at once; each renewal or change of devices makes one
	maxFormerDevices = 256   // devices of a node that it had once; they get their addresses back
	databaseFile     = "auth.db"
)
