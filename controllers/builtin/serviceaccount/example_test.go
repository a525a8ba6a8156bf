package serviceaccount_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/serviceaccount"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// Every namespace has its account and the cluster's root certificate.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error {
				return serviceaccount.Add(m, serviceaccount.Options{RootCA: []byte("a certificate")})
			},
		}})
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "team")})
		c.Settle()
		fmt.Println(controllertest.Exists[*corev1.ServiceAccount](c, "team", "default"))
		fmt.Println(controllertest.Get[*corev1.ConfigMap](c, "team", serviceaccount.RootCAConfigMap).Data)
	})
	// Output:
	// true
	// map[ca.crt:a certificate]
}

// A secret of the type of tokens gets one for the account that it names.
func ExampleAddTokens() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			fmt.Println(err)
			return
		}
		c := startTokens(t, key)
		controllertest.Create(c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")})
		controllertest.Create(c, tokenSecret("robot-token", "robot"))
		c.Settle()
		fmt.Println(slices.Sorted(maps.Keys(controllertest.Get[*corev1.Secret](c, "default", "robot-token").Data)))
	})
	// Output: [ca.crt namespace token]
}

// A token in a secret that is not used for long is refused, and then deleted.
func ExampleAddCleaner() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := startCleaner(t) // ends tokens after ten days
		robot := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "robot")}
		robot.Secrets = []corev1.ObjectReference{{Name: "robot-token"}}
		controllertest.Create(c, robot)
		controllertest.Create(c, tokenSecret("robot-token", "robot"))
		for _, days := range []time.Duration{5, 10, 10} {
			c.Sleep(days * day)
			if !controllertest.Exists[*corev1.Secret](c, "default", "robot-token") {
				fmt.Println("it is deleted")
				continue
			}
			fmt.Println("refused:", controllertest.Get[*corev1.Secret](c, "default", "robot-token").Labels[invalidSince] != "")
		}
	})
	// Output:
	// refused: false
	// refused: true
	// it is deleted
}
