package api

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
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

// AddRules attaches defaults, validation, name rules and warnings to every built-in kind of s, but for the
// validation of definitions of custom resources, which is in openapi.AddRules. Only servers call it: a client
// that does not carries none of that code. s is a scheme filled by [AddToScheme], or a Clone of [Scheme],
// whose own registrations are not to be changed.
func AddRules(s *scheme.Scheme) error {
	var errs []error
	for _, add := range []func(*scheme.Scheme) error{
		corev1.AddRules, appsv1.AddRules, batchv1.AddRules, autoscalingv2.AddRules, autoscalingv1.AddRules,
		networkingv1.AddRules, discoveryv1.AddRules, policyv1.AddRules, rbacv1.AddRules,
		coordinationv1.AddRules, storagev1.AddRules, schedulingv1.AddRules, eventsv1.AddRules,
		nodev1.AddRules, admissionregistrationv1.AddRules, apiextensionsv1.AddRules,
		apiregistrationv1.AddRules, authorizationv1.AddRules,
		certificatesv1.AddRules, flowcontrolv1.AddRules, resourcev1.AddRules,
	} {
		errs = append(errs, add(s))
	}
	return errors.Join(errs...)
}
