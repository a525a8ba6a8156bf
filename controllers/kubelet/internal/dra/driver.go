// Package dra prepares dynamic resources on the node: the devices of ResourceClaims, by the drivers that have
// registered at the kubelet. The tests are in package kubelet, with the simulated driver of package fakedra.
package dra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// callTimeout is how long a call of a driver may take.
const callTimeout = 45 * time.Second

// Hooks are what a Manager reports to.
type Hooks struct {
	// Changed is called when the health of devices of pods has changed.
	Changed func(pods []types.UID)
	// Called is called after each call of a driver.
	Called func(driver, method string, code codes.Code, took time.Duration)
	// Lost is called when no instance of a driver has been connected for a while; Found when one is again.
	// They are called one at a time, and must not call the Manager.
	Lost, Found func(driver string)
}

// driver is a connection to one instance of a driver.
type driver struct {
	name, endpoint, service string
	conn                    *grpc.ClientConn
	connected               bool // under the lock of drivers
}

// drivers are those that have registered. A driver may have several instances while it is replaced: the
// newest that is connected is called.
type drivers struct {
	hooks Hooks

	mu     sync.Mutex
	byName map[string][]*driver
	lost   map[string]*time.Timer // drivers without a connection
}

// wipeDelay is how long a driver may be away before its ResourceSlices are removed.
const wipeDelay = 30 * time.Second

// connect checks what a driver says of itself and connects to it.
func (d *drivers) connect(info *pluginapi.PluginInfo, dial pluginapi.Dialer) (*driver, error) {
	if msgs := validation.IsDNS1123Subdomain(info.Name); len(msgs) > 0 {
		return nil, fmt.Errorf("driver name %q is not a DNS subdomain", info.Name)
	}
	if len(info.Versions) == 0 {
		return nil, errors.New("empty list of supported gRPC services (aka supported versions)")
	}
	known := []string{pluginapi.DRAService, pluginapi.DRAServiceBeta}
	i := slices.IndexFunc(info.Versions, func(v string) bool { return slices.Contains(known, v) })
	if i < 0 {
		return nil, fmt.Errorf("none of services supported by the plugin (%q) are supported by the kubelet (%q)", info.Versions, known)
	}
	conn, err := pluginapi.Dial(info.Endpoint, dial)
	if err != nil {
		return nil, err
	}
	one := &driver{name: info.Name, endpoint: info.Endpoint, service: info.Versions[i], conn: conn}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byName[one.name] = append(d.byName[one.name], one)
	return one, nil
}

// remove forgets an instance.
func (d *drivers) remove(one *driver) {
	_ = one.conn.Close()
	d.mu.Lock()
	d.byName[one.name] = slices.DeleteFunc(d.byName[one.name], func(o *driver) bool { return o == one })
	if len(d.byName[one.name]) == 0 {
		delete(d.byName, one.name)
	}
	d.mu.Unlock()
	d.settle(one.name)
}

// get returns the instance of a driver that is to be called.
func (d *drivers) get(name string) (*driver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.byName[name]
	for _, one := range slices.Backward(all) {
		if one.connected {
			return one, nil
		}
	}
	if len(all) > 0 {
		return all[len(all)-1], nil
	}
	return nil, fmt.Errorf("DRA driver %s is not registered", name)
}

// watch keeps an instance connected until ctx ends.
func (d *drivers) watch(ctx context.Context, one *driver) {
	for ctx.Err() == nil {
		state := one.conn.GetState()
		if state == connectivity.Idle {
			one.conn.Connect()
		}
		d.mu.Lock()
		one.connected = state == connectivity.Ready
		d.mu.Unlock()
		d.settle(one.name)
		one.conn.WaitForStateChange(ctx, state)
	}
}

// settle begins to wait for a driver that has no connection, or ends that.
func (d *drivers) settle(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	usable := slices.ContainsFunc(d.byName[name], func(one *driver) bool { return one.connected })
	timer := d.lost[name]
	switch {
	case usable && timer != nil:
		timer.Stop()
		delete(d.lost, name)
		d.hooks.Found(name)
	case !usable && timer == nil:
		timer = time.AfterFunc(wipeDelay, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.lost[name] == timer { // a connection may have come when it was too late to stop the timer
				d.hooks.Lost(name)
			}
		})
		d.lost[name] = timer
	}
}

