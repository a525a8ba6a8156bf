package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
)

// The address of each server is in a key that expires unless it is written again every ten seconds.
const (
	addressPrefix = "/peerserverleases/"
	addressTTL    = 15 * time.Second
	// Refresh is how often a server writes its address, see [Publish].
	Refresh = 10 * time.Second
)

// identityLabel is the label of a stored address by which kube-apiserver finds it.
const identityLabel = "apiserverIdentity"

// Publish writes the address, IP:PORT, at which peers reach the server with an identity. They find it there
// for 15 seconds. The value is that of kube-apiserver.
func Publish(ctx context.Context, st store.Store, id, address string) error {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("peers: the address of this server: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || net.ParseIP(host) == nil {
		return fmt.Errorf("peers: the address of this server: %q is not of the form IP:PORT", address)
	}
	key := addressPrefix + id
	kv, _, err := st.Get(ctx, key)
	expected, generation := kv.Revision, int64(0)
	switch {
	case errors.Is(err, store.ErrNotFound):
		expected = store.Absent
	case err != nil:
		return err
	default:
		if e, err := decodeAddress(kv.Value); err == nil {
			generation = e.Generation
		}
	}
	value, err := codec.MarshalEnvelope("v1", "Endpoints", &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{identityLabel: id}, Generation: generation + 1},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: host}},
			Ports: []corev1.EndpointPort{{Name: "https", Port: int32(port), Protocol: corev1.ProtocolTCP}}}}})
	if err != nil {
		return err
	}
	_, err = st.Update(ctx, key, value, expected, store.WriteOptions{TTL: addressTTL})
	return err
}

// Withdraw removes the address of a server that ends. It is no error if there is none.
func Withdraw(ctx context.Context, st store.Store, id string) error {
	_, err := st.Delete(ctx, addressPrefix+id, store.AnyRevision, store.WriteOptions{})
	if _, gone := errors.AsType[*store.ConflictError](err); gone || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Address returns the address that the server with an identity has published. It is an error if there is none
// or it has expired.
func Address(ctx context.Context, st store.Store, id string) (string, error) {
	kv, _, err := st.Get(ctx, addressPrefix+id)
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("peers: %s has published no address", id)
	}
	if err != nil {
		return "", err
	}
	e, err := decodeAddress(kv.Value)
	if err != nil {
		return "", fmt.Errorf("peers: the address of %s: %w", id, err)
	}
	for _, s := range e.Subsets {
		if len(s.Addresses) > 0 && len(s.Ports) > 0 && s.Addresses[0].IP != "" && s.Ports[0].Port > 0 {
			return net.JoinHostPort(s.Addresses[0].IP, strconv.Itoa(int(s.Ports[0].Port))), nil
		}
	}
	return "", fmt.Errorf("peers: the address of %s is not complete", id)
}

// decodeAddress reads a value in protobuf or, as servers with another --storage-media-type write it, in JSON.
func decodeAddress(value []byte) (*corev1.Endpoints, error) {
	e := &corev1.Endpoints{}
	if codec.IsEnvelope(value) {
		_, _, err := codec.UnmarshalEnvelope(value, e)
		return e, err
	}
	return e, codec.Unmarshal(value, e)
}
