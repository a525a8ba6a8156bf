package devices

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// ID names a device.
type ID struct{ Driver, Pool, Device string }

func (id ID) String() string { return id.Driver + "/" + id.Pool + "/" + id.Device }

type amounts map[resourcev1.QualifiedName]resource.Quantity

// add adds what, or with -1 takes it away. Amounts that are zero are left out.
func (a amounts) add(what amounts, by int) {
	for name, q := range what {
		sum := a[name]
		if by < 0 {
			sum.Sub(q)
		} else {
			sum.Add(q)
		}
		if sum.IsZero() {
			delete(a, name)
		} else {
			a[name] = sum
		}
	}
}

// Allocated counts the devices that claims have. Those for administrative access do not count.
type Allocated struct {
	whole  map[ID]int
	shares map[ID]*shares
}

// shares is what the claims that share a device have of it.
type shares struct {
	n    int
	used amounts
}

// Count adds an allocation, or with -1 takes it away; nil counts nothing.
func (a *Allocated) Count(r *resourcev1.AllocationResult, by int) {
	if r == nil {
		return
	}
	if a.whole == nil {
		a.whole, a.shares = map[ID]int{}, map[ID]*shares{}
	}
	for i := range r.Devices.Results {
		d := &r.Devices.Results[i]
		id := ID{d.Driver, d.Pool, d.Device}
		switch {
		case isTrue(d.AdminAccess):
		case d.ShareID != nil:
			s := a.shares[id]
			if s == nil {
				s = &shares{used: amounts{}}
				a.shares[id] = s
			}
			s.used.add(d.ConsumedCapacity, by)
			if s.n += by; s.n == 0 {
				delete(a.shares, id)
			}
		default:
			if a.whole[id] += by; a.whole[id] == 0 {
				delete(a.whole, id)
			}
		}
	}
}

// Equal reports whether two counts are the same.
func (a *Allocated) Equal(b *Allocated) bool {
	return maps.Equal(a.whole, b.whole) && maps.EqualFunc(a.shares, b.shares, func(x, y *shares) bool {
		return x.n == y.n && maps.EqualFunc(x.used, y.used, resource.Quantity.Equal)
	})
}

// any reports whether a claim has the device, or a share of it.
func (a *Allocated) any(id ID) bool { return a.whole[id] > 0 || a.shares[id] != nil }

func isTrue(b *bool) bool { return b != nil && *b }

// Twice are devices that are not to be shared and that several claims have.
func (a *Allocated) Twice() (out []string) {
	for id, n := range a.whole {
		if n > 1 || a.shares[id] != nil {
			out = append(out, id.String())
		}
	}
	return out
}