// stop ends what waits.
func (d *drivers) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, timer := range d.lost {
		timer.Stop()
	}
	for _, all := range d.byName {
		for _, one := range all {
			_ = one.conn.Close()
		}
	}
	clear(d.byName)
}

// call calls a method of a driver, such as NodePrepareResources.
func call[Reply any](ctx context.Context, d *drivers, name, method string, q any) (*Reply, error) {
	one, err := d.get(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	full := "/" + pluginapi.DRAPackage + one.service + "/" + method
	began := time.Now()
	reply, err := pluginapi.Call[Reply](ctx, one.conn, full, q)
	d.hooks.Called(name, full, status.Code(err), time.Since(began))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return reply, nil
}

// healthRetry is the pause before the health of devices is requested again.
const healthRetry = 5 * time.Second

// follow takes up the health of a driver's devices until ctx ends. A driver may not report it at all.
func (m *Manager) follow(ctx context.Context, one *driver) {
	for ctx.Err() == nil {
		err := pluginapi.Receive(ctx, one.conn, "/"+pluginapi.DRAHealthService+"/NodeWatchResources", &pluginapi.Empty{}, func(h *pluginapi.DRAHealth) error {
			m.health.take(one.name, h.Devices, m.wakeUsers)
			return nil
		})
		m.health.clear(one.name, m.wakeUsers)
		if status.Code(err) == codes.Unimplemented {
			return
		}
		_ = backoff.Sleep(ctx, healthRetry)
	}
}

// health is that of devices, as their drivers reported it. Safe for concurrent use.
type health struct {
	mu       sync.Mutex
	byDriver map[string]map[pluginapi.DRADeviceName]reported
}

type reported struct {
	status, message string
	at              time.Time
	timeout         time.Duration
}

const (
	healthTimeout = 30 * time.Second
	maxMessage    = 1024 // bytes of what a driver says about a device
)

// take takes up a report of all devices that a driver watches. changed is called with those whose health is
// another one now.
func (h *health) take(driver string, list []pluginapi.DRADeviceHealth, changed func(string, []pluginapi.DRADeviceName)) {
	now := time.Now()
	h.mu.Lock()
	if h.byDriver[driver] == nil {
		h.byDriver[driver] = map[pluginapi.DRADeviceName]reported{}
	}
	have := h.byDriver[driver]
	var others []pluginapi.DRADeviceName
	seen := map[pluginapi.DRADeviceName]bool{}
	for _, one := range list {
		if one.Device == nil {
			continue
		}
		next := reported{status: one.Status(), message: one.Message, at: now, timeout: healthTimeout}
		if one.Timeout > 0 {
			next.timeout = time.Duration(one.Timeout) * time.Second
		}
		if len(next.message) > maxMessage {
			next.message = strings.ToValidUTF8(next.message[:maxMessage-3], "") + "..."
		}
		old, known := have[*one.Device]
		if !known || old.status != next.status || old.message != next.message || old.timeout != next.timeout {
			others = append(others, *one.Device)
		}
		have[*one.Device], seen[*one.Device] = next, true
	}
	for name, old := range have {
		if !seen[name] && now.Sub(old.at) > old.timeout {
			delete(have, name)
			others = append(others, name)
		}
	}
	h.mu.Unlock()
	if len(others) > 0 {
		changed(driver, others)
	}
}

// clear forgets the health of a driver's devices, which is unknown from then on.
func (h *health) clear(driver string, changed func(string, []pluginapi.DRADeviceName)) {
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.byDriver[driver]))
	delete(h.byDriver, driver)
	h.mu.Unlock()
	if len(names) > 0 {
		changed(driver, names)
	}
}

// of returns the health of a device and what its driver says about it.
func (h *health) of(driver string, name pluginapi.DRADeviceName) (state, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.byDriver[driver][name]
	if !ok || time.Since(r.at) > r.timeout {
		return "Unknown", ""
	}
	return r.status, r.message
}
