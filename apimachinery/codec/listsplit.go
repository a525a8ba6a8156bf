package codec

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// A SplitList is a list taken apart without decoding its items, so that a reader can
// keep them encoded, decode them one by one, and go on when one of them is bad.
type SplitList struct {
	ListHeader
	// Items are the encoded items in order. They point into the input.
	Items [][]byte

	proto bool
}

// SplitListJSON takes the JSON of a list apart. The whole input is checked to be
// well-formed JSON; a list without items gives none. The error is a [*DecodeError].
func SplitListJSON(data []byte) (*SplitList, error) {
	l := &SplitList{}
	d := jsonDecoder{data: data, max: maxNesting}
	i := d.next(0)
	if i >= len(data) || data[i] != '{' {
		d.fail(i, "a list is a JSON object")
		return nil, d.failure()
	}
	i, done := d.empty(i+1, '}')
	for more := !done; more && i >= 0; {
		var name []byte
		if name, i = d.keyBytes(i); i < 0 {
			break
		}
		member := string(name)
		if i = l.member(&d, member, d.next(i)); i < 0 {
			d.within(i, 0, segment{member, -1})
			break
		}
		i, more = d.more(i, '}', msgObject)
	}
	if i >= 0 {
		if i = skipSpace(data, i); i != len(data) {
			i = d.fail(i, msgTail)
		}
	}
	if i < 0 {
		return nil, d.failure()
	}
	return l, nil
}

// listMeta is the metadata of a list as it is in JSON.
type listMeta struct {
	ResourceVersion    string `json:"resourceVersion"`
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount"`
}

// member reads one member of a list object at i.
func (l *SplitList) member(d *jsonDecoder, name string, i int) int {
	switch name {
	case "kind":
		return d.stringMember(&l.Kind, i)
	case "apiVersion":
		return d.stringMember(&l.APIVersion, i)
	case "metadata":
		end := d.skip(i)
		if end < 0 {
			return -1
		}
		var m listMeta
		if err := Unmarshal(d.data[i:end], &m); err != nil {
			d.cause = err
			return d.fail(i, err.Error())
		}
		l.ResourceVersion, l.Continue, l.RemainingItemCount = m.ResourceVersion, m.Continue, m.RemainingItemCount
		return end
	case "items":
		return l.items(d, i)
	}
	return d.skip(i)
}

func (d *jsonDecoder) stringMember(s *string, i int) int {
	if i < len(d.data) && d.data[i] == 'n' {
		return d.null(i)
	}
	if i >= len(d.data) || d.data[i] != '"' {
		return d.fail(i, "expected a string")
	}
	text, end := d.text(i, true)
	if end >= 0 {
		*s = text
	}
	return end
}

func (l *SplitList) items(d *jsonDecoder, i int) int {
	l.Items = nil
	if i < len(d.data) && d.data[i] == 'n' {
		return d.null(i)
	}
	if i >= len(d.data) || d.data[i] != '[' {
		return d.fail(i, "expected an array")
	}
	i, done := d.empty(i+1, ']')
	for more := !done; more; {
		start := d.next(i)
		if i = d.skip(start); i < 0 {
			d.within(-1, 0, segment{"", len(l.Items)})
			return -1
		}
		l.Items = append(l.Items, d.data[start:i:i])
		if i, more = d.more(i, ']', msgArray); i < 0 {
			return -1
		}
	}
	return i
}

// SplitListProto takes an enveloped protobuf list apart; its items are bodies,
// without envelope. Items are not looked into. The error is a [*DecodeError].
func SplitListProto(data []byte) (*SplitList, error) {
	apiVersion, kind, raw, err := DecodeEnvelope(data)
	if err != nil {
		return nil, err
	}
	l := &SplitList{ListHeader: ListHeader{APIVersion: apiVersion, Kind: kind}, proto: true}
	err = eachField(raw, 0, len(raw), func(num protowire.Number, from, to int) error {
		switch num {
		case 1:
			return l.protoMeta(raw[from:to])
		case 2:
			l.Items = append(l.Items, raw[from:to:to])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// protoMeta reads the protobuf ListMeta.
func (l *SplitList) protoMeta(b []byte) error {
	for i := 0; i < len(b); {
		num, wire, n := protowire.ConsumeTag(b[i:])
		if n < 0 {
			return &DecodeError{Offset: i, Path: "metadata", Msg: "protobuf: invalid tag"}
		}
		i += n
		v, k := uint64(0), 0
		var text []byte
		switch wire {
		case protowire.BytesType:
			text, k = protowire.ConsumeBytes(b[i:])
		case protowire.VarintType:
			v, k = protowire.ConsumeVarint(b[i:])
		default:
			k = protowire.ConsumeFieldValue(num, wire, b[i:])
		}
		if k < 0 {
			return &DecodeError{Offset: i, Path: "metadata", Msg: "protobuf: invalid field " + strconv.Itoa(int(num))}
		}
		i += k
		switch {
		case num == 2 && wire == protowire.BytesType:
			l.ResourceVersion = string(text)
		case num == 3 && wire == protowire.BytesType:
			l.Continue = string(text)
		case num == 4 && wire == protowire.VarintType:
			count := int64(v)
			l.RemainingItemCount = &count
		}
	}
	return nil
}
