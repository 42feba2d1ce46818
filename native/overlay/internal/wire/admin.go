package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Limits of the administration socket.
const (
	MaxByBytes     = 128  // who asked for a change
	MaxPageNodes   = 100  // nodes of an overview
	MaxInvitations = 100  // invitations of a list
	MaxEntries     = 1000 // entries of the audit log in an answer
	MaxNames       = 10   // names of nodes that a side of a rule selects, in a review
)

// checkBy checks who asks for a change, as its asker names itself: a line of the audit log has it.
func checkBy(by string) error {
	if strings.ContainsFunc(by, unicode.IsControl) {
		return errors.New("\"by\" has control characters")
	}
	return checkText("\"by\"", by, MaxByBytes)
}

// NodeRow is a node of an Overview.
type NodeRow struct {
	NodeInfo
	Devices int `json:"devices"` // behind the node; in place of their names
}

// Overview answers GET /v1/overview?match=TEXT&page=1&size=25. match is a text in a node's name, groups, address or
// version, without regard to case.
type Overview struct {
	Network string `json:"network"`
	Root    string `json:"root"`    // fingerprint
	Version string `json:"version"` // of the program of the services
	// Counts of all nodes, whatever matches.
	Online  int `json:"online"`
	Offline int `json:"offline"`
	Revoked int `json:"revoked"`
	// Suspended nodes are not in the other counts.
	Suspended int `json:"suspended"`
	// The page of those that match, in the order of their names.
	Found       int            `json:"found"`
	Page        int            `json:"page"`
	Pages       int            `json:"pages"` // at least 1
	Nodes       []NodeRow      `json:"nodes"`
	Invitations InvitationList `json:"invitations"`
}

// Invitation is an invitation that a node can still use.
type Invitation struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Groups  []string  `json:"groups"`
	Expires time.Time `json:"expires"`
}

// InvitationList has the open invitations that expire first.
type InvitationList struct {
	Open []Invitation `json:"open"`
	More int          `json:"more"` // that the list leaves out
}

// WithdrawRequest ends an open invitation: POST /v1/withdraw.
type WithdrawRequest struct {
	ID string `json:"id"`
	By string `json:"by,omitempty"`
}

// Validate checks the forms.
func (r *WithdrawRequest) Validate() error { return errors.Join(checkID(r.ID), checkBy(r.By)) }

// RotateRequest replaces the CA: POST /v1/rotate.
type RotateRequest struct {
	Now bool   `json:"now"`
	By  string `json:"by,omitempty"`
}

// Validate checks the form.
func (r *RotateRequest) Validate() error { return checkBy(r.By) }

// ResumeRequest ends the suspension of a node: POST /v1/resume.
type ResumeRequest struct {
	Name string `json:"name"`
	By   string `json:"by,omitempty"`
}

// Validate checks the forms.
func (r *ResumeRequest) Validate() error {
	return errors.Join(CheckLabel("the node's name", r.Name), checkBy(r.By))
}

// PolicyText is the JSON text of a policy: POST /v1/policy/review, and PUT /v1/policy with the other members.
type PolicyText struct {
	Text string `json:"text"`
	From *int64 `json:"from,omitempty"` // version that the new policy replaces; without it, whichever is in force
	By   string `json:"by,omitempty"`
}

// Validate checks the sizes; ParsePolicy checks the text.
func (r *PolicyText) Validate() error {
	if r.From != nil && *r.From < 0 {
		return fmt.Errorf("the version %d is negative", *r.From)
	}
	return errors.Join(checkText("the policy", r.Text, MaxPolicyBytes), checkBy(r.By))
}

// PolicyReview says what is wrong with a policy, else what each of its rules selects at present.
type PolicyReview struct {
	Problems []PolicyProblem `json:"problems"`
	Rules    []RuleReach     `json:"rules"` // empty if there are problems
}

// RuleReach is a rule, and the nodes on its sides that are not revoked.
type RuleReach struct {
	NumberRule
	Line    int     `json:"line"`
	Sources Matched `json:"sources"`
	Targets Matched `json:"targets"`
}

// Matched counts nodes, and names the first ones.
type Matched struct {
	Count int      `json:"count"`
	Names []string `json:"names"`
}
