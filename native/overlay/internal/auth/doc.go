// Package auth is the authentication service: it checks that a node may join, gives it a name, addresses and groups,
// signs its certificate, renews it, and publishes the policy, the revocation list and the trusted roots, all signed.
//
// One bbolt file holds the state of one network. Each change is one transaction: after a crash, even by SIGKILL, the
// file holds the state before or after it. The service answers a request after its transaction is on disk.
//
// Thread safety: Service is safe for concurrent use.
package auth

import "time"

const (
	// InviteLife is the default validity of an invitation's token.
	InviteLife = time.Hour
	// AddressRest is the time before a released address may be assigned to another node or device.
	AddressRest = 365 * 24 * time.Hour

	maxInvites       = 10000 // open invitations
	maxNodes         = 10000 // nodes that are not revoked
	maxCertificates  = 32    // certificates of one node that are valid at once; each renewal or change of devices makes one
	maxFormerDevices = 256   // removed devices of a node; a returning one gets its address back
	databaseFile     = "auth.db"
)
