// Package csi makes volumes with the drivers of the Container Storage Interface that have registered at the
// kubelet. The tests are in package kubelet, with the simulated driver of package fakecsi.
package csi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// callTimeout is how long a call of a driver may take.
const callTimeout = 2 * time.Minute

// Drivers are those that have registered. Its methods may be called from many goroutines.
type Drivers struct {
	dial   pluginapi.Dialer
	called Called

	mu     sync.Mutex
	byName map[string]*Driver
}

// Called is called after each call of a driver, with the full name of the method.
type Called func(driver, method string, took time.Duration, err error)

// NewDrivers returns an empty set, whose drivers are connected to with dial.
func NewDrivers(dial pluginapi.Dialer, called Called) *Drivers {
	return &Drivers{dial: dial, called: called, byName: map[string]*Driver{}}
}

// Driver is a connection to a driver.
type Driver struct {
	Name     string
	endpoint string
	conn     *grpc.ClientConn
	node     csi.NodeClient
}

// Info is what a driver says about the node.
type Info struct {
	NodeID     string
	MaxVolumes int64 // 0: no limit
	Topology   map[string]string
}

// Connect connects to a driver that registers, and reads what it says about the node. The driver is used
// after Add.
func (d *Drivers) Connect(ctx context.Context, name, endpoint string) (*Driver, *Info, error) {
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 || len(name) > 63 {
		return nil, nil, fmt.Errorf("driver name %q is not a DNS subdomain of at most 63 characters", name)
	}
	conn, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return d.dial(ctx, endpoint) }), grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			began := time.Now()
			err := invoke(ctx, method, req, reply, cc, opts...)
			d.called(name, method, time.Since(began), err)
			return err
		}))
	if err != nil {
		return nil, nil, err
	}
	one := &Driver{Name: name, endpoint: endpoint, conn: conn, node: csi.NewNodeClient(conn)}
	info, err := one.Info(ctx)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return one, info, nil
}

// Add lets a driver be used, in the place of an earlier one of its name.
func (d *Drivers) Add(one *Driver) {
	d.mu.Lock()
	old := d.byName[one.Name]
	d.byName[one.Name] = one
	d.mu.Unlock()
	old.Close()
}

// Remove removes a driver unless another of its name has come, and reports whether it did.
func (d *Drivers) Remove(one *Driver) bool {
	d.mu.Lock()
	mine := d.byName[one.Name] == one
	if mine {
		delete(d.byName, one.Name)
	}
	d.mu.Unlock()
	one.Close()
	return mine
}

// Close ends all connections.
func (d *Drivers) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.byName {
		one.Close()
	}
	clear(d.byName)
}

// get returns the driver of a name.
func (d *Drivers) get(name string) (*Driver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byName[name]; one != nil {
		return one, nil
	}
	return nil, fmt.Errorf("driver name %s not found in the list of registered CSI drivers", name)
}

// Close ends the connection. Close of nil does nothing.
func (d *Driver) Close() {
	if d != nil {
		_ = d.conn.Close()
	}
}

// Info reads what the driver says about the node. What no Node or CSINode could hold is an error.
func (d *Driver) Info(ctx context.Context) (*Info, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	got, err := d.node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil {
		return nil, err
	}
	info := &Info{NodeID: got.GetNodeId(), MaxVolumes: got.GetMaxVolumesPerNode(), Topology: got.GetAccessibleTopology().GetSegments()}
	if info.NodeID == "" || len(info.NodeID) > 256 {
		return nil, fmt.Errorf("driver %s: the id of the node has %d bytes, not 1 to 256", d.Name, len(info.NodeID))
	}
	if info.MaxVolumes < 0 {
		return nil, fmt.Errorf("driver %s: the limit of %d volumes is negative", d.Name, info.MaxVolumes)
	}
	for k, v := range info.Topology {
		if msgs := append(validation.IsQualifiedName(k), validation.IsLabelValue(v)...); len(msgs) > 0 {
			return nil, fmt.Errorf("driver %s: topology %s=%s is no label: %s", d.Name, k, v, msgs[0])
		}
	}
	return info, nil
}

// capabilities are what the driver can do on the node.
type capabilities []csi.NodeServiceCapability_RPC_Type

const (
	canStage  = csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME
	canStats  = csi.NodeServiceCapability_RPC_GET_VOLUME_STATS
	canExpand = csi.NodeServiceCapability_RPC_EXPAND_VOLUME
	canSingle = csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER
	canGroup  = csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP
)

func (c capabilities) has(what csi.NodeServiceCapability_RPC_Type) bool {
	return slices.Contains(c, what)
}

// capabilities are read each time: it may be another version after a restart.
func (d *Driver) capabilities(ctx context.Context) (list capabilities, err error) {
	got, err := d.node.NodeGetCapabilities(ctx, &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return nil, err
	}
	for _, c := range got.GetCapabilities() {
		list = append(list, c.GetRpc().GetType())
	}
	return list, nil
}

// errLied says that a driver has not done what it says.
var errLied = errors.New("the driver reports success")
