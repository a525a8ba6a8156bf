// Package api gathers the built-in Kubernetes kinds, one package per group-version below it.
package api

import (
	"errors"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// AddToScheme registers every built-in kind with s.
func AddToScheme(s *scheme.Scheme) error {
	var errs []error
	for _, add := range []func(*scheme.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, autoscalingv2.AddToScheme, autoscalingv1.AddToScheme,
		networkingv1.AddToScheme, discoveryv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		coordinationv1.AddToScheme, storagev1.AddToScheme, schedulingv1.AddToScheme, eventsv1.AddToScheme,
		nodev1.AddToScheme, admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme,
		apiregistrationv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		certificatesv1.AddToScheme, flowcontrolv1.AddToScheme, resourcev1.AddToScheme,
	} {
		errs = append(errs, add(s))
	}
	return errors.Join(errs...)
}

// Scheme returns the scheme of all built-in kinds. It is frozen, because all callers share it: Clone it to
// add more.
func Scheme() *scheme.Scheme { return builtin() }

var builtin = sync.OnceValue(func() *scheme.Scheme {
	s := scheme.New()
	if err := AddToScheme(s); err != nil {
		panic(err) // a registration of this module contradicts another: a bug found by any test
	}
	s.Freeze()
	return s
})
