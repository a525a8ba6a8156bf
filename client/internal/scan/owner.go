package scan

import "google.golang.org/protobuf/encoding/protowire"

// Owner is an owner reference. Its strings alias the object's bytes.
type Owner struct {
	APIVersion, Kind, Name, UID string
	BlockDeletion               bool

	controller bool
}

// JSONController returns the controlling owner of a JSON object: the first whose controller is true.
func JSONController(b []byte) (owner Owner, ok bool) {
	_ = Members(b, func(key, meta []byte, _, _ int) bool {
		if string(key) != "metadata" {
			return true
		}
		_ = Members(meta, func(key, refs []byte, _, _ int) bool {
			if string(key) != "ownerReferences" {
				return true
			}
			_ = Elements(refs, func(ref []byte) bool {
				if o := jsonOwner(ref); o.controller {
					owner, ok = o, true
				}
				return !ok
			})
			return false
		})
		return false
	})
	return owner, ok
}

func jsonOwner(ref []byte) (o Owner) {
	_ = Members(ref, func(key, v []byte, _, _ int) bool {
		switch string(key) {
		case "apiVersion":
			o.APIVersion = Text(v)
		case "kind":
			o.Kind = Text(v)
		case "name":
			o.Name = Text(v)
		case "uid":
			o.UID = Text(v)
		case "controller":
			o.controller = string(v) == "true"
		case "blockOwnerDeletion":
			o.BlockDeletion = string(v) == "true"
		}
		return true
	})
	return o
}

// ProtoController is JSONController for an object's message.
func ProtoController(b []byte) (owner Owner, ok bool) {
	_ = fields(b, func(num protowire.Number, meta []byte, _ uint64, _, _ int) bool {
		if num != 1 {
			return true
		}
		_ = fields(meta, func(num protowire.Number, ref []byte, _ uint64, _, _ int) bool {
			if num == 13 {
				if o := protoOwner(ref); o.controller {
					owner, ok = o, true
				}
			}
			return !ok
		})
		return !ok
	})
	return owner, ok
}

func protoOwner(ref []byte) (o Owner) {
	_ = fields(ref, func(num protowire.Number, v []byte, n uint64, _, _ int) bool {
		switch num {
		case 1:
			o.Kind = str(v)
		case 3:
			o.Name = str(v)
		case 4:
			o.UID = str(v)
		case 5:
			o.APIVersion = str(v)
		case 6:
			o.controller = n != 0
		case 7:
			o.BlockDeletion = n != 0
		}
		return true
	})
	return o
}
