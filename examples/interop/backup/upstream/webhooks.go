package main

import (
	"context"
	"errors"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type webhooks struct{}

func addWebhooks(m manager.Manager) {
	s := m.GetWebhookServer()
	s.Register("/mutate", admission.WithDefaulter[*Backup](m.GetScheme(), webhooks{}))
	s.Register("/validate", admission.WithValidator[*Backup](m.GetScheme(), webhooks{}))
}

func (webhooks) Default(_ context.Context, b *Backup) error {
	if b.Spec.Keep == nil {
		b.Spec.Keep = new(int32(3))
	}
	return nil
}

func (webhooks) ValidateCreate(_ context.Context, b *Backup) (admission.Warnings, error) {
	return validate(b)
}

func (webhooks) ValidateUpdate(_ context.Context, old, b *Backup) (admission.Warnings, error) {
	warnings, err := validate(b)
	if err == nil && old.Spec.Source != b.Spec.Source {
		return nil, errors.New("spec.source: cannot change")
	}
	return warnings, err
}

func (webhooks) ValidateDelete(context.Context, *Backup) (admission.Warnings, error) { return nil, nil }

func validate(b *Backup) (admission.Warnings, error) {
	if !strings.HasPrefix(b.Spec.Source, "/") {
		return nil, errors.New("spec.source: must be an absolute path")
	}
	if b.Spec.Paused {
		return admission.Warnings{"backup " + b.Name + " is paused"}, nil
	}
	return nil, nil
}
