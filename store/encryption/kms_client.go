package encryption

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc" // the protocol of the plugins
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// kmsClient calls a plugin of k8s.io/kms/apis/v2. Its six small messages are written and read here, rather
// than by generated code.
type kmsClient struct {
	conn    *grpc.ClientConn
	timeout time.Duration // of one call
	name    string        // of the provider
	metrics Metrics
}

// newKMSClient connects when it is first used.
func newKMSClient(k *KMSConfiguration) (kmsClient, error) {
	path := strings.TrimPrefix(k.Endpoint, "unix://")
	if name, ok := strings.CutPrefix(path, "/@"); ok {
		path = "@" + name
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	conn, err := grpc.NewClient("passthrough:///kms", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithAuthority("localhost"))
	c := kmsClient{conn: conn, timeout: 3 * time.Second, name: k.Name}
	if k.Timeout != nil {
		c.timeout = k.Timeout.Duration
	}
	return c, err
}

// call calls a method of the plugin. An error that may pass is an *unavailable.
func (c kmsClient) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var response []byte
	began := time.Now()
	err := c.conn.Invoke(ctx, "/v2.KeyManagementService/"+method, request, &response, grpc.ForceCodec(rawCodec{}))
	if called := c.metrics.Called; called != nil {
		called(c.name, method, err, time.Since(began))
	}
	switch status.Code(err) {
	case codes.OK:
		return response, nil
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return nil, &unavailable{err}
	}
	return nil, err
}

// rawCodec passes encoded messages on.
type rawCodec struct{}

// Name is that of the content type.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

// Unmarshal implements encoding.Codec.
func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

// status returns the ID of the plugin's current key.
func (c kmsClient) status(ctx context.Context) (keyID string, err error) {
	data, err := c.call(ctx, "Status", nil)
	if err != nil {
		return "", err
	}
	var version, healthz string
	err = eachField(data, func(f field) error {
		switch f.number {
		case 1:
			version = string(f.bytes)
		case 2:
			healthz = string(f.bytes)
		case 3:
			keyID = string(f.bytes)
		}
		return nil
	})
	if reported := c.metrics.KeyReported; reported != nil && err == nil {
		reported(c.name, keyID)
	}
	switch {
	case err != nil:
	case version != "v2" && version != "v2beta1":
		err = fmt.Errorf("the plugin is of version %q, want v2", version)
	case healthz != "ok":
		err = fmt.Errorf("the plugin is not healthy: %q", healthz)
	case keyID == "" || len(keyID) > maxKeyID:
		err = fmt.Errorf("the ID of the plugin's key has %d bytes, want 1 to %d", len(keyID), maxKeyID)
	}
	return keyID, err
}

// encrypt returns the encrypted form of a seed.
func (c kmsClient) encrypt(ctx context.Context, plain []byte) (*encryptedObject, error) {
	data, err := c.call(ctx, "Encrypt", appendString(appendBytes(nil, 1, plain), 2, newUID()))
	if err != nil {
		return nil, err
	}
	o := &encryptedObject{derived: true}
	return o, eachField(data, func(f field) error {
		switch f.number {
		case 1:
			o.seed = f.bytes
		case 2:
			o.keyID = string(f.bytes)
		case 3:
			return readEntry(f.bytes, &o.annotations)
		}
		return nil
	})
}

// decrypt returns the seed of a value.
func (c kmsClient) decrypt(ctx context.Context, o *encryptedObject) (plain []byte, err error) {
	request := appendString(appendBytes(nil, 1, o.seed), 2, newUID())
	data, err := c.call(ctx, "Decrypt", appendMap(appendString(request, 3, o.keyID), 4, o.annotations))
	if err != nil {
		return nil, err
	}
	err = eachField(data, func(f field) error {
		if f.number == 1 {
			plain = f.bytes
		}
		return nil
	})
	if err == nil && len(plain) == 0 {
		err = fmt.Errorf("the plugin returned no key")
	}
	return plain, err
}

// newUID identifies a call in the logs of the plugin.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// field is a field of a message; integer is that of a varint.
type field struct {
	number  protowire.Number
	bytes   []byte
	integer uint64
}

// eachField calls visit with the fields of a message. Those of other wire types are skipped.
func eachField(data []byte, visit func(field) error) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		f := field{number: number}
		switch typ {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			f.integer, n = protowire.ConsumeVarint(data)
		default:
			n = protowire.ConsumeFieldValue(number, typ, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// readEntry adds an entry of a map.
func readEntry(data []byte, to *map[string][]byte) error {
	var key string
	var value []byte
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = f.bytes
		}
		return nil
	})
	if *to == nil {
		*to = map[string][]byte{}
	}
	(*to)[key] = value
	return err
}

func appendBytes(out []byte, number protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return out
	}
	return protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), value)
}

func appendString(out []byte, number protowire.Number, value string) []byte {
	return appendBytes(out, number, []byte(value))
}

// appendMap appends a map in the order of its keys.
func appendMap(out []byte, number protowire.Number, m map[string][]byte) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = appendBytes(out, number, appendBytes(appendString(nil, 1, key), 2, m[key]))
	}
	return out
}
