package apiserver

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// media is an encoding.
type media uint8

const (
	mediaJSON media = iota
	mediaYAML
	mediaProto
	mediaCBOR
)

const (
	typeJSON  = "application/json"
	typeYAML  = "application/yaml"
	typeProto = "application/vnd.kubernetes.protobuf"
	typeCBOR  = cbor.MediaType
)

func (m media) contentType() string {
	switch m {
	case mediaYAML:
		return typeYAML
	case mediaProto:
		return typeProto
	case mediaCBOR:
		return typeCBOR
	default:
		return typeJSON
	}
}

// fromJSON converts JSON to the encoding, which must not be protobuf.
func (m media) fromJSON(text []byte) ([]byte, error) {
	switch m {
	case mediaYAML:
		return codec.JSONToYAML(text)
	case mediaCBOR:
		return cbor.FromJSON(text)
	default:
		return text, nil
	}
}

// representation is how a response represents objects.
type representation uint8

const (
	asObject representation = iota
	asTable
	asMetadata     // PartialObjectMetadata
	asMetadataList // PartialObjectMetadataList
)

// output is the result of content negotiation.
type output struct {
	media   media
	as      representation
	version string // of the meta group, for tables and metadata: v1 or v1beta1
}

// offers are the encodings and representations that a handler can send.
type offers struct {
	proto bool // a protobuf form exists
	cbor  bool // CBOR is on
	table bool
	meta  bool
	watch bool
}

// negotiate picks the first media range of an Accept header that can be served. ok is false if there is none.
func negotiate(accept string, o offers) (out output, ok bool) {
	switch accept { // what nearly every client sends
	case "", "*/*", typeJSON, "application/json, */*":
		return output{}, true
	case typeProto, "application/vnd.kubernetes.protobuf,application/json":
		if o.proto {
			return output{media: mediaProto}, true
		}
	}
	for _, c := range acceptClauses(accept) {
		if out, ok := o.match(c); ok {
			return out, true
		}
	}
	return output{}, false
}

type clause struct {
	typ    string
	params map[string]string
	q      float64
}

func acceptClauses(accept string) []clause {
	var out []clause
	for part := range strings.SplitSeq(accept, ",") {
		typ, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		c := clause{typ: typ, params: params, q: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.q = q
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b clause) int {
		switch {
		case a.q > b.q:
			return -1
		case a.q < b.q:
			return 1
		}
		return 0
	})
	return out
}

func (o offers) match(c clause) (output, bool) {
	var out output
	switch c.typ {
	case typeJSON, "*/*", "*":
	case typeYAML:
		if o.watch {
			return out, false
		}
		out.media = mediaYAML
	case typeProto:
		if !o.proto {
			return out, false
		}
		out.media = mediaProto
	case typeCBOR:
		if !o.cbor {
			return out, false
		}
		out.media = mediaCBOR
	default:
		return out, false
	}
	if s := c.params["stream"]; s != "" && s != "watch" {
		return out, false
	}
	switch c.params["as"] {
	case "":
		return out, c.params["g"] == "" && c.params["v"] == "" // a version without a kind
	case "Table":
		out.as = asTable
		if !o.table || out.media == mediaProto || out.media == mediaCBOR {
			return out, false
		}
	case "PartialObjectMetadata":
		out.as = asMetadata
		if !o.meta {
			return out, false
		}
	case "PartialObjectMetadataList":
		out.as = asMetadataList
		if !o.meta {
			return out, false
		}
	default:
		return out, false
	}
	out.version = c.params["v"]
	if c.params["g"] != "meta.k8s.io" || out.version != "v1" && out.version != "v1beta1" {
		return out, false
	}
	return out, true
}

// mediaTypes lists the encodings, for errors.
func (s *Server) mediaTypes() string {
	all := typeJSON + ", " + typeYAML + ", " + typeProto
	if s.opts.CBOR {
		all += ", " + typeCBOR
	}
	return all
}
