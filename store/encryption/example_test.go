package encryption_test

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/encryption"
	"github.com/keelson-dev/keelson/store/memory"
)

func Example() {
	c, err := encryption.ParseConfiguration([]byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aesgcm: {keys: [{name: key1, secret: c2l4dGVlbiBieXRlcyAhIQ==}]}
  - identity: {}
`))
	if err != nil {
		panic(err)
	}
	p, err := encryption.New(c, encryption.Options{})
	if err != nil {
		panic(err)
	}
	inner := memory.New(memory.Options{})
	s := encryption.NewStore(inner, p, func(string) (schema.GroupResource, bool) { return schema.GroupResource{Resource: "secrets"}, true })
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	_, _ = s.Create(ctx, "/secrets/default/a", []byte("value"), store.WriteOptions{})
	stored, _, _ := inner.Get(ctx, "/secrets/default/a")
	read, _, _ := s.Get(ctx, "/secrets/default/a")
	fmt.Printf("%s %s\n", stored.Value[:23], read.Value)
	// Output: k8s:enc:aesgcm:v1:key1: value
}
