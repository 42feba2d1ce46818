package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"seganet.internal/overlay/internal/adapter"
	"seganet.internal/overlay/internal/wire"
)

// devicesEvery is the interval at which the file with the table of devices is checked for changes.
const devicesEvery = 2 * time.Second

// openDevices loads the table of devices at the start. If the authentication service is out of reach, only the devices
// that the certificate names are available, and watchDevices retries the whole table later.
func (n *Node) openDevices(ctx context.Context) error {
	if n.o.DevicesFile == "" {
		return nil
	}
	n.devicesState = stateOf(n.o.DevicesFile)
	t, err := adapter.ReadTable(n.o.DevicesFile)
	if err != nil {
		return err
	}
	n.table, _, err = n.bindDevices(ctx, t)
	if refusal := (*wire.Error)(nil); errors.As(err, &refusal) && refusal.Code != wire.CodeUnavailable && refusal.Code != wire.CodeFull {
		return err // a retry would not help: the table is wrong, or the node may have no devices
	}
	if err != nil {
		n.table = t.Bound(n.current().Devices)
		n.devicesState = fileState{} // forget it, so that watchDevices retries
		n.log.Warn("the table of devices is taken in part; trying again", "devices", len(n.table), "without", len(t)-len(n.table), "error", err)
	}
	return n.tracker.SetDevices(n.table.Targets(n.o.TUN != ""))
}

// bindDevices assigns the addresses in the certificate to the devices. If the certificate does not name exactly the
// devices of the table, it renews the certificate first.
func (n *Node) bindDevices(ctx context.Context, t adapter.Table) (bound adapter.Table, renewed bool, err error) {
	if n.named(t) {
		bound, err = t.Bind(n.current().Devices)
		return bound, false, err
	}
	if err := n.renew(ctx, t.Names()); err != nil {
		return nil, false, fmt.Errorf("the devices need addresses from the authentication service: %w", err)
	}
	bound, err = t.Bind(n.current().Devices)
	return bound, true, err
}

// named is true if the certificate names these devices and no others.
func (n *Node) named(t adapter.Table) bool {
	var has []string
	for _, d := range n.current().Devices {
		has = append(has, d.Name)
	}
	want := t.Names()
	slices.Sort(has)
	slices.Sort(want)
	return slices.Equal(has, want)
}

// devices returns the table in force.
func (n *Node) devices() adapter.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.table
}

// fileState identifies a version of a file.
type fileState struct {
	changed time.Time
	size    int64
}

func stateOf(path string) fileState {
	st, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{st.ModTime(), st.Size()}
}

// watchDevices reloads the table of devices whenever its file changes. If the new table cannot be applied, the previous
// one stays in force.
func (n *Node) watchDevices(ctx context.Context, last fileState) {
	tick := time.NewTicker(devicesEvery)
	defer tick.Stop()
	again := time.Time{} // when to retry a table that could not be applied
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stateOf(n.o.DevicesFile)
		if now == last && (again.IsZero() || time.Now().Before(again)) {
			continue
		}
		last, again = now, time.Time{}
		t, err := adapter.ReadTable(n.o.DevicesFile)
		if err == nil {
			if err = n.takeDevices(ctx, t); err != nil {
				again = time.Now().Add(renewRetry)
			}
		}
		if err != nil && ctx.Err() == nil {
			n.log.Warn("the new table of devices cannot be applied; the previous one stays in force", "error", err)
		}
	}
}

// takeDevices applies a table: addresses, packet filter, network, names, and the devices that peers can look up.
func (n *Node) takeDevices(ctx context.Context, t adapter.Table) error {
	bound, renewed, err := n.bindDevices(ctx, t)
	if err != nil {
		return err
	}
	before := n.devices()
	if err := n.tracker.SetDevices(bound.Targets(n.o.TUN != "")); err != nil {
		return err
	}
	if n.translator != nil {
		n.translator.Set(bound)
	}
	if n.stack != nil {
		adapter.Unsplice(n.stack, before.Without(bound))
		if err := adapter.Splice(n.stack, bound); err != nil {
			return err
		}
	}
	n.mu.Lock()
	n.table = bound
	n.mu.Unlock()
	n.log.Info("the table of devices was taken", "devices", len(bound))
	if renewed {
		n.certificateChanged()
	}
	n.removeUnseen()
	n.reconnect("the devices changed") // the services learn them from the first message
	return nil
}

// certificateChanged applies the names and groups of a new certificate.
func (n *Node) certificateChanged() {
	if err := n.names.Set(n.self().FQDN, records(n.self())); err != nil {
		n.log.Warn("names", "error", err)
	}
	n.applyPolicy()
}
