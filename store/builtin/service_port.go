package builtin

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

// PortRange is a range of ports, both ends included.
type PortRange struct{ First, Last int32 }

// portAllocator allocates node ports to services. The ports in use are a bit map under one key, which changes
// in the same transaction as the service.
type portAllocator struct {
	registry *registry.Registry
	ports    PortRange
}

const portsKey = "/ranges/servicenodeports"

func newPortAllocator(r *registry.Registry, ports PortRange) (*portAllocator, error) {
	if ports == (PortRange{}) {
		ports = PortRange{First: 30000, Last: 32767}
	}
	if ports.First < 1 || ports.Last > 65535 || ports.First > ports.Last {
		return nil, fmt.Errorf("builtin: node ports %d-%d are not a range", ports.First, ports.Last)
	}
	return &portAllocator{registry: r, ports: ports}, nil
}

// portMap is the bit map being changed.
type portMap struct {
	ports    PortRange
	draw     func(purpose string) uint64
	bits     big.Int
	revision int64 // store.Absent if the key does not exist
	changed  bool
}

func (p *portAllocator) load(ctx context.Context) (*portMap, error) {
	m := &portMap{ports: p.ports, draw: p.registry.Draw}
	kv, _, err := p.registry.Store().Get(ctx, portsKey)
	if errors.Is(err, store.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	var ra corev1.RangeAllocation
	if _, _, err := codec.UnmarshalEnvelope(kv.Value, &ra); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m.bits.SetBytes(ra.Data)
	m.revision = kv.Revision
	return m, nil
}

var errPortTaken = errors.New("provided port is already allocated")

// take allocates a given port.
func (m *portMap) take(port int32) error {
	if port < m.ports.First || port > m.ports.Last {
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %d-%d", m.ports.First, m.ports.Last)
	}
	i := int(port - m.ports.First)
	if m.bits.Bit(i) == 1 {
		return errPortTaken
	}
	m.bits.SetBit(&m.bits, i, 1)
	m.changed = true
	return nil
}

// pick allocates a free port, from the upper part of the range as long as there is one.
func (m *portMap) pick() (int32, error) {
	size := int(m.ports.Last-m.ports.First) + 1
	band := min(max(16, size/32), 128)
	if size <= 16 {
		band = 0
	}
	for _, part := range [2][2]int{{band, size}, {0, band}} {
		n := part[1] - part[0]
		if n <= 0 {
			continue
		}
		start := int(m.draw("port") % uint64(n))
		for k := range n {
			i := part[0] + (start+k)%n
			if m.bits.Bit(i) == 0 {
				m.bits.SetBit(&m.bits, i, 1)
				m.changed = true
				return m.ports.First + int32(i), nil
			}
		}
	}
	return 0, errFull
}

func (m *portMap) release(port int32) {
	if port < m.ports.First || port > m.ports.Last {
		return
	}
	if i := int(port - m.ports.First); m.bits.Bit(i) == 1 {
		m.bits.SetBit(&m.bits, i, 0)
		m.changed = true
	}
}

// op is the operation that stores the map.
func (m *portMap) op() (store.Op, error) {
	ra := &corev1.RangeAllocation{Range: fmt.Sprintf("%d-%d", m.ports.First, m.ports.Last), Data: m.bits.Bytes()}
	value, err := codec.MarshalEnvelope("v1", "RangeAllocation", ra)
	return store.UpdateOp(portsKey, value, m.revision), err
}
