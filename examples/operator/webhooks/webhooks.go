// Package webhooks has the webhooks of the kind Website: what the schema in its definition cannot express.
package webhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/examples/operator/api/v1alpha1"

	"github.com/keelson-dev/keelson/controllers/webhook"
)

// ProtectAnnotation with the value "true" keeps a Website from being deleted.
const ProtectAnnotation = "demo.keelson.dev/protected"

// ConvertPath is the path of the conversion webhook, which no marker names.
const ConvertPath = "/convert"

// The name of both configurations is that of the operator:
// +kubebuilder:webhookconfiguration:mutating=true,name=website-operator
// +kubebuilder:webhookconfiguration:mutating=false,name=website-operator
// +kubebuilder:webhook:path=/mutate-website,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=demo.keelson.dev,resources=websites,verbs=create;update,versions=v1,name=default.websites.demo.keelson.dev,serviceName=website-operator,serviceNamespace=website-system,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-website,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=demo.keelson.dev,resources=websites,verbs=create;update;delete,versions=v1,name=validate.websites.demo.keelson.dev,serviceName=website-operator,serviceNamespace=website-system,admissionReviewVersions=v1

// Handle registers the webhooks with a server. domain is that of hosts that websites do not name.
func Handle(s *webhook.Server, domain string) {
	s.Handle("/mutate-website", webhook.Mutating(func(_ context.Context, _ *webhook.Request, site *v1.Website) error {
		setDefaults(site, domain)
		return nil
	}))
	s.Handle("/validate-website", webhook.Validating(validate))
	s.Handle(ConvertPath, webhook.ConversionByHub(v1.GroupVersion,
		webhook.SpokeOf(v1alpha1.GroupVersion, (*v1alpha1.Website).ConvertTo, (*v1alpha1.Website).ConvertFrom)))
}

// setDefaults sets the host, which depends on the name and on the operator's options.
func setDefaults(site *v1.Website, domain string) {
	if site.Name != "" { // a generated name is not known yet
		site.Spec.Host = site.HostIn(domain)
	}
}

// validate checks a Website that is created or updated, or whose deletion is requested.
func validate(_ context.Context, r *webhook.Request, site *v1.Website) error {
	if r.Operation == "DELETE" {
		if site.Annotations[ProtectAnnotation] == "true" {
			return fmt.Errorf("the website is protected: remove the annotation %s first", ProtectAnnotation)
		}
		return nil
	}
	old, updated, err := webhook.Old[*v1.Website](r)
	if err != nil {
		return err
	}
	if updated && metav1.IsTerminating(old) { // finalizers must be removable whatever the rest is
		return nil
	}
	spec := validation.NewPath("spec")
	var errs validation.ErrorList
	if site.Spec.Host != "" {
		errs = append(errs, validation.InvalidEach(spec.Child("host"), site.Spec.Host, validation.IsDNS1123Subdomain(site.Spec.Host))...)
	}
	if strings.ContainsAny(site.Spec.Image, " \t\n") {
		errs = append(errs, validation.Invalid(spec.Child("image"), site.Spec.Image, "must not contain white space"))
	}
	for _, name := range slices.Sorted(maps.Keys(site.Spec.Environment)) {
		if name == "" || strings.Contains(name, "=") {
			errs = append(errs, validation.Invalid(spec.Child("environment").Key(name), name, "must be the name of a variable"))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(v1.GroupVersion.WithKind("Website").GroupKind(), site.Name, errs)
	}
	if _, tag, _ := strings.Cut(site.Spec.Image[strings.LastIndexByte(site.Spec.Image, '/')+1:], ":"); tag == "" || tag == "latest" {
		r.Warn("spec.image: a tag other than latest makes rollouts repeatable")
	}
	return nil
}
